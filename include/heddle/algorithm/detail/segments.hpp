// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/views.hpp>
#include <heddle/tile/canonical.hpp>

/// @file
/// Segments cut into blocks of 4096 elements, counted from the first element of each. A block belongs to the window of
/// 4096 elements of the whole input in which it begins, so that work is shared evenly whatever the segments are.

namespace heddle {
namespace detail {

/// Consecutive segments of a vector: segment s is [offsets(s), offsets(s + 1)).
template <class Offsets>
struct segments {
  static constexpr index_t block = tile::block_elements;

  Offsets offsets;
  index_t count, n;

  HEDDLE_HD_FN index_t begin(index_t s) const { return static_cast<index_t>(offsets(s)); }
  HEDDLE_HD_FN index_t end(index_t s) const { return static_cast<index_t>(offsets(s + 1)); }
  HEDDLE_HD_FN index_t windows() const { return tile::ceil_div(n, block); }

  /// Offsets start at 0, never fall, and end at n: all of it holds where it holds for every segment.
  HEDDLE_HD_FN void check(index_t s) const {
    HEDDLE_EXPECTS(begin(s) <= end(s), "offsets never fall", s, begin(s), end(s));
    HEDDLE_EXPECTS(s > 0 || begin(0) == 0, "offsets start at 0", begin(0));
    HEDDLE_EXPECTS(s + 1 < count || end(s) == n, "offsets end at the extent of the input", end(s), n);
  }

  /// Where the value of a block is kept that is not alone in its segment: of all blocks that begin in one window, at
  /// most one is the first of a longer segment and at most one is a later one.
  HEDDLE_HD_FN index_t slot(index_t s, index_t first) const {
    return 2 * (first / block) + (first == begin(s) ? 1 : 0);
  }
  HEDDLE_HD_FN index_t slots() const { return 2 * windows(); }

  /// Calls f(segment, first, end) for the blocks that begin in a window.
  HEDDLE_DEVICE_PASS_QUIET
  template <class F>
  HEDDLE_HD_FN void for_each_block(index_t window, F const& f) const {
    index_t const lo = window * block, hi = lo + block;
    for (index_t s = holder_of(lo); s < count && begin(s) < hi; ++s) {
      index_t const a = begin(s), b = end(s);
      index_t first = a >= lo ? a : a + tile::ceil_div(lo - a, block) * block;
      for (; first < hi && first < b; first += block) f(s, first, b - first < block ? b : first + block);
    }
  }

 private:
  // The first segment that ends behind an element.
  HEDDLE_HD_FN index_t holder_of(index_t element) const {
    index_t lo = 0, hi = count;
    while (lo < hi) {
      index_t const middle = lo + (hi - lo) / 2;
      if (end(middle) > element)
        hi = middle;
      else
        lo = middle + 1;
    }
    return lo;
  }
};

/// One block, in the order of reduce. Lanes that no element reaches hold the identity, and are left out of the tree.
/// Pre: 1 <= n <= 4096.
template <class M, class At>
HEDDLE_HD_FN typename M::value_type reduce_segment_block(M const& m, index_t n, At const& at) {
  using value = typename M::value_type;
  if constexpr (M::commutative) {
    value lanes[tile::lane_count];
    int used = n < tile::lane_count ? static_cast<int>(n) : tile::lane_count;
    for (int lane = 0; lane < used; ++lane) lanes[lane] = m.combine(m.identity(), at(lane));
    index_t e = used;
    for (; e + tile::lane_count <= n; e += tile::lane_count)
      for (int lane = 0; lane < tile::lane_count; ++lane) lanes[lane] = m.combine(lanes[lane], at(e + lane));
    for (int lane = 0; e < n; ++e, ++lane) lanes[lane] = m.combine(lanes[lane], at(e));
    for (; used > 1; used = (used + 1) / 2) {
      for (int i = 0; i < used / 2; ++i) lanes[i] = m.combine(lanes[2 * i], lanes[2 * i + 1]);
      if (used % 2 != 0) lanes[used / 2] = lanes[used - 1];
    }
    return lanes[0];
  } else {
    value v = at(0);
    for (index_t e = 1; e < n; ++e) v = m.combine(v, at(e));
    return v;
  }
}

}  // namespace detail
}  // namespace heddle
