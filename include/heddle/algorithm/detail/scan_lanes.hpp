// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/detail/source.hpp>
#include <heddle/core/monoid.hpp>

/// @file
/// The running values of a block in vectors of 16, with the bits of block_scan.

namespace heddle {
namespace detail {

template <class M>
inline constexpr bool scans_in_groups = false;
template <std::floating_point T>
inline constexpr bool scans_in_groups<plus<T>> = true;

/// Whether groups of 16 may go in vectors: they do by definition, or the order leaves no trace.
template <class M, class Source>
inline constexpr bool scans_in_lanes = false;
template <class M, class Source>
  requires(is_lanewise<M>&& Source::in_lanes)
inline constexpr bool scans_in_lanes<M, Source> =
    (scans_in_groups<M> || (M::commutative && M::exact)) && sizeof(typename M::value_type) >= 4 &&
    std::is_same_v<tile::value_t<typename Source::value_type>, typename M::value_type>;

/// What combined from the left changes no bit: -0 for sums of floats, where the identity would change -0.
template <class M>
HEDDLE_HD_FN typename M::value_type no_change(M const& m) {
  if constexpr (scans_in_groups<M>)
    return -m.identity();
  else
    return m.identity();
}

template <class V>
HEDDLE_TILE V settled_lanes(V const& v) {
  if constexpr (std::floating_point<lane_t<V>>)
    return select(v == v, v, V::splat(canonical_nan<lane_t<V>>()));
  else
    return v;
}

template <class Isa, class M, class Source>
struct lane_scan {
  using value = typename M::value_type;
  static constexpr int group = 16;
  static constexpr int registers = Isa::template lanes<value> < group ? Isa::template lanes<value> : group;
  using V = vec<value, group, registers>;

  M m;
  Source const& source;
  V so_far;  // the groups before, in every lane

  HEDDLE_TILE lane_scan(M const& monoid, Source const& from)
      : m(monoid), source(from), so_far(V::splat(no_change(monoid))) {}

  // Every lane i >= d adds, on the left, lane i - d of the step before.
  HEDDLE_TILE V inside(V const& group_values) const {
    value const none = no_change(m);
    V x = m.combine(lanes_up<1>(group_values, none), group_values);
    x = m.combine(lanes_up<2>(x, none), x);
    x = m.combine(lanes_up<4>(x, none), x);
    return m.combine(lanes_up<8>(x, none), x);
  }
  /// The running values of the group at i, of which `left` elements are there.
  HEDDLE_TILE V next(index_t i, index_t left) {
    V const local =
        inside(HEDDLE_LIKELY(left >= group) ? source.template lanes<V>(i) : source.template lanes<V>(i, left));
    V const result = m.combine(so_far, local);
    // The chain from group to group is this one combination; the bits are those of the last lane of the result.
    so_far = m.combine(so_far, V::splat(local.lane[group - 1]));
    return result;
  }

  /// The last running value of n elements from `first` on. Pre: n >= 1.
  HEDDLE_TILE value total(index_t first, index_t n) {
    V last = so_far;
    for (index_t e = 0; e < n; e += group) last = next(first + e, n - e);
    return last.lane[(n - 1) % group];
  }
  /// out = the running values, behind a carry if there is one, or one element later.
  template <class Out>
  HEDDLE_TILE void values(index_t first, index_t n, Out* out, value carry, bool carried, bool exclusive) {
    V const from = V::splat(carried ? carry : no_change(m));
    value before = carry;
    for (index_t e = 0; e < n; e += group) {
      index_t const left = n - e;
      V v = m.combine(from, next(first + e, left));
      if (exclusive) {
        value const last = v.lane[group - 1];
        v = lanes_up<1>(v, before);
        before = last;
      }
      if (HEDDLE_LIKELY(left >= group))
        store_as(out + e, settled_lanes(v));
      else
        store_as(out + e, settled_lanes(v), left);
    }
  }
};

}  // namespace detail
}  // namespace heddle
