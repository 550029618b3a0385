// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/extents.hpp>

namespace heddle {

/// The segment that holds an item: the last one of `count` that begins at or before it. begin(s) is where segment s
/// begins. Segments without items hold none; an item past the end of the last segment is that one's as well.
///
/// Pre: count >= 1, begin never falls, begin(0) <= item. Post: 0 <= result < count.
/// Complexity: log2(count) calls of begin, none of begin(0).
HEDDLE_DEVICE_PASS_QUIET
template <class Begin>
HEDDLE_HD_FN constexpr index_t segment_of(index_t count, index_t item, Begin const& begin) {
  index_t lo = 0, hi = count;
  while (hi - lo > 1) {
    index_t const middle = lo + (hi - lo) / 2;
    (begin(middle) <= item ? lo : hi) = middle;
  }
  return lo;
}

}  // namespace heddle
