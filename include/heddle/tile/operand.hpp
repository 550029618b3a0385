// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/scalar.hpp>
#include <heddle/core/tensor_view.hpp>

/// @file
/// Lazy operands of tile operations: they name elements in memory, and nothing is read before an operation asks.
/// All are small values; `row` and `column` below are those of the tile, counted from its first element.

namespace heddle {
namespace tile {

/// The number type in which tile operations compute with elements of T: float for the 16-bit and 8-bit types.
template <class T>
struct value_of {
  using type = T;
};
template <scalar T>
struct value_of<T> {
  using type = accumulator_t<T>;
};
template <class T>
using value_t = typename value_of<std::remove_cv_t<T>>::type;

/// An element as the number that callables see.
template <class T>
HEDDLE_TILE value_t<T> widen(T const& element) {
  return static_cast<value_t<T>>(element);
}

inline constexpr int block_elements = 4096;  ///< elements of one block of a canonical reduction

/// a / b, rounded up. Pre: a >= 0, b >= 1.
HEDDLE_HD_FN constexpr index_t ceil_div(index_t a, index_t b) { return (a + b - 1) / b; }

namespace detail {
HEDDLE_HD_FN constexpr index_t smaller(index_t a, index_t b) { return a < b ? a : b; }
}  // namespace detail

/// Rows of a matrix, or blocks of a vector that lie one after the other; the last row may be shorter.
/// Element (row, column) = data[row * row_stride + column * column_stride]. It gives an operation its shape.
template <class T>
struct matrix_ref {
  using element = T;
  T* data;
  index_t rows, columns, last_columns;
  index_t row_stride, column_stride;

  HEDDLE_HD_FN index_t columns_of(index_t row) const { return row + 1 == rows ? last_columns : columns; }
};

/// A matrix_ref that is written: with `stream`, past the caches, for outputs that none of them would hold to the end.
template <class T>
struct streamed_ref : matrix_ref<T> {
  bool stream;
};

/// One value per column, the same in every row. Element (row, column) = data[column * stride].
template <class T>
struct row_ref {
  using element = T;
  T* data;
  index_t stride;
};

/// One value per row, the same in every column. Element (row, column) = data[row * stride].
template <class T>
struct column_ref {
  using element = T;
  T* data;
  index_t stride;
};

/// T{1} where the column is the row's index and T{0} elsewhere. An index outside the columns gives a row of zeros.
template <class T, class Index>
struct one_hot_ref {
  using element = T;
  Index const* data;
  index_t stride, first_column;

  HEDDLE_HD_FN index_t hot_column(index_t row) const { return static_cast<index_t>(data[row * stride]) - first_column; }
};

/// Elements that a source makes from their position: rows of `columns` from position `base` on. It gives an operation
/// its shape. Element (row, column) = source(base + row * columns + column).
template <class Source>
struct lazy_ref {
  using element = typename Source::value_type;
  Source source;
  index_t base;
  index_t rows, columns, last_columns;

  HEDDLE_HD_FN index_t columns_of(index_t row) const { return row + 1 == rows ? last_columns : columns; }
};

/// One number per row of a tile, in the memory of the tile program. Rows beyond the tile's last hold nothing useful.
template <class T, int Rows>
struct column {
  using element = T;
  static constexpr int padded = (Rows * static_cast<int>(sizeof(T)) + 63) / 64 * 64 / static_cast<int>(sizeof(T));
  alignas(64) T at[padded];
};

/// Up to Rows x Columns numbers in the memory of the tile program; its shape is that of what was stored last.
template <class T, int Rows, int Columns>
struct storage {
  using element = T;
  static constexpr int pitch = (Columns * static_cast<int>(sizeof(T)) + 63) / 64 * 64 / static_cast<int>(sizeof(T));
  index_t rows, columns, last_columns;
  alignas(64) T at[Rows * pitch];

  HEDDLE_HD_FN index_t columns_of(index_t row) const { return row + 1 == rows ? last_columns : columns; }

  template <class Shape>
  HEDDLE_TILE void take_shape(Shape const& shape) {
    rows = shape.rows;
    columns = shape.rows == 1 ? shape.columns_of(0) : shape.columns;
    last_columns = shape.rows == 0 ? 0 : shape.columns_of(shape.rows - 1);
    HEDDLE_ASSERT(columns <= Columns, "a tile must have room for all columns", columns, Columns);
  }
};

/// The shape of an operation by itself.
struct row_shape {
  index_t rows, columns, last_columns;

  HEDDLE_HD_FN index_t columns_of(index_t row) const { return row + 1 == rows ? last_columns : columns; }
};

/// Whether an operand gives an operation its shape.
template <class O>
concept shaped_operand = requires(O const& o, index_t row) {
  o.rows;
  o.columns_of(row);
};

namespace detail {

/// The first operand that has a shape.
template <class First, class... Rest>
HEDDLE_TILE constexpr auto const& shape_of(First const& first, Rest const&... rest) {
  if constexpr (shaped_operand<First>)
    return first;
  else
    return shape_of(rest...);
}

// One element of an operand, as the number that callables see.
template <class T>
HEDDLE_TILE auto element_of(matrix_ref<T> const& o, index_t row, index_t column) {
  return widen(o.data[row * o.row_stride + column * o.column_stride]);
}
template <class T>
HEDDLE_TILE auto element_of(row_ref<T> const& o, index_t, index_t column) {
  return widen(o.data[column * o.stride]);
}
template <class T>
HEDDLE_TILE auto element_of(column_ref<T> const& o, index_t row, index_t) {
  return widen(o.data[row * o.stride]);
}
template <class T, class Index>
HEDDLE_TILE T element_of(one_hot_ref<T, Index> const& o, index_t row, index_t column) {
  return o.hot_column(row) == column ? T(1) : T(0);
}
HEDDLE_DEVICE_PASS_QUIET
template <class Source>
HEDDLE_TILE auto element_of(lazy_ref<Source> const& o, index_t row, index_t column) {
  return widen(o.source(o.base + row * o.columns + column));
}
template <class T, int Rows>
HEDDLE_TILE T element_of(column<T, Rows> const& o, index_t row, index_t) {
  return o.at[row];
}
template <class T, int Rows, int Columns>
HEDDLE_TILE T element_of(storage<T, Rows, Columns> const& o, index_t row, index_t column) {
  return o.at[row * storage<T, Rows, Columns>::pitch + column];
}

template <class T, class V>
HEDDLE_TILE void put_element(matrix_ref<T> const& o, index_t row, index_t column, V value) {
  o.data[row * o.row_stride + column * o.column_stride] = static_cast<T>(value);
}
template <class T, int Rows, int Columns, class V>
HEDDLE_TILE void put_element(storage<T, Rows, Columns>& o, index_t row, index_t column, V value) {
  o.at[row * storage<T, Rows, Columns>::pitch + column] = value;
}

}  // namespace detail
}  // namespace tile
}  // namespace heddle
