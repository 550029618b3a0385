// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/backend/cpu/matmul_pack.hpp>

/// @file
/// The CPU matrix product of few rows, bound by reading b once. Where columns of b are adjacent, b is streamed row by
/// row and the sums wait in the L1 cache; where steps of k are, squares of b are transposed in registers and the sums
/// stay there. A product of few columns is the transposed problem.

namespace heddle {
namespace cpu {

/// Rows up to which streaming b beats packing it.
inline constexpr index_t few_rows = 4;
/// Columns of one streamed tile, by its rows: all sums take 16 KiB.
template <int Rows>
inline constexpr index_t streamed_columns = Rows == 1 ? 4096 : 1024;

namespace detail {

/// sums[r][c] += a(r, [from, from + Steps)) b([from, from + Steps), c) for n columns from `b` on.
template <int Rows, int Steps, class V, class I>
HEDDLE_SHIM void stream_steps(I const& in, typename I::number* sums, typename std::remove_cv_t<decltype(in.b)> b,
                              index_t n, index_t from) {
  using T = typename I::number;
  constexpr int W = V::width;
  V left[Rows][Steps];
  for (int r = 0; r < Rows; ++r)
    for (int u = 0; u < Steps; ++u) {
      index_t const row = r < in.m ? r : 0;  // the sums of rows that are not there are never stored
      left[r][u] = V::splat(static_cast<T>(in.a[row * in.a_row + (from + u) * in.a_step]));
    }
  for (index_t c = 0; c < n; c += W) {
    V acc[Rows];
    for (int r = 0; r < Rows; ++r) acc[r] = V::load(sums + r * streamed_columns<Rows> + c);
    for (int u = 0; u < Steps; ++u) {
      auto const* const at = b + u * in.b_step + c;
      __builtin_prefetch(at + Steps * in.b_step);
      V const right = c + W <= n ? load_as<V>(at) : load_as<V>(at, n - c);
      for (int r = 0; r < Rows; ++r) acc[r] = fma(left[r][u], right, acc[r]);
    }
    for (int r = 0; r < Rows; ++r) acc[r].store(sums + r * streamed_columns<Rows> + c);
  }
}

/// The sums of columns [col, col + n) over steps [from, to) of k, b read row by row.
template <int Rows, class V, class I>
HEDDLE_SHIM void stream_piece(I const& in, typename I::number* sums, index_t col, index_t n, index_t from, index_t to) {
  constexpr int steps = 2;  // more lines at once outrun the prefetchers
  for (index_t i = 0; i < Rows * streamed_columns<Rows>; i += V::width) V::zero().store(sums + i);
  index_t d = from;
  for (; d + steps <= to; d += steps) stream_steps<Rows, steps, V>(in, sums, in.b + d * in.b_step + col, n, d);
  for (; d < to; ++d) stream_steps<Rows, 1, V>(in, sums, in.b + d * in.b_step + col, n, d);
}

template <int Rows, class V, class T, class A, int... K>
HEDDLE_SHIM void multiply_square(std::integer_sequence<int, K...>, V (&acc)[Rows], V const* square, A const* a,
                                 index_t const (&row)[Rows], index_t step, index_t n) {
  for (int r = 0; r < Rows; ++r)
    ((K < n ? void(acc[r] = fma(V::splat(static_cast<T>(a[row[r] + K * step])), square[K], acc[r])) : void()), ...);
}

/// The same where steps of k are adjacent: squares of W columns and W steps.
template <int Rows, class V, class I>
HEDDLE_SHIM void dot_piece(I const& in, typename I::number* sums, index_t col, index_t n, index_t from, index_t to) {
  constexpr int W = V::width;
  constexpr index_t ahead = 1024 / sizeof(*in.b);  // lines far apart share L1 sets, so this goes to the L2 cache
  index_t row[Rows];
  for (int r = 0; r < Rows; ++r) row[r] = r < in.m ? r * in.a_row : 0;
  for (index_t c = 0; c < n; c += W) {
    V acc[Rows], square[W];
    for (int r = 0; r < Rows; ++r) acc[r] = V::zero();
    auto const* const lines = in.b + (col + c) * in.b_column;
    for (index_t d = from; d < to; d += W) {
      index_t const steps = to - d < W ? to - d : index_t{W};
      load_transposed(lines + d, in.b_column, n - c, steps, square);
      for (int i = 0; i < W; ++i) __builtin_prefetch(lines + d + i * in.b_column + ahead, 0, 2);
      auto const* const a = in.a + d * in.a_step;
      if (steps == W)
        multiply_square<Rows, V, typename I::number>(std::make_integer_sequence<int, W>{}, acc, square, a, row, in.a_step, W);
      else
        multiply_square<Rows, V, typename I::number>(std::make_integer_sequence<int, W>{}, acc, square, a, row, in.a_step, steps);
    }
    for (int r = 0; r < Rows; ++r) acc[r].store(sums + r * streamed_columns<Rows> + c);
  }
}

/// The sums of columns [col, col + n) of all rows, to lines of `streamed_columns`. `sums` has room for one block of
/// lines per level of the tree and one more.
template <int Rows>
struct few_rows_body {
  template <class Isa, class I>
  HEDDLE_SHIM void operator()(Isa, I const& in, typename I::number* const& sums, index_t const& col,
                              index_t const& n) const {
    using T = typename I::number;
    constexpr int W = Isa::template lanes<T>;
    using V = vec<T, W, W>;
    constexpr index_t block = Rows * streamed_columns<Rows>;
    index_t const pieces = pieces_of(in.k);
    tree_accumulate tree(pieces, 0, pieces);
    for (index_t piece = 0; piece < pieces; ++piece) {
      int slot = tree.next_slot();
      T* const mine = sums + slot * block;
      index_t const from = piece * chain_depth, to = in.k - from < chain_depth ? in.k : from + chain_depth;
      if (in.b_column == 1)
        stream_piece<Rows, V>(in, mine, col, n, from, to);
      else
        dot_piece<Rows, V>(in, mine, col, n, from, to);
      for (int merges = tree.push(); merges > 0; --merges, --slot)
        for (index_t i = 0; i < block; i += W)
          (V::load(sums + (slot - 1) * block + i) + V::load(sums + slot * block + i)).store(sums + (slot - 1) * block + i);
    }
  }
};

}  // namespace detail

/// Submits a product of at most `few_rows` rows whose b has adjacent columns or adjacent steps of k.
template <class E, class I, class O>
HEDDLE_FN void submit_few_rows(E& exec, I const& in, O const& out) {
  using T = typename I::number;
  index_t const pieces = pieces_of(in.k), widest = in.m == 1 ? streamed_columns<1> : streamed_columns<few_rows>;
  index_t const per_worker = tree_slots(pieces, 0, pieces) * (in.m == 1 ? 1 : few_rows) * widest;
  scratch_frame<E> frame(exec);
  T* const sums = frame.template take<T>(per_worker * exec.concurrency());
  // Enough tiles for all workers, in whole cache lines of b.
  index_t width = (in.n + exec.concurrency() - 1) / exec.concurrency();
  width = (width + 63) / 64 * 64;
  if (width > widest) width = widest;
  exec.for_each_tile((in.n + width - 1) / width, [in, out, sums, per_worker, width, widest](index_t tile, int worker) {
    index_t const col = tile * width, n = in.n - col < width ? in.n - col : width;
    T* const mine = sums + worker * per_worker;
    if (in.m == 1)
      dispatch_isa(detail::few_rows_body<1>{}, in, mine, col, n);
    else
      dispatch_isa(detail::few_rows_body<few_rows>{}, in, mine, col, n);
    dispatch_isa(detail::store_body{}, out, static_cast<T const*>(mine), widest, index_t{0}, in.m, col, n);
  });
}

}  // namespace cpu
}  // namespace heddle
