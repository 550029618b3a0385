// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/backend/cpu/matmul_kernel.hpp>

/// @file
/// The CPU matrix product of few rows, bound by reading b once: b is streamed row by row, sums wait in the L1 cache.

namespace heddle {
namespace cpu {

/// Rows up to which streaming b beats packing it.
inline constexpr index_t few_rows = 4;
/// Columns of one tile: its sums of four rows take 16 KiB.
inline constexpr index_t streamed_columns = 1024;

namespace detail {

/// sums[r][c] += a(r, [from, to)) b([from, to), col + c), four steps of k at a time.
template <int Rows, class V, class P>
HEDDLE_SHIM void stream_rows(P const& p, typename P::number* sums, index_t col, index_t n, index_t from, index_t to) {
  using T = typename P::number;
  constexpr int W = lanes_of<V>::count;
  constexpr index_t unroll = 4;
  for (index_t d = from; d < to; d += unroll) {
    index_t const steps = to - d < unroll ? to - d : unroll;
    V left[Rows][unroll];
    for (int r = 0; r < Rows; ++r)
      for (index_t u = 0; u < steps; ++u) left[r][u] = V::splat(static_cast<T>(p.a[r * p.a_row + (d + u) * p.a_step]));
    auto const* const b = p.b + d * p.b_step + col;
    for (index_t c = 0; c < n; c += W) {
      V acc[Rows];
      for (int r = 0; r < Rows; ++r) acc[r] = V::load(sums + r * streamed_columns + c);
      for (index_t u = 0; u < steps; ++u) {
        V const right = c + W <= n ? load_as<V>(b + u * p.b_step + c) : load_as<V>(b + u * p.b_step + c, n - c);
        for (int r = 0; r < Rows; ++r) acc[r] = fma(left[r][u], right, acc[r]);
      }
      for (int r = 0; r < Rows; ++r) acc[r].store(sums + r * streamed_columns + c);
    }
  }
}

/// Columns [col, col + n) of all rows. `sums` has room for one block of sums per level of the tree and one more.
template <int Rows, class V, class P>
HEDDLE_SHIM void few_rows_tile(P const& p, typename P::number* sums, index_t col, index_t n) {
  using T = typename P::number;
  constexpr int W = lanes_of<V>::count;
  constexpr index_t block = Rows * streamed_columns;
  index_t const pieces = p.k > 0 ? (p.k + chain_depth - 1) / chain_depth : 1;
  tree_accumulate tree(pieces, 0, pieces);
  for (index_t piece = 0; piece < pieces; ++piece) {
    int slot = tree.next_slot();
    T* const mine = sums + slot * block;
    for (index_t i = 0; i < block; i += W) V::zero().store(mine + i);
    index_t const from = piece * chain_depth;
    stream_rows<Rows, V>(p, mine, col, n, from, p.k - from < chain_depth ? p.k : from + chain_depth);
    for (int merges = tree.push(); merges > 0; --merges, --slot)
      for (index_t i = 0; i < block; i += W)
        (V::load(sums + (slot - 1) * block + i) + V::load(sums + slot * block + i)).store(sums + (slot - 1) * block + i);
  }
  for (int r = 0; r < Rows; ++r)
    for (index_t c = 0; c < n; c += W) {
      V const value = V::load(sums + r * streamed_columns + c);
      index_t const valid = n - c < W ? n - c : index_t{W};
      if (p.c_column == 1)
        finish(p, value, index_t{r}, col + c, valid);
      else
        for (index_t i = 0; i < valid; ++i) finish_one(p, value[static_cast<int>(i)], index_t{r}, col + c + i);
    }
}

struct few_rows_body {
  template <class Isa, class P>
  HEDDLE_SHIM void operator()(Isa, P const& p, typename P::number* const& sums, index_t const& col, index_t const& n) const {
    constexpr int lanes = Isa::template lanes<typename P::number>;
    using V = vec<typename P::number, lanes, lanes>;
    if (p.m == 1) few_rows_tile<1, V>(p, sums, col, n);
    if (p.m == 2) few_rows_tile<2, V>(p, sums, col, n);
    if (p.m == 3) few_rows_tile<3, V>(p, sums, col, n);
    if (p.m == 4) few_rows_tile<4, V>(p, sums, col, n);
  }
};

}  // namespace detail

/// Submits a product of at most `few_rows` rows whose b has adjacent columns.
template <class E, class P>
HEDDLE_FN void submit_few_rows(E& exec, P const& p) {
  using T = typename P::number;
  index_t const pieces = (p.k + chain_depth - 1) / chain_depth;
  index_t const per_worker = tree_slots(pieces > 0 ? pieces : 1, 0, pieces > 0 ? pieces : 1) * p.m * streamed_columns;
  scratch_frame<E> frame(exec);
  T* const sums = frame.template take<T>(per_worker * exec.concurrency());
  // Enough tiles for all workers, in whole cache lines of b.
  index_t width = (p.n + exec.concurrency() - 1) / exec.concurrency();
  width = (width + 63) / 64 * 64;
  if (width > streamed_columns) width = streamed_columns;
  exec.for_each_tile((p.n + width - 1) / width, [p, sums, per_worker, width](index_t tile, int worker) {
    index_t const col = tile * width, left = p.n - col;
    dispatch_isa(detail::few_rows_body{}, p, sums + worker * per_worker, col, left < width ? left : width);
  });
}

}  // namespace cpu
}  // namespace heddle
