// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/tensor_view.hpp>

#include <concepts>

/// @file
/// How to cut segments of any lengths into pieces of equal work: pure functions of the offsets, for schedulers.

namespace heddle {

/// A place on the way through all segments: so many segments are over, and so many items.
struct merge_path_point {
  index_t segment, item;

  HEDDLE_HD_FN constexpr bool operator==(merge_path_point const& o) const noexcept {
    return segment == o.segment && item == o.item;
  }
};

/// Where the way is after `diagonal` steps. A step is an item, or the end of a segment whose items are all done.
///
/// Shapes: n + 1 offsets for n segments. Pre: offsets start at 0 and never fall; 0 <= diagonal <= n + offsets(n).
/// Errors: contract_error for another diagonal, or no offset at all; that offsets rise is not looked at.
/// Post: segment + item == diagonal; items of segments before `segment` are done, and item <= offsets(segment + 1).
/// Complexity: log(n).
/// Source: the merge-path search of Green, McColl and Bader (2012), as a load-balancing schedule.
template <vector_view Offsets>
requires std::signed_integral<typename Offsets::value_type> HEDDLE_HD_FN constexpr merge_path_point merge_path_split(
    Offsets const& offsets, index_t diagonal) {
  index_t const n = offsets.extent(0) - 1, step = offsets.stride(0);
  HEDDLE_EXPECTS(n >= 0, "n segments have n + 1 offsets", n);
  auto const* const at = offsets.data();
  index_t const items = static_cast<index_t>(at[n * step]);
  HEDDLE_EXPECTS(diagonal >= 0 && diagonal <= n + items, "a diagonal counts steps from 0 to the last one", diagonal, n,
                 items);
  // Segment s is over after s + 1 + offsets(s + 1) steps: those that are over by now are counted.
  index_t lo = diagonal > items ? diagonal - items : 0, hi = diagonal < n ? diagonal : n;
  while (lo < hi) {
    index_t const mid = lo + (hi - lo) / 2;
    if (mid + 1 + static_cast<index_t>(at[(mid + 1) * step]) <= diagonal)
      lo = mid + 1;
    else
      hi = mid;
  }
  return {lo, diagonal - lo};
}

/// Where piece `piece` of `pieces` begins; piece + 1 begins where it ends. All have the same number of steps, but the
/// last ones, which may have fewer or none.
///
/// Pre: as merge_path_split; 0 <= piece <= pieces, pieces >= 1. Errors: contract_error.
template <vector_view Offsets>
requires std::signed_integral<typename Offsets::value_type> HEDDLE_HD_FN constexpr merge_path_point merge_path_piece(
    Offsets const& offsets, index_t pieces, index_t piece) {
  index_t const n = offsets.extent(0) - 1;
  HEDDLE_EXPECTS(n >= 0, "n segments have n + 1 offsets", n);
  HEDDLE_EXPECTS(piece >= 0 && piece <= pieces && pieces >= 1, "a piece is one of at least one", piece, pieces);
  index_t const steps = n + static_cast<index_t>(offsets.data()[n * offsets.stride(0)]);
  index_t const share = steps / pieces + (steps % pieces != 0);
  return merge_path_split(offsets, share > 0 && piece > steps / share ? steps : piece * share);
}

}  // namespace heddle
