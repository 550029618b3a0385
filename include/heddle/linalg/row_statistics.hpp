// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/monoid.hpp>
#include <heddle/core/overlap.hpp>
#include <heddle/exec/context.hpp>
#include <heddle/tile/canonical.hpp>
#include <heddle/tile/run.hpp>

namespace heddle {

/// What is wanted of every row of a matrix. A view without elements: not wanted.
///
/// Shapes: [rows] each. Types: float, double for double.
template <vector_view V>
struct row_statistics {
  V sum;          ///< of the elements
  V sum_squares;  ///< of their squares
  V max_abs;      ///< the largest size; NaN where an element is
};
template <vector_view V>
row_statistics(V, V, V) -> row_statistics<V>;

namespace linalg::detail {

/// Columns whose statistics are combined first. The tree above them depends on the number of columns alone, and every
/// vector of a power of two of columns is a subtree.
inline constexpr index_t statistics_block = 64;

/// The statistics of `each` elements, part i of a row; parts behind the end count as zeros.
enum class row_statistic : int { sum, squares, peak };
inline constexpr int row_statistic_count = 3;

/// What statistics of elements of X are counted in.
template <class X>
using statistics_number_t = std::conditional_t<std::is_same_v<X, std::int8_t>, float, tile::value_t<X>>;

/// Parts that are single elements of a matrix.
template <class X>
struct elements_as_parts {
  using value = statistics_number_t<X>;
  view<X const, 2> x;
  static constexpr index_t each = 1;

  HEDDLE_HD_FN value part(row_statistic what, index_t row, index_t i) const {
    value const v = static_cast<value>(x(row, i));
    return what == row_statistic::sum ? v : what == row_statistic::squares ? mul(v, v) : abs(v);
  }
};
/// Parts that vectors have left in scratch: rows of each statistic one after the other.
template <class T>
struct parts_in_scratch {
  using value = T;
  T const* parts[row_statistic_count];
  index_t pitch, each;

  HEDDLE_HD_FN T part(row_statistic what, index_t row, index_t i) const {
    return parts[static_cast<int>(what)][row * pitch + i];
  }
};

/// The statistic of a row of n elements: T(64) in every block, then T over the blocks.
HEDDLE_DEVICE_PASS_QUIET
template <class Parts, class Op>
HEDDLE_TILE typename Parts::value combine_row(Parts const& from, row_statistic what, index_t row, index_t n,
                                              Op const& op) {
  using T = typename Parts::value;
  index_t const blocks = tile::ceil_div(n, statistics_block), parts = tile::ceil_div(n, from.each),
                in_block = statistics_block / from.each;
  if (n == 0) return T(0);
  return tile::detail::stream_tree<T>(blocks, op, [&](index_t block) HEDDLE_LAMBDA {
    T values[statistics_block];
    for (index_t i = 0; i < in_block; ++i)
      values[i] = block * in_block + i < parts ? from.part(what, row, block * in_block + i) : T(0);
    return tile::detail::combine_tree(values, in_block, op);
  });
}

template <class Parts>
struct row_statistics_program {
  using plain = void;
  using value = typename Parts::value;
  static constexpr index_t rows_at_once = 16;

  Parts from;
  view<value, 1> sum, squares, peak;
  index_t rows, n, bytes;

  template <class Ctx>
  struct shared {};
  HEDDLE_FN span work() const {
    index_t const wanted = (sum.empty() ? 0 : 1) + (squares.empty() ? 0 : 2) + (peak.empty() ? 0 : 1);
    return {.operation = "row_statistics",
            .shape = {rows, n},
            .bytes = bytes + element_bytes(sum, squares, peak),
            .flops = rows * n * wanted};
  }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return tile::ceil_div(rows, rows_at_once);
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const first = ctx.tile() * rows_at_once, left = rows - first;
    ctx.for_each(left < rows_at_once ? left : rows_at_once, [=, self = *this](index_t i) HEDDLE_LAMBDA {
      index_t const row = first + i;
      if (self.sum.extent(0) > 0) self.sum(row) = combine_row(self.from, row_statistic::sum, row, self.n, plus<>{});
      if (self.squares.extent(0) > 0)
        self.squares(row) = combine_row(self.from, row_statistic::squares, row, self.n, plus<>{});
      if (self.peak.extent(0) > 0)
        self.peak(row) = combine_row(self.from, row_statistic::peak, row, self.n, maximum<>{});
    });
  }
};

/// `c`: the matrix that they are statistics of. Empty views overlap nothing.
template <class C, class V>
HEDDLE_FN void check_statistics(char const* operation, C const& c, row_statistics<V> const& to) {
  index_t const rows = c.extent(0);
  auto const fits = [rows](V const& v) { return v.extent(0) == 0 || v.extent(0) == rows; };
  HEDDLE_EXPECTS(fits(to.sum) && fits(to.sum_squares) && fits(to.max_abs),
                 "row_statistics: one number per row, or an empty view where it is not wanted", rows, to.sum.extent(0),
                 to.sum_squares.extent(0), to.max_abs.extent(0));
  expect_apart(operation, to.sum, c, to.sum_squares, to.max_abs);
  expect_apart(operation, to.sum_squares, c, to.max_abs);
  expect_apart(operation, to.max_abs, c);
}

/// Submits the combination of parts. `bytes`: what is read.
template <class E, class Parts, class V>
HEDDLE_FN void submit_statistics(E& exec, Parts const& from, row_statistics<V> const& to, index_t rows, index_t n,
                                 index_t bytes) {
  if (rows == 0 || to.sum.size() + to.sum_squares.size() + to.max_abs.size() == 0) return;
  tile::run(exec, row_statistics_program<Parts>{from, canonical(to.sum), canonical(to.sum_squares),
                                                canonical(to.max_abs), rows, n, bytes});
}

}  // namespace linalg::detail

/// Sum, sum of squares and largest size of every row, for matrices that no product makes: a product has them by the way
/// (`matmul_row_statistics`).
///
/// Shapes: x [rows, columns], strides free; each view of `to` [rows] or empty. Types: any float storage, or
/// std::int8_t; statistics float, double for double. Post: a row without elements has zeros. Sync: submits.
/// Complexity: one pass for each statistic, in numbers and not in vectors. Determinism: the same bits on every backend:
/// blocks of 64 columns, filled up with zeros, along T(64), and the blocks along T. Memory: none.
/// Numerics: |error| <= (log2(64) + ceil(log2(blocks)) + 2) u times the sum of sizes.
struct compute_row_statistics_fn {
  template <executor E, matrix_view X, vector_view V>
    requires(writable_view<V>&&
                 std::same_as<typename V::value_type, linalg::detail::statistics_number_t<typename X::value_type>>)
  HEDDLE_FN void operator()(E& exec, X const& x, row_statistics<V> const& to) const {
    linalg::detail::check_statistics("compute_row_statistics", x, to);
    linalg::detail::submit_statistics(exec,
                                      linalg::detail::elements_as_parts<typename X::value_type>{canonical_input(x)}, to,
                                      x.extent(0), x.extent(1), element_bytes(x));
  }
};
inline constexpr compute_row_statistics_fn compute_row_statistics{};

}  // namespace heddle
