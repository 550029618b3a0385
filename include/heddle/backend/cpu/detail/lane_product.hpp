// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/extents.hpp>
#include <heddle/tile/targets.hpp>
#include <heddle/tile/vec.hpp>

/// @file
/// Products of a small matrix in place with a packed panel of 32 lanes:
///
///     out[r][lane] = sum over c of a(r, c) * b[c][lane]
///
/// Each lane is one query (or key) of a tile, so that softmax never crosses lanes. Every element is one chain over
/// ascending c from 0, whatever the instruction set and the blocking.

namespace heddle::attention::detail {

/// Rows of a tile that are worked on side by side.
inline constexpr index_t lanes = 32;

/// Up to so many lanes, keys and values are taken as a stream: a decoding step reads them once and is done.
inline constexpr index_t few_lanes = 8;

/// How a product is blocked into registers.
template <class Isa, class T>
struct lane_blocking {
  static constexpr int width = Isa::template lanes<T>;
  using vector = vec<T, width>;
  static constexpr int vectors = 2;
  static constexpr int rows = Isa::register_bytes == 64 ? 8 : 4;
};

/// Rows of panels come in whole blocks of every instruction set.
inline constexpr index_t panel_rows = 8;
HEDDLE_SHIM constexpr index_t padded(index_t rows) noexcept {
  return (rows + panel_rows - 1) / panel_rows * panel_rows;
}

/// Columns [lo, hi) of a product. Outside [full_begin, full_end) some lanes exclude some columns.
struct column_run {
  index_t lo, full_begin, full_end, hi;
};

/// Elements (r, c) at row[r] + c. Rows behind the last repeat it, so that nothing else is read.
template <class T, int Rows>
struct separate_rows {
  T const* row[Rows];

  HEDDLE_SHIM separate_rows(T const* a, index_t stride, index_t first, index_t rows) {
    for (int r = 0; r < Rows; ++r) row[r] = a + (first + r < rows ? first + r : rows - 1) * stride;
  }
  template <int R>
  HEDDLE_SHIM T at(index_t c) const {
    return row[R][c];
  }
};

/// Elements (r, c) at data + r + c * column: rows lie side by side.
template <class T>
struct adjacent_rows {
  T const* data;
  index_t column;

  template <int R>
  HEDDLE_SHIM T at(index_t c) const {
    return data[c * column + R];
  }
};

template <int Row, class V, class T, int... I>
HEDDLE_SHIM void row_step(std::integer_sequence<int, I...>, V* acc, T a, V const* b) {
  V const s = V::splat(a);
  ((acc[Row * static_cast<int>(sizeof...(I)) + I] = fma(s, b[I], acc[Row * static_cast<int>(sizeof...(I)) + I])), ...);
}
template <int Row, class V, class T, class M, int... I>
HEDDLE_SHIM void masked_row_step(std::integer_sequence<int, I...>, V* acc, T a, V const* b, M const* excluded) {
  V const s = V::splat(a);
  constexpr int n = static_cast<int>(sizeof...(I));
  ((acc[Row * n + I] = select(excluded[I], acc[Row * n + I], fma(s, b[I], acc[Row * n + I]))), ...);
}

template <class V, class A, int... R, int... I>
HEDDLE_SHIM void plain_columns(std::integer_sequence<int, R...>, std::integer_sequence<int, I...> vectors, V* acc,
                               A const& a, lane_t<V> const* b, index_t begin, index_t end) {
  for (index_t c = begin; c < end; ++c) {
    V const x[] = {V::load(b + c * lanes + I * V::width)...};
    (row_step<R>(vectors, acc, a.template at<R>(c), x), ...);
  }
}
// Weights below 0 mark excluded pairs; a NaN is a weight.
template <class V, class A, int... R, int... I>
HEDDLE_SHIM void masked_columns(std::integer_sequence<int, R...>, std::integer_sequence<int, I...> vectors, V* acc,
                                A const& a, lane_t<V> const* b, lane_t<V> const* weights, index_t begin, index_t end) {
  for (index_t c = begin; c < end; ++c) {
    V const x[] = {V::load(b + c * lanes + I * V::width)...};
    mask_t<V> const excluded[] = {(V::load(weights + c * lanes + I * V::width) < lane_t<V>(0))...};
    (masked_row_step<R>(vectors, acc, a.template at<R>(c), x, excluded), ...);
  }
}

template <class V, int... I>
HEDDLE_SHIM void clear_all(std::integer_sequence<int, I...>, V* acc) {
  ((acc[I] = V::zero()), ...);
}
template <int Vectors, class V, class Finish, int... I>
HEDDLE_SHIM void finish_all(std::integer_sequence<int, I...>, V const* acc, lane_t<V>* out, index_t lane,
                            Finish const& finish) {
  (finish(out + (I / Vectors) * lanes + (I % Vectors) * V::width, acc[I], lane + (I % Vectors) * V::width), ...);
}

template <class V, int... I>
HEDDLE_SHIM void gain(std::integer_sequence<int, I...>, V* acc, lane_t<V> weight, lane_t<V> const* row) {
  V const w = V::splat(weight);
  ((acc[I] = fma(w, V::load(row + I * V::width), acc[I])), ...);
}
template <class V, int... I>
HEDDLE_SHIM void store_all(std::integer_sequence<int, I...>, V const* acc, lane_t<V>* to) {
  (acc[I].store(to + I * V::width), ...);
}

/// One block of rows and one group of lanes. Without weights every column is full.
template <class Isa, bool Masked, int Vectors, class T, class A, class Finish>
HEDDLE_SHIM void lane_block(T* out, A const& a, T const* b, T const* weights, column_run const& run, index_t lane,
                            Finish const& finish) {
  using blocking = lane_blocking<Isa, T>;
  constexpr std::make_integer_sequence<int, blocking::rows> rows{};
  constexpr std::make_integer_sequence<int, Vectors> vectors{};
  constexpr std::make_integer_sequence<int, blocking::rows * Vectors> all{};
  typename blocking::vector acc[blocking::rows * Vectors];
  clear_all(all, acc);
  if constexpr (Masked) {
    index_t const edge[] = {run.lo, run.full_begin, run.full_end, run.hi};
    for (int part = 0; part < 3; ++part)
      if (part == 1)
        plain_columns(rows, vectors, acc, a, b + lane, edge[1], edge[2]);
      else
        masked_columns(rows, vectors, acc, a, b + lane, weights + lane, edge[part], edge[part + 1]);
  } else {
    plain_columns(rows, vectors, acc, a, b + lane, run.lo, run.hi);
  }
  finish_all<Vectors>(all, acc, out + lane, lane, finish);
}

/// What becomes of a finished element: it overwrites the old one, is added to it, or is added to it times a factor
/// of its lane.
struct overwrite {
  template <class T, class V>
  HEDDLE_SHIM void operator()(T* out, V const& x, index_t) const {
    x.store(out);
  }
};
struct add_to {
  template <class T, class V>
  HEDDLE_SHIM void operator()(T* out, V const& x, index_t) const {
    (V::load(out) + x).store(out);
  }
};
template <class T>
struct add_to_scaled {
  T const* factor;
  template <class V>
  HEDDLE_SHIM void operator()(T* out, V const& x, index_t lane) const {
    fma(V::load(out), V::load(factor + lane), x).store(out);
  }
};

/// out[r] = a's row r times b, for rows in [0, rows) and the first `used` lanes, rounded up to whole blocks; a has unit
/// columns. Writes padded(rows) rows. Vectors: how many are worked on side by side.
template <class Isa, int Vectors, class T>
HEDDLE_SHIM void row_product(T* out, T const* a, index_t row_stride, index_t rows, T const* b, index_t columns,
                             index_t used) {
  using blocking = lane_blocking<Isa, T>;
  column_run const run{0, 0, columns, columns};
  for (index_t r = 0; r < rows; r += blocking::rows) {
    separate_rows<T, blocking::rows> const block(a, row_stride, r, rows);
    for (index_t lane = 0; lane < used; lane += blocking::width * Vectors)
      lane_block<Isa, false, Vectors>(out + r * lanes, block, b, b, run, lane, overwrite{});
  }
}

/// out[r] gains the sum over the run's rows c of a[c][r] * b[c]; a has unit columns. Where `weights` is below 0, the
/// product is left out. Pre: a's rows and out have padded(columns) columns and rows.
template <class Isa, class T, class Finish>
HEDDLE_SHIM void column_product(T* out, T const* a, index_t row_stride, index_t columns, T const* b, T const* weights,
                                column_run const& run, Finish const& finish) {
  using blocking = lane_blocking<Isa, T>;
  static_assert(panel_rows % blocking::rows == 0);
  for (index_t r = 0; r < padded(columns); r += blocking::rows)
    for (index_t lane = 0; lane < lanes; lane += blocking::width * blocking::vectors)
      lane_block<Isa, true, blocking::vectors>(out + r * lanes, adjacent_rows<T>{a + r, row_stride}, b, weights, run,
                                               lane, finish);
}

/// The same with a factor for the first `used` lanes one by one, to out[lane][r] in rows `pitch` apart; columns of a
/// side by side in registers: for few lanes.
template <class Isa, class T>
HEDDLE_SHIM void few_lanes_product(T* out, index_t pitch, T const* a, index_t row_stride, index_t columns,
                                   T const* weights, column_run const& run, T const* factor, index_t used) {
  using V = typename lane_blocking<Isa, T>::vector;
  constexpr int together = 4;
  constexpr index_t step = together * V::width;
  constexpr std::make_integer_sequence<int, together> all{};
  for (index_t lane = 0; lane < used; ++lane)
    for (index_t first = 0; first < columns; first += step) {
      alignas(64) T part[step];
      if (first + step <= columns) {
        V acc[together];
        clear_all(all, acc);
        for (index_t c = run.lo; c < run.hi; ++c)
          if (T const w = weights[c * lanes + lane]; !(w < T(0))) gain(all, acc, w, a + c * row_stride + first);
        store_all(all, acc, part);
      } else {
        for (T& x : part) x = T(0);
        for (index_t c = run.lo; c < run.hi; ++c)
          if (T const w = weights[c * lanes + lane]; !(w < T(0)))
            for (index_t d = first; d < columns; ++d) part[d - first] = fma(w, a[c * row_stride + d], part[d - first]);
      }
      T* const row = out + lane * pitch;
      for (index_t d = first; d < columns && d < first + step; ++d) row[d] = fma(row[d], factor[lane], part[d - first]);
    }
}

}  // namespace heddle::attention::detail
