// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/balanced_for.hpp>
#include <heddle/algorithm/detail/sparse_pieces.hpp>
#include <heddle/core/overlap.hpp>

namespace heddle {

namespace detail {

template <class T, class I>
HEDDLE_FN index_t csr_bytes(csr_view<T, I> const& a) {
  return element_bytes(a.row_offsets) + element_bytes(a.columns) + element_bytes(a.values);
}
/// Pieces of a product: enough for every worker to have some to give away, with some thousand entries each.
template <class T, class I>
HEDDLE_FN index_t sparse_pieces(csr_view<T, I> const& a, int workers) {
  index_t const most = index_t{16} * workers, useful = tile::ceil_div(a.rows() + a.entries(), 4096);
  return useful < 1 ? 1 : useful < most ? useful : most;
}
template <class T, class I>
HEDDLE_FN void expect_csr(csr_view<T, I> const& a) {
  HEDDLE_EXPECTS(a.row_offsets.extent(0) >= 1, "n rows have n + 1 offsets", a.row_offsets.extent(0));
  HEDDLE_EXPECTS(a.columns.extent(0) == a.values.extent(0), "columns and values have one extent", a.columns.extent(0),
                 a.values.extent(0));
}

/// Both passes of y = A x: blocks and short rows first, then the rows that have several blocks.
template <class Work, bool Long>
struct spmv_program {
  using plain = void;

  Work w;

  template <class Ctx>
  struct shared {};
  HEDDLE_FN span work() const {
    if (Long) return {.operation = "spmv.long_rows", .shape = {w.a.rows()}};
    return {.operation = "spmv",
            .shape = {w.a.rows(), w.a.column_count, w.a.entries()},
            .bytes = csr_bytes(w.a) + element_bytes(w.x, w.y),
            .flops = 2 * w.a.entries()};
  }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return tile::ceil_div(w.pieces, pieces_of_tile<Ctx>());
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    constexpr index_t most = pieces_of_tile<Ctx>();
    index_t const first = ctx.tile() * most, left = w.pieces - first;
    ctx.for_each(left < most ? left : most, [&o = w, first](index_t i) {
      if constexpr (Long)
        spmv_long_rows(o, first + i);
      else
        spmv_piece(o, first + i, [&o](index_t begin, index_t end) { return spmv_block_sum(o.a, o.x, begin, end); });
    });
  }
};

template <class Work>
struct spmm_program {
  using plain = void;

  Work w;

  template <class Ctx>
  struct shared {};
  HEDDLE_FN span work() const {
    return {.operation = "spmm",
            .shape = {w.a.rows(), w.a.column_count, w.c.extent(1), w.a.entries()},
            .bytes = csr_bytes(w.a) + element_bytes(w.b, w.c),
            .flops = 2 * w.a.entries() * w.c.extent(1)};
  }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return w.pieces * w.strips();
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const piece = ctx.tile() / w.strips(), j = ctx.tile() % w.strips() * Work::strip;
    index_t const n = tile::detail::smaller(Work::strip, w.c.extent(1) - j);
    index_t const first = w.first_row(piece), rows = w.first_row(piece + 1) - first;
    ctx.for_each(rows * n, [&o = w, first, j, n](index_t i) {
      index_t const row = first + i / n, at = j + i % n;
      o.c.data()[row * o.c.stride(0) + at * o.c.stride(1)] = spmm_element(o, row, at);
    });
  }
};

}  // namespace detail

/// y = A x for a sparse A.
///
/// Shapes: A rows x columns, x columns, y rows; strides free (adjacent elements are fast). Types: float or double, one
/// for all; indices std::int32_t or std::int64_t. Pre: the structure is right (`check(a)` tells), y overlaps nothing.
/// Errors: contract_error, from the queue where the offsets are at fault; columns are looked at where contracts are 2.
/// Complexity: 2 flops an entry; shared out by entries and rows, so rows may have any lengths. Sync: submits.
/// Memory: two numbers per 4096 entries, of the arena. Determinism: the same bits on every backend and for any number
/// of workers. Numerics: a row is cut into blocks of 4096 entries; in a block entry e goes to lane e mod 8, which is
/// one chain of fma in ascending order, and the lanes are combined along T(8); T over the blocks. Entries missing from
/// the last eight count as zeros. A NaN result is the canonical NaN. A row without entries gives 0.
struct spmv_fn {
  template <executor E, std::floating_point T, class I, vector_view X, vector_view Y>
    requires(std::same_as<typename X::value_type, T>&& std::same_as<typename Y::element_type, T>)
  HEDDLE_FN void operator()(E& exec, csr_view<T, I> const& a, X const& x, Y const& y) const {
    detail::expect_csr(a);
    HEDDLE_EXPECTS(x.extent(0) == a.column_count && y.extent(0) == a.rows(), "spmv: extents of A, x and y must agree",
                   a.rows(), a.column_count, x.extent(0), y.extent(0));
    expect_apart("spmv", y, x, a.values, a.columns, a.row_offsets);
    if (a.rows() == 0) return;
    index_t const pieces = detail::sparse_pieces(a, exec.concurrency());
    scratch_frame<E> frame(exec);
    detail::spmv_work<T, I> w{a, canonical_input(x), canonical(y), pieces, nullptr, nullptr};
    w.partial = frame.template take<T>(w.windows(a.entries()));
    w.has_long = frame.template take<std::int32_t>(pieces);
    tile::run(exec, detail::check_offsets_program<I>{a.row_offsets, a.entries()});
    run_kernel<spmv_fn>(exec, w);
    tile::run(exec, detail::spmv_program<detail::spmv_work<T, I>, true>{w});
  }

  // The form of backends that have none of their own.
  template <executor E, class Work>
  static HEDDLE_FN void generic(E& exec, Work const& w) {
    tile::run(exec, detail::spmv_program<Work, false>{w});
  }
};

/// C = A B for a sparse A and dense B and C.
///
/// Shapes: A rows x columns, B columns x n, C rows x n; strides free (adjacent elements of a row are fast).
/// As spmv, but: Memory: none. Complexity: 2 n flops an entry; a row is one worker's in strips of 64 columns.
/// Numerics: an element is one chain of fma over the entries of a block of 4096, ascending, and T over the blocks. One
/// column of it is therefore not the bits of spmv.
struct spmm_fn {
  template <executor E, std::floating_point T, class I, matrix_view B, matrix_view C>
    requires(std::same_as<typename B::value_type, T>&& std::same_as<typename C::element_type, T>)
  HEDDLE_FN void operator()(E& exec, csr_view<T, I> const& a, B const& b, C const& c) const {
    detail::expect_csr(a);
    HEDDLE_EXPECTS(b.extent(0) == a.column_count && c.extent(0) == a.rows() && b.extent(1) == c.extent(1),
                   "spmm: extents of A, B and C must agree", a.rows(), a.column_count, b.extent(0), b.extent(1),
                   c.extent(0), c.extent(1));
    expect_apart("spmm", c, b, a.values, a.columns, a.row_offsets);
    if (c.empty()) return;
    tile::run(exec, detail::check_offsets_program<I>{a.row_offsets, a.entries()});
    run_kernel<spmm_fn>(exec, detail::spmm_work<T, I>{a, canonical_input(b), canonical(c),
                                                      detail::sparse_pieces(a, exec.concurrency())});
  }

  template <executor E, class Work>
  static HEDDLE_FN void generic(E& exec, Work const& w) {
    tile::run(exec, detail::spmm_program<Work>{w});
  }
};

inline constexpr spmv_fn spmv{};
inline constexpr spmm_fn spmm{};

}  // namespace heddle
