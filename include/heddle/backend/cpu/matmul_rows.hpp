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

/// acc[r] += left[r] * right.
template <class V, int... R>
HEDDLE_SHIM void add_row(std::integer_sequence<int, R...>, V const* left, V const& right, V* acc) {
  ((acc[R] = fma(left[R], right, acc[R])), ...);
}
template <class V, class T, int... R>
HEDDLE_SHIM void load_sums(std::integer_sequence<int, R...>, T const* sums, index_t pitch, V* acc) {
  ((acc[R] = V::load(sums + R * pitch)), ...);
}
/// Steps of all rows of a, the rows of one step side by side. Sums of rows that are not there are never stored.
template <int Rows, class V, class I, int... X>
HEDDLE_SHIM void splat_steps(std::integer_sequence<int, X...>, I const& in, index_t from, V* left) {
  ((left[X] = V::splat(
        static_cast<lane_t<V>>(in.a[(X % Rows < in.m ? X % Rows : 0) * in.a_row + (from + X / Rows) * in.a_step]))),
   ...);
}

/// sums[r][c] += a(r, [from, from + sizeof...(U))) b([from, from + sizeof...(U)), c) for n columns from `b` on. Every
/// row of b is loaded by an instruction of its own: prefetchers tell streams apart by the address of the load.
template <int Rows, class V, class I, class B, int... U>
HEDDLE_SHIM void stream_steps(std::integer_sequence<int, U...>, I const& in, lane_t<V>* sums, B const* b, index_t n,
                              index_t from) {
  constexpr std::make_integer_sequence<int, Rows> each{};
  constexpr index_t pitch = streamed_columns<Rows>;
  index_t const step = in.b_step, whole = n / V::width * V::width;
  V left[sizeof...(U) * Rows], acc[Rows];
  splat_steps<Rows>(std::make_integer_sequence<int, sizeof...(U) * Rows>{}, in, from, left);
  for (index_t c = 0; c < whole; c += V::width) {
    load_sums(each, sums + c, pitch, acc);
    (add_row(each, left + U * Rows, load_as<V>(b + c + U * step), acc), ...);
    store_lines(each, acc, sums + c, pitch);
  }
  if (whole == n) return;
  load_sums(each, sums + whole, pitch, acc);
  (add_row(each, left + U * Rows, load_as<V>(b + whole + U * step, n - whole), acc), ...);
  store_lines(each, acc, sums + whole, pitch);
}

/// The sums of columns [col, col + n) over steps [from, to) of k, b read row by row, to lines of `streamed_columns`.
template <int Rows>
struct stream_body {
  template <class Isa, class I>
  HEDDLE_SHIM void operator()(Isa, I const& in, typename I::number* const& sums, index_t const& col, index_t const& n,
                              index_t const& from, index_t const& to) const {
    constexpr int W = Isa::template lanes<typename I::number>;
    using V = vec<typename I::number, W, W>;
    constexpr int steps = 4;  // streams that the hardware prefetches by itself; 16 KiB apart they share 8 ways of L1
    for (index_t i = 0; i < Rows * streamed_columns<Rows>; i += W) V::zero().store(sums + i);
    index_t d = from;
    for (; d + steps <= to; d += steps)
      stream_steps<Rows, V>(std::make_integer_sequence<int, steps>{}, in, sums, in.b + d * in.b_step + col, n, d);
    for (; d < to; ++d)
      stream_steps<Rows, V>(std::integer_sequence<int, 0>{}, in, sums, in.b + d * in.b_step + col, n, d);
  }
};

/// sum += a(r, [d, d + W)) times a whole square of b.
template <class V, class I, int... K>
HEDDLE_SHIM void multiply_row(std::integer_sequence<int, K...>, I const& in, V const* square, index_t r, index_t d,
                              V& sum) {
  auto const* const a = in.a + r * in.a_row + d * in.a_step;
  ((sum = fma(V::splat(static_cast<lane_t<V>>(a[K * in.a_step])), square[K], sum)), ...);
}
/// The same for all rows, which are named one by one so that their sums stay in registers.
template <class V, class I>
HEDDLE_SHIM void multiply_square(I const& in, decltype(I::b) from, index_t d, V& s0, V& s1, V& s2, V& s3) {
  constexpr std::make_integer_sequence<int, V::width> each{};
  V square[V::width];
  load_square(from, in.b_column, square);
  multiply_row(each, in, square, 0, d, s0);
  if (in.m > 1) multiply_row(each, in, square, 1, d, s1);
  if (in.m > 2) multiply_row(each, in, square, 2, d, s2);
  if (in.m > 3) multiply_row(each, in, square, 3, d, s3);
}

/// Asks for the part of the next block that the square at step d stands for. A block is a kilobyte of W lines and is
/// fetched line by line: runs of memory, where the squares themselves would touch W lines in turns.
template <int W, class A>
HEDDLE_SHIM void prefetch_block(A const* lines, index_t line, index_t from, index_t d, index_t to) {
  constexpr index_t cache_line = 64 / sizeof(A), run = 16 * cache_line, requests = W * W / cache_line;
  index_t const next = from + ((d - from) / run + 1) * run, first = (d - from) % run / W * requests;
  A const* const block = next < to ? lines + next : lines + W * line + from;
  for (index_t i = first; i < first + requests; ++i) __builtin_prefetch(block + i / 16 * line + i % 16 * cache_line);
}

/// The same where steps of k are adjacent: squares of W columns and W steps. Lines of the sums are `pitch` apart.
struct dot_body {
  template <class Isa, class I>
  HEDDLE_SHIM void operator()(Isa, I const& in, typename I::number* const& sums, index_t const& pitch,
                              index_t const& col, index_t const& n, index_t const& from, index_t const& to) const {
    using T = typename I::number;
    constexpr int W = Isa::template lanes<T>;
    using V = vec<T, W, W>;
    alignas(64) T square[W * W];
    for (index_t c = 0; c < n; c += W) {
      auto const* const lines = in.b + (col + c) * in.b_column;
      V s0 = V::zero(), s1 = s0, s2 = s0, s3 = s0;
      index_t d = from;
      if (n - c >= W)
        for (; d + W <= to; d += W) {
          prefetch_block<W>(lines, in.b_column, from, d, to);
          multiply_square(in, lines + d, d, s0, s1, s2, s3);
        }
      V acc[few_rows] = {s0, s1, s2, s3};
      for (; d < to; d += W) {
        index_t const steps = to - d < W ? to - d : index_t{W};
        pack_square<V>(lines + d, in.b_column, n - c, steps, square, index_t{W});
        for (index_t r = 0; r < in.m; ++r) {
          auto const* const a = in.a + r * in.a_row + d * in.a_step;
          V sum = acc[r];
          for (index_t u = 0; u < steps; ++u)
            sum = fma(V::splat(static_cast<T>(a[u * in.a_step])), V::load(square + u * W), sum);
          acc[r] = sum;
        }
      }
      for (index_t r = 0; r < in.m; ++r) acc[r].store(sums + r * pitch + c);
    }
  }
};

/// The sums of columns [col, col + n) of all rows, to lines that are `pitch` apart. `sums` has room for one block of
/// lines per level of the tree and one more.
template <class I>
HEDDLE_FN void sum_few_rows(I const& in, typename I::number* sums, index_t pitch, index_t col, index_t n) {
  using T = typename I::number;
  index_t const pieces = in.chains().count(), block = (in.m == 1 ? 1 : few_rows) * pitch;
  tree_accumulate tree(pieces, 0, pieces);
  for (index_t piece = 0; piece < pieces; ++piece) {
    int slot = tree.next_slot();
    T* const mine = sums + slot * block;
    index_t const from = in.chains().at(piece).offset, to = in.chains().at(piece).end();
    if (in.b_column != 1)
      dispatch_isa(dot_body{}, in, mine, pitch, col, n, from, to);
    else if (in.m == 1)
      dispatch_isa(stream_body<1>{}, in, mine, col, n, from, to);
    else
      dispatch_isa(stream_body<few_rows>{}, in, mine, col, n, from, to);
    for (int merges = tree.push(); merges > 0; --merges, --slot)
      dispatch_isa(add_body<T>{}, static_cast<T const*>(sums + slot * block), sums + (slot - 1) * block, block);
  }
}

}  // namespace detail

/// Submits a product of at most `few_rows` rows whose b has adjacent columns or adjacent steps of k.
template <class E, class I, class O>
HEDDLE_FN void submit_few_rows(E& exec, I const& in, O const& out) {
  using T = typename I::number;
  index_t const pieces = in.chains().count(), widest = in.m == 1 ? streamed_columns<1> : streamed_columns<few_rows>;
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
    detail::sum_few_rows(in, mine, widest, col, n);
    dispatch_isa(detail::store_body{}, out, static_cast<T const*>(mine), widest, index_t{0}, in.m, col, n);
  });
}

}  // namespace cpu
}  // namespace heddle
