// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/arith.hpp>
#include <heddle/core/tree.hpp>
#include <heddle/linalg/block_int4.hpp>
#include <heddle/linalg/matmul.hpp>
#include <heddle/linalg/packed_operand.hpp>
#include <heddle/linalg/pair_dot.hpp>

namespace heddle {
namespace detail {

/// x as it goes into a chain of fused multiply-adds, or of pairs.
template <class T>
HEDDLE_FN bf16 as_bf16(T x) {
  if constexpr (std::is_same_v<T, bf16>)
    return x;
  else
    return bf16(static_cast<float>(x));
}

/// One chain: some steps of an element of the product, in `Sum`. a(i) and b(i) are the numbers of step i.
template <class Sum, class A, class B>
HEDDLE_FN Sum chain_in_order(A const& a, B const& b, part const& steps) {
  Sum acc = 0;
  for (index_t i = steps.offset; i < steps.end(); ++i) acc = fma(static_cast<Sum>(a(i)), static_cast<Sum>(b(i)), acc);
  return acc;
}
template <class A, class B>
HEDDLE_FN float pairs_in_order(A const& a, B const& b, part const& steps) {
  bf16 const none(0.0f);
  float acc = 0;
  for (index_t i = steps.offset; i < steps.end(); i += 2) {
    bool const two = i + 1 < steps.end();
    acc = dot_pair(acc, as_bf16(a(i)), two ? as_bf16(a(i + 1)) : none, as_bf16(b(i)), two ? as_bf16(b(i + 1)) : none);
  }
  return acc;
}

/// One element of a product: chains in ascending k, joined along the tree. `again`: a chain that is longer than a
/// canonical block is cut like a sum of its own.
template <class Sum, bool Pairs, class A, class B>
HEDDLE_FN Sum dot_in_order(A const& a, B const& b, linalg::detail::chain_cuts const& cuts, bool strict, bool again) {
  if (cuts.k == 0) return Sum{0};
  auto const plus = [](Sum x, Sum y) { return add(x, y); };
  auto const chain = [&](part const& steps) {
    if constexpr (Pairs)
      if (!strict) return pairs_in_order(a, b, steps);
    return chain_in_order<Sum>(a, b, steps);
  };
  auto const leaf = [&](index_t p) {
    part const whole = cuts.at(p);
    linalg::detail::chain_cuts const within{whole.size, 0};
    if (!again || within.count() == 1) return chain(whole);
    auto const piece = [&](index_t i) { return chain({whole.offset + within.at(i).offset, within.at(i).size}); };
    return tree_reduce(within.count(), piece, plus);
  };
  return tree_reduce(cuts.count(), leaf, plus);
}

}  // namespace detail

/// The product as its definition says, element by element.
template <>
struct kernel<matmul_fn, reference_tag> {
  template <class E, class A, class B, class C, class Epilogue>
  static HEDDLE_FN void run(E& exec, A const& a, B const& b, C const& c, matmul_options const& options,
                            Epilogue const& epilogue) {
    using element = typename A::value_type;
    using number = product_number_t<element, typename C::value_type>;
    using sum = std::conditional_t<std::is_integral_v<element>, std::int32_t, number>;
    // Narrow types have no order of their own where none is promised, and no chains beyond a canonical block.
    bool const plain = is_plain<A, B>(options.strict);
    bool const relaxed = options.order == order_policy::relaxed && !plain;
    linalg::detail::chain_cuts const cuts = relaxed ? matmul_options{}.cuts(a.extent(2)) : options.cuts(a.extent(2));
    exec.for_each_tile(c.extent(0) * c.extent(1), [=, right = reader<element>(b, options.strict)](index_t tile, int) {
      index_t const batch = tile / c.extent(1), row = tile % c.extent(1);
      number const alpha = static_cast<number>(options.alpha), beta = static_cast<number>(options.beta);
      for (index_t col = 0; col < c.extent(2); ++col) {
        number value = 0;
        if (alpha != 0)
          value = static_cast<number>(detail::dot_in_order<sum, std::is_same_v<element, bf16>>(
              [&](index_t i) { return a(batch, row, i); }, [&](index_t i) { return right(batch, i, col); }, cuts,
              options.strict, !plain));
        if (alpha != 1 && alpha != 0) value = mul(alpha, value);
        if (beta == 1)
          value = add(value, static_cast<number>(c(batch, row, col)));
        else if (beta != 0)
          value = fma(beta, static_cast<number>(c(batch, row, col)), value);
        using stored = typename C::value_type;
        c(batch, row, col) =
            static_cast<stored>(linalg::detail::stored_number<stored>(epilogue(value, row, col, index_t{1})));
      }
    });
  }

 private:
  /// Whether a product is one of equal floats, each step a fused multiply-add.
  template <class A, class B>
  static HEDDLE_FN constexpr bool is_plain(bool strict) {
    if constexpr (any_view<B> && std::floating_point<accumulator_t<typename A::value_type>>)
      return std::is_same_v<typename A::value_type, typename B::value_type> &&
             (strict || !std::is_same_v<typename A::value_type, bf16>);
    else
      return false;
  }
  template <class T, class Scale>
  struct int4_reader {
    block_int4<Scale> b;
    HEDDLE_FN T operator()(index_t, index_t i, index_t col) const { return static_cast<T>(b(i, col)); }
  };
  template <class T, class Scale>
  static HEDDLE_FN int4_reader<T, Scale> reader(block_int4<Scale> const& b, bool) {
    return {b};
  }
  template <class T, any_view B>
  static HEDDLE_FN B reader(B const& b, bool) {
    return b;
  }
  template <class, class T>
  static HEDDLE_FN view<T const, 3> reader(packed_operand<T> const& b, bool strict) {
    linalg::detail::expect_form(b, "plain", strict);
    return {static_cast<T const*>(b.data()), dims<3>(1, b.extent(0), b.extent(1))};
  }
};

/// A copy, row by row.
template <>
struct kernel<pack_fn, reference_tag> {
  template <class T>
  static HEDDLE_FN char const* name() {
    return "plain";
  }
  template <class T>
  static HEDDLE_FN index_t bytes(index_t rows, index_t columns) {
    return checked_product(checked_product(rows, columns), static_cast<index_t>(sizeof(T)));
  }
  template <class E, class B>
  static HEDDLE_FN void run(E& exec, B const& b, unsigned char* memory) {
    exec.for_each_tile(b.extent(0), [=, to = reinterpret_cast<typename B::value_type*>(memory)](index_t i, int) {
      for (index_t j = 0; j < b.extent(1); ++j) to[i * b.extent(1) + j] = b(i, j);
    });
  }
};

}  // namespace heddle
