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

template <class V, class Source>
struct lazy_reader {
  Source const& source;
  index_t base;
  HEDDLE_SHIM V at(index_t c) const { return source.template lanes<V>(base + c); }
  HEDDLE_SHIM V part(index_t c, index_t n) const { return source.template lanes<V>(base + c, n); }
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
template <class Isa, int W, class Source>
HEDDLE_SHIM auto reader(lazy_ref<Source> const& o, index_t r) {
  return lazy_reader<lanes_vec<Isa, value_t<typename Source::value_type>, W>, Source>{o.source,
                                                                                      o.base + r * o.columns};
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

// Whether an output is written past the caches.
template <class O>
HEDDLE_SHIM constexpr bool streams(O const&) {
  return false;
}
template <class T>
HEDDLE_SHIM bool streams(streamed_ref<T> const& o) {
  return o.stream;
}
/// Elements before the next address that a register may be streamed to.
template <class T>
HEDDLE_SHIM index_t elements_to_line(T const* p) {
  return static_cast<index_t>((64 - reinterpret_cast<std::uintptr_t>(p) % 64) % 64 / sizeof(T));
}
template <class T, class V>
HEDDLE_SHIM void put_lanes(T* p, V const& v, bool stream) {
  if constexpr (std::is_same_v<T, lane_t<V>>) {
    if (stream) return store_streaming(p, v);
  }
  store_as(p, v);
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
