// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/csr.hpp>
#include <heddle/algorithm/merge_path.hpp>
#include <heddle/tile/canonical.hpp>
#include <heddle/tile/run.hpp>

/// @file
/// The order in which sparse products add up, and how rows are shared out. A row is cut every 4096 entries, counted
/// from its first; the sums of its blocks are combined along T. A block belongs to the piece in which it begins.

namespace heddle {
namespace detail {

inline constexpr int sparse_lanes = 8;  ///< entry e of a block goes to lane e mod 8

/// Operands of y = A x. The partial sums of long rows have a place each: the window of 4096 entries in which a block
/// begins, where the last block of one row may meet the first of the next.
template <class T, class I>
struct spmv_work {
  using number = T;
  using index = I;

  csr_view<T, I> a;
  view<T const, 1> x;
  view<T, 1> y;
  index_t pieces;
  T* partial;
  std::int32_t* has_long;  // of each piece: whether a row of several blocks begins there

  HEDDLE_HD_FN index_t offset(index_t row) const {
    return static_cast<index_t>(a.row_offsets.data()[row * a.row_offsets.stride(0)]);
  }
  HEDDLE_HD_FN static index_t windows(index_t entries) { return 2 * (entries / tile::block_elements + 1); }
  HEDDLE_HD_FN static index_t window(index_t start, bool last) { return 2 * (start / tile::block_elements) + last; }
  HEDDLE_HD_FN void put(index_t row, T sum) const { y.data()[row * y.stride(0)] = with_canonical_nan(sum); }
};

/// The parts of row `row` that a piece owns: blocks that begin in [from, to), or an empty row.
template <class Work, class BlockSum>
HEDDLE_TILE void spmv_blocks(Work const& w, index_t row, index_t from, index_t to, bool ends, bool& any_long,
                             BlockSum const& block_sum) {
  constexpr index_t block = tile::block_elements;
  index_t const begin = w.offset(row), end = w.offset(row + 1);
  if (end - begin <= block) {
    if (from == begin && (to > begin || (ends && end == begin))) w.put(row, block_sum(begin, end));
    return;
  }
  if (from == begin && to > begin) any_long = true;
  for (index_t start = begin + tile::ceil_div(from - begin, block) * block; start < to; start += block) {
    bool const last = end - start <= block;
    w.partial[Work::window(start, last)] = block_sum(start, last ? end : start + block);
  }
}

/// One piece, with `block_sum(first, end)` for the entries of one block.
template <class Work, class BlockSum>
HEDDLE_TILE void spmv_piece(Work const& w, index_t piece, BlockSum const& block_sum) {
  merge_path_point const lo = merge_path_piece(w.a.row_offsets, w.pieces, piece),
                         hi = merge_path_piece(w.a.row_offsets, w.pieces, piece + 1);
  index_t const rows = w.a.rows();
  bool any_long = false;
  index_t row = lo.segment;
  if (row < hi.segment) {
    spmv_blocks(w, row, lo.item, w.offset(row + 1), true, any_long, block_sum);
    ++row;
  }
  for (index_t begin = w.offset(row); row < hi.segment; ++row) {
    index_t const end = w.offset(row + 1);
    if (HEDDLE_LIKELY(end - begin <= tile::block_elements))
      w.put(row, block_sum(begin, end));
    else
      spmv_blocks(w, row, begin, end, true, any_long, block_sum);
    begin = end;
  }
  if (row < rows) spmv_blocks(w, row, row == lo.segment ? lo.item : w.offset(row), hi.item, false, any_long, block_sum);
  w.has_long[piece] = any_long;
}

/// The rows of several blocks that begin in a piece: T over their partial sums.
template <class Work>
HEDDLE_HD_FN void spmv_long_rows(Work const& w, index_t piece) {
  using T = typename Work::number;
  constexpr index_t block = tile::block_elements;
  if (!w.has_long[piece]) return;
  merge_path_point const lo = merge_path_piece(w.a.row_offsets, w.pieces, piece),
                         hi = merge_path_piece(w.a.row_offsets, w.pieces, piece + 1);
  for (index_t row = lo.segment; row <= hi.segment && row < w.a.rows(); ++row) {
    index_t const begin = w.offset(row), end = w.offset(row + 1);
    index_t const from = row == lo.segment ? lo.item : begin, to = row < hi.segment ? end : hi.item;
    if (end - begin <= block || from != begin || to <= begin) continue;
    index_t const blocks = tile::ceil_div(end - begin, block);
    w.put(row, tile::detail::stream_tree<T>(
                   blocks, [](T l, T r) { return l + r; },
                   [&](index_t b) { return w.partial[Work::window(begin + b * block, b + 1 == blocks)]; }));
  }
}

/// The sum of one block as a plain loop: the definition. Entries missing from the last eight count as zeros.
template <class T, class I>
HEDDLE_HD_FN T spmv_block_sum(csr_view<T, I> const& a, view<T const, 1> const& x, index_t first, index_t end) {
  T lane[sparse_lanes] = {};
  for (index_t group = first; group < end; group += sparse_lanes)
    for (int i = 0; i < sparse_lanes; ++i) {
      index_t const e = group + i;
      if (e < end) {
        index_t const column = static_cast<index_t>(a.columns.data()[e * a.columns.stride(0)]);
        HEDDLE_ASSERT(column >= 0 && column < a.column_count, "a column must be inside the matrix; see check(csr)", e,
                      column);
        lane[i] = fma(a.values.data()[e * a.values.stride(0)], x.data()[column * x.stride(0)], lane[i]);
      } else {
        lane[i] = fma(T(0), T(0), lane[i]);
      }
    }
  return tile::detail::combine_tree(lane, sparse_lanes, [](T l, T r) { return l + r; });
}

/// Operands of C = A B for dense B and C: one chain of fma per element and block, T over the blocks.
template <class T, class I>
struct spmm_work {
  using number = T;
  using index = I;
  static constexpr index_t strip = 64;  // columns of C that one tile does

  csr_view<T, I> a;
  view<T const, 2> b;
  view<T, 2> c;
  index_t pieces;

  HEDDLE_HD_FN index_t strips() const { return tile::ceil_div(c.extent(1), strip); }
  HEDDLE_HD_FN index_t offset(index_t row) const {
    return static_cast<index_t>(a.row_offsets.data()[row * a.row_offsets.stride(0)]);
  }
  HEDDLE_HD_FN index_t column(index_t e) const {
    return static_cast<index_t>(a.columns.data()[e * a.columns.stride(0)]);
  }
  /// The first row that belongs to a piece: rows belong to the piece in which they begin.
  HEDDLE_HD_FN index_t first_row(index_t piece) const {
    merge_path_point const p = merge_path_piece(a.row_offsets, pieces, piece);
    return p.segment + (p.segment < a.rows() && p.item > offset(p.segment));
  }
};

/// Element (row, j) of C as a plain loop: the definition.
template <class T, class I>
HEDDLE_HD_FN T spmm_element(spmm_work<T, I> const& w, index_t row, index_t j) {
  constexpr index_t block = tile::block_elements;
  index_t const begin = w.offset(row), end = w.offset(row + 1);
  index_t const blocks = end - begin <= block ? 1 : tile::ceil_div(end - begin, block);
  return with_canonical_nan(tile::detail::stream_tree<T>(
      blocks, [](T l, T r) { return l + r; },
      [&](index_t k) {
        index_t const first = begin + k * block, last = end - first < block ? end : first + block;
        T sum = 0;
        for (index_t e = first; e < last; ++e)
          sum = fma(w.a.values.data()[e * w.a.values.stride(0)],
                    w.b.data()[w.column(e) * w.b.stride(0) + j * w.b.stride(1)], sum);
        return sum;
      }));
}

}  // namespace detail
}  // namespace heddle
