// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/arith.hpp>
#include <heddle/core/tree.hpp>
#include <heddle/linalg/matmul.hpp>
#include <heddle/linalg/pair_dot.hpp>

namespace heddle {
namespace detail {

/// One element of a product: fused multiply-adds in ascending k, in pieces of 4096 joined along the tree; pairs of bf16
/// by `dot_pair`.
template <class Acc, class A, class B>
HEDDLE_FN Acc dot_in_order(A const& a, B const& b, index_t batch, index_t row, index_t col, bool strict) {
  constexpr bool pairs = std::is_same_v<typename A::value_type, bf16>;
  constexpr index_t piece = 4096;
  index_t const k = a.extent(2);
  if (k == 0) return Acc{0};
  return tree_reduce(
      (k + piece - 1) / piece,
      [&](index_t p) {
        Acc acc = 0;
        index_t const end = k < (p + 1) * piece ? k : (p + 1) * piece;
        if constexpr (pairs)
          if (!strict) {
            bf16 const none(0.0f);
            for (index_t i = p * piece; i < end; i += 2)
              acc = dot_pair(acc, a(batch, row, i), i + 1 < end ? a(batch, row, i + 1) : none, b(batch, i, col),
                             i + 1 < end ? b(batch, i + 1, col) : none);
            return acc;
          }
        for (index_t i = p * piece; i < end; ++i)
          acc = fma(static_cast<Acc>(a(batch, row, i)), static_cast<Acc>(b(batch, i, col)), acc);
        return acc;
      },
      [](Acc x, Acc y) { return x + y; });
}

}  // namespace detail

/// The product as its definition says, element by element.
template <>
struct kernel<matmul_fn, reference_tag> {
  template <class E, class A, class B, class C, class Epilogue>
  static HEDDLE_FN void run(E& exec, A const& a, B const& b, C const& c, matmul_options const& options,
                            Epilogue const& epilogue) {
    using acc_t = accumulator_t<typename A::value_type>;
    exec.for_each_tile(c.extent(0) * c.extent(1), [=](index_t tile, int) {
      index_t const batch = tile / c.extent(1), row = tile % c.extent(1);
      acc_t const alpha = static_cast<acc_t>(options.alpha), beta = static_cast<acc_t>(options.beta);
      for (index_t col = 0; col < c.extent(2); ++col) {
        acc_t value = alpha == 0 ? acc_t{0} : detail::dot_in_order<acc_t>(a, b, batch, row, col, options.strict);
        if (alpha != 1 && alpha != 0) value = mul(alpha, value);
        if (beta == 1)
          value = value + static_cast<acc_t>(c(batch, row, col));
        else if (beta != 0)
          value = fma(beta, static_cast<acc_t>(c(batch, row, col)), value);
        c(batch, row, col) = static_cast<typename C::value_type>(epilogue(value, row, col, index_t{1}));
      }
    });
  }
};

}  // namespace heddle
