// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/tensor_view.hpp>
#include <heddle/tile/operand.hpp>
#include <heddle/tile/vec.hpp>

/// @file
/// What lazy views and element-by-element programs read from: a vector in memory or another lazy view. A source has
/// `value_type`, `s(i)`, `extent(0)`, `bytes()`; where `in_lanes` holds and `unit()` says so, `lanes<V>(i)` gives the
/// elements i, i + 1, ... and `lanes<V>(i, n)` touches only the first n of them.

namespace heddle {
namespace detail {

/// Base of lazy views: what they have in common with a view of n elements.
struct lazy_base {
  index_t n;

  static HEDDLE_HD_FN constexpr std::size_t rank() noexcept { return 1; }
  HEDDLE_HD_FN index_t extent(std::size_t) const { return n; }
  HEDDLE_HD_FN dims<1> extents() const { return dims<1>(n); }
  HEDDLE_HD_FN index_t size() const { return n; }
  HEDDLE_HD_FN bool empty() const { return n == 0; }
  HEDDLE_HD_FN bool is_contiguous() const { return true; }
};
template <class V>
inline constexpr bool is_lazy = std::is_base_of_v<lazy_base, V>;

template <class T>
struct view_source {
  using value_type = T;
  static constexpr bool in_lanes = scalar<T>;
  T const* data;
  index_t n, stride;

  HEDDLE_HD_FN T operator()(index_t i) const { return data[i * stride]; }
  HEDDLE_HD_FN index_t extent(std::size_t) const { return n; }
  HEDDLE_HD_FN index_t bytes() const { return n * static_cast<index_t>(sizeof(T)); }
  HEDDLE_HD_FN bool unit() const { return stride == 1 || n <= 1; }
  template <class V>
  HEDDLE_TILE V lanes(index_t i) const {
    return load_as<V>(data + i);
  }
  template <class V>
  HEDDLE_TILE V lanes(index_t i, index_t count) const {
    return load_as<V>(data + i, count);
  }
};

/// Adjacent elements: what loops over single elements read faster than those with a stride.
template <class T>
struct adjacent_source {
  using value_type = T;
  T const* data;

  HEDDLE_HD_FN T operator()(index_t i) const { return data[i]; }
};
/// f(source), with the adjacent form where elements in memory lie so.
HEDDLE_DEVICE_PASS_QUIET
template <class Source, class F>
HEDDLE_HD_FN void with_adjacent(Source const& source, F const& f) {
  f(source);
}
HEDDLE_DEVICE_PASS_QUIET
template <class T, class F>
HEDDLE_HD_FN void with_adjacent(view_source<T> const& source, F const& f) {
  if (source.unit())
    f(adjacent_source<T>{source.data});
  else
    f(source);
}

template <vector_view V>
HEDDLE_HD_FN view_source<typename V::value_type> source_of(V const& v) {
  return {v.data(), v.extent(0), v.stride(0)};
}
template <class V>
  requires is_lazy<V> HEDDLE_HD_FN V source_of(V const& v) { return v; }
template <class V>
using source_t = decltype(source_of(std::declval<V const&>()));

// How many lanes are wanted of a source: all, or the first n.
struct all_lanes {};
struct first_lanes {
  index_t n;
};
template <class V, class S>
HEDDLE_TILE V lanes_of(S const& source, index_t i, all_lanes) {
  return source.template lanes<V>(i);
}
template <class V, class S>
HEDDLE_TILE V lanes_of(S const& source, index_t i, first_lanes count) {
  return source.template lanes<V>(i, count.n);
}
// The vector of a source's numbers that has as many lanes as V.
template <class V, class S>
using lanes_for_source = rebind_lanes<V, tile::value_t<typename S::value_type>>;

/// The second and later sources of a map, called behind the values that are there.
template <class... S>
struct map_sources;
template <>
struct map_sources<> {
  HEDDLE_HD_FN index_t bytes() const { return 0; }
  HEDDLE_HD_FN bool unit() const { return true; }
  HEDDLE_DEVICE_PASS_QUIET
  template <class F, class... A>
  HEDDLE_HD_FN auto call(F const& f, index_t, A const&... a) const {
    return f(a...);
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class V, class F, class Count, class... A>
  HEDDLE_TILE V call_lanes(F const& f, index_t, Count, A const&... a) const {
    return f(a...);
  }
};
template <class S, class... Rest>
struct map_sources<S, Rest...> {
  S source;
  map_sources<Rest...> rest;

  HEDDLE_HD_FN index_t bytes() const { return source.bytes() + rest.bytes(); }
  HEDDLE_HD_FN bool unit() const { return source.unit() && rest.unit(); }
  HEDDLE_DEVICE_PASS_QUIET
  template <class F, class... A>
  HEDDLE_HD_FN auto call(F const& f, index_t i, A const&... a) const {
    return rest.call(f, i, a..., tile::widen(source(i)));
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class V, class F, class Count, class... A>
  HEDDLE_TILE V call_lanes(F const& f, index_t i, Count count, A const&... a) const {
    return rest.template call_lanes<V>(f, i, count, a..., lanes_of<lanes_for_source<V, S>>(source, i, count));
  }
};

HEDDLE_HD_FN map_sources<> map_sources_of() { return {}; }
template <class V, class... Rest>
HEDDLE_HD_FN map_sources<source_t<V>, source_t<Rest>...> map_sources_of(V const& v, Rest const&... rest) {
  return {source_of(v), map_sources_of(rest...)};
}

}  // namespace detail
}  // namespace heddle
