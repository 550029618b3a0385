// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Operands of products in every layout, inside memory that shows what was read or written beside them.

#include <heddle/backend/cpu/matmul.hpp>
#include <heddle/backend/reference/matmul.hpp>
#include <heddle/core/bf16.hpp>
#include <heddle/core/fp16.hpp>
#include <heddle/core/tree.hpp>
#include <heddle/linalg/matmul.hpp>
#include <heddle/linalg/pair_dot.hpp>

#include <support/buffer.hpp>
#include <support/catch.hpp>
#include <support/executors.hpp>
#include <support/numbers.hpp>
#include <support/random.hpp>
#include <support/sampled.hpp>

#include <cmath>
#include <vector>

namespace heddle::test {

/// How a matrix lies in memory.
struct matrix_layout {
  bool transposed = false;
  index_t gap = 0;  ///< elements between two lines, never to be touched
  guard end = guard::canary;
};

/// A batch of matrices; what is not an element stays at 0xFF bytes.
template <class T>
class matrices {
 public:
  matrices(index_t batch, index_t rows, index_t columns, matrix_layout how = {})
      : extents_(batch, rows, columns), how_(how), line_(how.transposed ? rows : columns),
        lines_(how.transposed ? columns : rows), pitch_(line_ + how.gap),
        memory_(batch * lines_ * pitch_ > how.gap ? batch * lines_ * pitch_ - how.gap : 0, how.end) {}

  heddle::view<T, 3> view() {
    index_t const whole = lines_ * pitch_;
    return how_.transposed ? heddle::view<T, 3>(memory_.data(), extents_, whole, index_t{1}, pitch_)
                           : heddle::view<T, 3>(memory_.data(), extents_, whole, pitch_, index_t{1});
  }
  heddle::view<T const, 3> input() { return view(); }
  matrices& random(std::uint64_t seed) {
    fill_random(view(), seed);
    return *this;
  }
  /// Numbers up to 100, of either sign where T has one.
  matrices& levels(std::uint64_t seed) {
    fill_random(view(), seed, std::is_unsigned_v<T> ? 0 : -100, 100);
    return *this;
  }

  /// The elements in row-major order.
  std::vector<T> values() {
    std::vector<T> out;
    auto const v = view();
    for (index_t b = 0; b < v.extent(0); ++b)
      for (index_t i = 0; i < v.extent(1); ++i)
        for (index_t j = 0; j < v.extent(2); ++j) out.push_back(v(b, i, j));
    return out;
  }

  /// Whether nobody wrote around the memory or into a gap.
  bool intact() const {
    auto const* const bytes = reinterpret_cast<unsigned char const*>(memory_.data());
    for (index_t i = 0; i < memory_.size(); ++i)
      if (i % pitch_ >= line_)
        for (std::size_t b = 0; b < sizeof(T); ++b)
          if (bytes[static_cast<std::size_t>(i) * sizeof(T) + b] != 0xFF) return false;
    return memory_.intact();
  }

 private:
  dims<3> extents_;
  matrix_layout how_;
  index_t line_, lines_, pitch_;
  buffer<T> memory_;
};

/// Sizes, layouts and factors of one product.
struct product_problem {
  index_t batch = 1, m = 1, n = 1, k = 1;
  matrix_layout a = {}, b = {}, c = {};
  matmul_options options = {};
};

/// Runs a product of random operands and returns the elements of c. Without beta, c is poison before.
template <class T, class C, class Executor, class Epilogue = no_epilogue>
std::vector<C> product_of(Executor& exec, product_problem const& p, Epilogue const& epilogue = {}) {
  matrices<T> a(p.batch, p.m, p.k, p.a), b(p.batch, p.k, p.n, p.b);
  matrices<C> c(p.batch, p.m, p.n, p.c);
  a.random(1), b.random(2);
  if (p.options.beta != 0) c.random(3);
  matmul(exec, a.input(), b.input(), c.view(), p.options, epilogue);
  exec.synchronize();
  CHECK(a.intact());
  CHECK(b.intact());
  CHECK(c.intact());
  return c.values();
}

/// The same with loops of its own: the definition of every bit of the result.
template <class T, class C>
std::vector<C> defined_product(product_problem const& p) {
  using acc = accumulator_t<T>;
  matrices<T> am(p.batch, p.m, p.k, p.a), bm(p.batch, p.k, p.n, p.b);
  matrices<C> cm(p.batch, p.m, p.n, p.c);
  am.random(1), bm.random(2), cm.random(3);
  auto const a = am.view(), b = bm.view();
  auto const c = cm.view();
  acc const alpha = static_cast<acc>(p.options.alpha), beta = static_cast<acc>(p.options.beta);
  std::vector<C> out;
  for (index_t i = 0; i < p.batch * p.m * p.n; ++i) {
    index_t const z = i / (p.m * p.n), row = i / p.n % p.m, col = i % p.n;
    std::vector<acc> pieces;
    for (index_t from = 0; from < p.k || pieces.empty(); from += 4096) {
      acc sum = 0;
      index_t const end = p.k < from + 4096 ? p.k : from + 4096;
      bool const pairs = std::is_same_v<T, bf16> && !p.options.strict;
      if constexpr (std::is_same_v<T, bf16>)
        for (index_t d = from; d < end && pairs; d += 2) {
          bool const two = d + 1 < end;
          sum = dot_pair(sum, a(z, row, d), two ? a(z, row, d + 1) : bf16(0.0f), b(z, d, col),
                         two ? b(z, d + 1, col) : bf16(0.0f));
        }
      for (index_t d = from; d < end && !pairs; ++d)
        sum = std::fma(static_cast<acc>(a(z, row, d)), static_cast<acc>(b(z, d, col)), sum);
      pieces.push_back(sum);
    }
    acc value = tree_reduce(
        static_cast<index_t>(pieces.size()), [&](index_t q) { return pieces[static_cast<std::size_t>(q)]; },
        [](acc x, acc y) { return x + y; });
    if (alpha != 1) value = mul(alpha, value);
    if (beta == 1) value = value + static_cast<acc>(c(z, row, col));
    if (beta != 1 && beta != 0) value = std::fma(beta, static_cast<acc>(c(z, row, col)), value);
    out.push_back(static_cast<C>(value));
  }
  return out;
}

/// All four transpositions of a and b, by number.
inline product_problem transposed(product_problem p, int which) {
  p.a.transposed = which & 1;
  p.b.transposed = which & 2;
  return p;
}

inline std::string text_of(product_problem const& p) {
  auto const layout = [](matrix_layout const& l) {
    return std::string(l.transposed ? " transposed" : " plain") + "+" + std::to_string(l.gap);
  };
  return std::to_string(p.batch) + " of " + std::to_string(p.m) + " x " + std::to_string(p.n) + " x " +
         std::to_string(p.k) + layout(p.a) + layout(p.b) + layout(p.c) + " alpha " + std::to_string(p.options.alpha) +
         " beta " + std::to_string(p.options.beta);
}

/// Runs the problem and wants the bits of the definition.
template <class T, class C, class Executor>
void require_defined_bits(Executor& exec, product_problem const& p) {
  INFO(text_of(p));
  REQUIRE(same_bits(product_of<T, C>(exec, p), defined_product<T, C>(p)));
}

}  // namespace heddle::test
