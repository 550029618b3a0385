// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/mesh/box.hpp>

/// @file
/// Walks over boxes as memory: the contiguous runs of one row-major box inside others, and the boxes of a flat range.

namespace heddle {

/// The row-major position of a point inside a box that is stored whole. Pre: the point lies in the box.
template <std::size_t Rank>
HEDDLE_HD_FN constexpr index_t offset_in(box<Rank> const& stored, index_t const* point) noexcept {
  index_t at = 0;
  for (std::size_t d = 0; d < stored.rank(); ++d) at = at * stored.extent(d) + (point[d] - stored.lo[d]);
  return at;
}

/// Calls f(offset_in_src, offset_in_dst, length) for every run of `part` that is contiguous in both row-major boxes,
/// in ascending order.
///
/// Units: elements. Pre: both boxes contain `part`. Post: the lengths add up to part.size(); an empty part gives no
/// call. Complexity: one call per maximal run.
template <std::size_t Rank, class F>
HEDDLE_FN constexpr void for_each_run(box<Rank> const& part, box<Rank> const& src, box<Rank> const& dst, F&& f) {
  HEDDLE_EXPECTS(contains(src, part) && contains(dst, part), "a run must lie inside both boxes", part.size());
  if (part.empty()) return;
  std::size_t const rank = part.rank();
  // Dimensions from `outer` on form one run: below a dimension that both boxes hold whole, rows follow each other.
  std::size_t outer = rank;
  index_t length = 1;
  while (outer > 0) {
    --outer;
    length *= part.extent(outer);
    if (part.extent(outer) != src.extent(outer) || part.extent(outer) != dst.extent(outer)) break;
  }
  index_t point[max_rank > box<Rank>::capacity ? max_rank : box<Rank>::capacity] = {};
  for (std::size_t d = 0; d < rank; ++d) point[d] = part.lo[d];
  for (;;) {
    f(offset_in(src, point), offset_in(dst, point), length);
    std::size_t d = outer;
    while (d > 0 && ++point[d - 1] == part.hi[d - 1]) {
      point[d - 1] = part.lo[d - 1];
      --d;
    }
    if (d == 0) return;
  }
}

/// Calls f(box, offset) for the boxes, in ascending order, that make up the flat row-major range [range.lo, range.hi)
/// of an index space; offset counts from range.lo. A box is stored contiguously in that range.
///
/// Pre: the range lies inside the space. Post: at most 2·rank - 1 boxes; none for an empty range.
template <std::size_t Rank, class F>
HEDDLE_FN constexpr void for_each_box(box<Rank> const& space, segment range, F&& f) {
  HEDDLE_EXPECTS(range.lo >= 0 && range.hi <= space.size(), "a flat range must lie inside its tensor", range.lo,
                 range.hi, space.size());
  std::size_t const rank = space.rank();
  for (index_t at = range.lo; at < range.hi;) {
    // The widest step: whole blocks of the dimensions below d, for the smallest d whose blocks start here and fit.
    index_t block = 1;
    std::size_t d = rank;
    while (d > 1 && at % (block * space.extent(d - 1)) == 0 && at + block * space.extent(d - 1) <= range.hi)
      block *= space.extent(--d);
    box<Rank> b = space;
    index_t rest = at / block;
    index_t count = 1;
    for (std::size_t k = d; k-- > 0;) {
      index_t const i = rest % space.extent(k);
      rest /= space.extent(k);
      if (k + 1 == d) {
        index_t const fit = (range.hi - at) / block, left = space.extent(k) - i;
        count = fit < left ? fit : left;
      }
      b.lo[k] = space.lo[k] + i;
      b.hi[k] = b.lo[k] + (k + 1 == d ? count : 1);
    }
    f(b, at - range.lo);
    at += block * count;
  }
}

}  // namespace heddle
