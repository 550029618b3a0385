// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/tile/operand.hpp>
#include <heddle/tile/vec.hpp>

/// @file
/// How one row of an operand is read and written in vectors. A reader has `at(c)`, the vector of columns c, c + 1, ...
/// and `part(c, n)`, which touches only the first n of them.

namespace heddle {
namespace tile {
namespace detail {

/// The vector of W lanes that a function for Isa works on; W may be less than a register.
template <class Isa, class T, int W>
using lanes_vec = vec<T, W, (W < Isa::template lanes<T> ? W : Isa::template lanes<T>)>;

template <class V, class T>
struct row_reader {
  T const* p;
  HEDDLE_SHIM V at(index_t c) const { return load_as<V>(p + c); }
  HEDDLE_SHIM V part(index_t c, index_t n) const { return load_as<V>(p + c, n); }
};
template <class V>
struct same_reader {
  V value;
  HEDDLE_SHIM V const& at(index_t) const { return value; }
  HEDDLE_SHIM V const& part(index_t, index_t) const { return value; }
};
template <class V>
struct hot_reader {
  index_t column;
  HEDDLE_SHIM V at(index_t c) const {
    index_t const i = column - c;
    V r = V::zero();
    if (__builtin_expect(i < 0 || i >= V::width, 1)) return r;
    r.lane[i] = lane_t<V>(1);
    return r;
  }
  HEDDLE_SHIM V part(index_t c, index_t) const { return at(c); }
};

// The reader of row r, by kind of operand. W lanes in registers of Isa.
template <class Isa, int W, class T>
HEDDLE_SHIM auto reader(matrix_ref<T> const& o, index_t r) {
  return row_reader<lanes_vec<Isa, value_t<T>, W>, std::remove_const_t<T>>{o.data + r * o.row_stride};
}
template <class Isa, int W, class T>
HEDDLE_SHIM auto reader(row_ref<T> const& o, index_t) {
  return row_reader<lanes_vec<Isa, value_t<T>, W>, std::remove_const_t<T>>{o.data};
}
template <class Isa, int W, class T>
HEDDLE_SHIM auto reader(column_ref<T> const& o, index_t r) {
  using V = lanes_vec<Isa, value_t<T>, W>;
  return same_reader<V>{V::splat(widen(o.data[r * o.stride]))};
}
template <class Isa, int W, class T, class Index>
HEDDLE_SHIM auto reader(one_hot_ref<T, Index> const& o, index_t r) {
  return hot_reader<lanes_vec<Isa, T, W>>{o.hot_column(r)};
}
template <class Isa, int W, class T, int Rows>
HEDDLE_SHIM auto reader(column<T, Rows> const& o, index_t r) {
  using V = lanes_vec<Isa, T, W>;
  return same_reader<V>{V::splat(o.at[r])};
}
template <class Isa, int W, class T, int Rows, int Columns>
HEDDLE_SHIM auto reader(storage<T, Rows, Columns> const& o, index_t r) {
  return row_reader<lanes_vec<Isa, T, W>, T>{o.at + r * storage<T, Rows, Columns>::pitch};
}

template <class T>
HEDDLE_SHIM T* row_of(matrix_ref<T> const& o, index_t r) {
  return o.data + r * o.row_stride;
}
template <class T, int Rows, int Columns>
HEDDLE_SHIM T* row_of(storage<T, Rows, Columns>& o, index_t r) {
  return o.at + r * storage<T, Rows, Columns>::pitch;
}

/// Lanes that all of these operands share: a register of the widest number among them.
template <class Isa, class... O>
inline constexpr int lanes_for = [] {
  std::size_t widest = 1;
  ((widest = sizeof(value_t<typename O::element>) > widest ? sizeof(value_t<typename O::element>) : widest), ...);
  return Isa::register_bytes / static_cast<int>(widest);
}();

}  // namespace detail
}  // namespace tile
}  // namespace heddle
