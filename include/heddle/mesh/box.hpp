// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/mesh/placement.hpp>

/// @file
/// Boxes in the index space of a logical tensor: half-open ranges, one per dimension. Every shard, checkpoint piece
/// and optimizer segment is one. Empty boxes are legal everywhere.

namespace heddle {

/// A half-open range of indices. Units: elements.
struct segment {
  index_t lo = 0;
  index_t hi = 0;

  HEDDLE_HD_FN constexpr index_t size() const noexcept { return hi - lo; }
  HEDDLE_HD_FN constexpr bool empty() const noexcept { return hi <= lo; }
  HEDDLE_HD_FN friend constexpr bool operator==(segment const& a, segment const& b) noexcept {
    return a.lo == b.lo && a.hi == b.hi;
  }
};

/// The rank of a box that is known only at run time; such a box has at most 8 dimensions.
inline constexpr std::size_t any_rank = static_cast<std::size_t>(-1);
inline constexpr std::size_t max_rank = 8;

namespace detail {
template <std::size_t Rank>
struct box_rank {
  static constexpr std::size_t capacity = Rank == 0 ? 1 : Rank;
  HEDDLE_HD_FN constexpr box_rank() noexcept {}
  HEDDLE_HD_FN constexpr std::size_t rank() const noexcept { return Rank; }
  HEDDLE_HD_FN constexpr void set_rank(std::size_t) noexcept {}
};
template <>
struct box_rank<any_rank> {
  static constexpr std::size_t capacity = max_rank;
  std::size_t rank_ = 0;
  HEDDLE_HD_FN constexpr box_rank() noexcept {}
  HEDDLE_HD_FN constexpr std::size_t rank() const noexcept { return rank_; }
  HEDDLE_HD_FN constexpr void set_rank(std::size_t r) {
    HEDDLE_EXPECTS(r <= max_rank, "a run-time box has at most eight dimensions", r);
    rank_ = r;
  }
};
}  // namespace detail

/// The product of half-open ranges [lo[d], hi[d]).
///
/// Units: elements. Post: rank 0 is a scalar, of size 1. A box is empty when one of its ranges is.
template <std::size_t Rank>
struct box : detail::box_rank<Rank> {
  index_t lo[detail::box_rank<Rank>::capacity] = {};
  index_t hi[detail::box_rank<Rank>::capacity] = {};

  HEDDLE_HD_FN constexpr box() noexcept {}

  HEDDLE_HD_FN constexpr index_t extent(std::size_t d) const noexcept { return hi[d] > lo[d] ? hi[d] - lo[d] : 0; }
  HEDDLE_HD_FN constexpr index_t size() const noexcept {
    if (empty()) return 0;  // first, because the other extents may be too large to multiply
    index_t n = 1;
    for (std::size_t d = 0; d < this->rank(); ++d) n *= extent(d);
    return n;
  }
  HEDDLE_HD_FN constexpr bool empty() const noexcept {
    for (std::size_t d = 0; d < this->rank(); ++d)
      if (hi[d] <= lo[d]) return true;
    return false;
  }

  HEDDLE_HD_FN friend constexpr bool operator==(box const& a, box const& b) noexcept {
    if (a.rank() != b.rank()) return false;
    for (std::size_t d = 0; d < a.rank(); ++d)
      if (a.lo[d] != b.lo[d] || a.hi[d] != b.hi[d]) return false;
    return true;
  }
};

using any_box = box<any_rank>;

/// A box from its two corners. Pre: one lo and one hi per dimension, lo <= hi.
template <std::size_t Rank>
  requires(Rank > 0)
HEDDLE_HD_FN constexpr box<Rank> make_box(index_t const (&lo)[Rank], index_t const (&hi)[Rank]) {
  box<Rank> b;
  for (std::size_t d = 0; d < Rank; ++d) {
    HEDDLE_EXPECTS(lo[d] <= hi[d], "a box must not end before it begins", d, lo[d], hi[d]);
    b.lo[d] = lo[d];
    b.hi[d] = hi[d];
  }
  return b;
}

/// All of an index space.
template <index_t... E>
HEDDLE_HD_FN constexpr auto whole(extents<E...> const& e) {
  box<sizeof...(E)> b;
  for (std::size_t d = 0; d < sizeof...(E); ++d) b.hi[d] = e[d];
  return b;
}
HEDDLE_HD_FN constexpr any_box whole(index_t const* sizes, std::size_t rank) {
  any_box b;
  b.set_rank(rank);
  for (std::size_t d = 0; d < rank; ++d) b.hi[d] = sizes[d];
  return b;
}

/// The same box with a run-time rank.
template <std::size_t Rank>
HEDDLE_HD_FN constexpr any_box erase_rank(box<Rank> const& b) {
  any_box out;
  out.set_rank(b.rank());
  for (std::size_t d = 0; d < b.rank(); ++d) {
    out.lo[d] = b.lo[d];
    out.hi[d] = b.hi[d];
  }
  return out;
}

/// What lies in both. Post: where they do not meet, an empty box. Pre: equal ranks.
template <std::size_t Rank>
HEDDLE_HD_FN constexpr box<Rank> intersect(box<Rank> const& a, box<Rank> const& b) {
  HEDDLE_EXPECTS(a.rank() == b.rank(), "boxes of different rank never meet", a.rank(), b.rank());
  box<Rank> out;
  out.set_rank(a.rank());
  for (std::size_t d = 0; d < a.rank(); ++d) {
    out.lo[d] = a.lo[d] > b.lo[d] ? a.lo[d] : b.lo[d];
    index_t const end = a.hi[d] < b.hi[d] ? a.hi[d] : b.hi[d];
    out.hi[d] = end > out.lo[d] ? end : out.lo[d];
  }
  return out;
}

/// Whether every element of `inner` is one of `outer`; true for an empty `inner`.
template <std::size_t Rank>
HEDDLE_HD_FN constexpr bool contains(box<Rank> const& outer, box<Rank> const& inner) {
  HEDDLE_EXPECTS(outer.rank() == inner.rank(), "boxes of different rank do not compare", outer.rank(), inner.rank());
  if (inner.empty()) return true;
  for (std::size_t d = 0; d < outer.rank(); ++d)
    if (inner.lo[d] < outer.lo[d] || inner.hi[d] > outer.hi[d]) return false;
  return true;
}

/// The range of coordinate `part` when `n` elements are cut in `parts`.
///
/// Pre: n >= 0, parts >= 1, 0 <= part < parts. Post: the ranges are disjoint, ascending and cover [0, n); some may be
/// empty. Complexity: O(1).
template <class Layout = layout::balanced>
HEDDLE_HD_FN constexpr segment cut(index_t n, index_t parts, index_t part) {
  static_assert(cuttable_layout<Layout>,
                "this layout has no single range per coordinate: use layout::balanced or layout::ceil");
  HEDDLE_EXPECTS(n >= 0 && parts >= 1 && part >= 0 && part < parts, "a cut needs 0 <= part < parts", n, parts, part);
  if constexpr (std::is_same_v<Layout, layout::ceil>) {
    index_t const chunk = n / parts + (n % parts != 0);
    index_t const lo = chunk * part < n ? chunk * part : n;
    return {lo, lo + chunk < n ? lo + chunk : n};
  } else {
    index_t const base = n / parts, rest = n % parts;
    index_t const lo = part * base + (part < rest ? part : rest);
    return {lo, lo + base + (part < rest)};
  }
}

/// The coordinate that holds element `i` of `n` cut in `parts`. Pre: 0 <= i < n.
template <class Layout = layout::balanced>
HEDDLE_HD_FN constexpr index_t owner_of(index_t n, index_t parts, index_t i) {
  static_assert(cuttable_layout<Layout>,
                "this layout has no single range per coordinate: use layout::balanced or layout::ceil");
  HEDDLE_EXPECTS(i >= 0 && i < n && parts >= 1, "the element must exist", i, n, parts);
  if constexpr (std::is_same_v<Layout, layout::ceil>) return i / (n / parts + (n % parts != 0));
  index_t const base = n / parts, rest = n % parts, border = rest * (base + 1);
  return i < border ? i / (base + 1) : rest + (i - border) / base;
}

/// The part of a box that one coordinate holds when dimension `dim` is sharded. Cutting twice nests.
template <class Layout = layout::balanced, std::size_t Rank>
HEDDLE_HD_FN constexpr box<Rank> shard_of(box<Rank> const& b, std::size_t dim, index_t parts, index_t part) {
  HEDDLE_EXPECTS(dim < b.rank(), "a shard names a dimension of the tensor", dim, b.rank());
  segment const s = cut<Layout>(b.extent(dim), parts, part);
  box<Rank> out = b;
  out.lo[dim] = b.lo[dim] + s.lo;
  out.hi[dim] = b.lo[dim] + s.hi;
  return out;
}

/// The box of a coordinate of a mesh axis on which a tensor is placed as P: a range of a shard, all otherwise.
template <at_rest_placement P, std::size_t Rank>
HEDDLE_HD_FN constexpr box<Rank> placed(box<Rank> const& b, index_t parts, index_t part) {
  if constexpr (detail::is_shard<P>)
    return shard_of<typename P::layout>(b, P::dim, parts, part);
  else
    return b;
}

}  // namespace heddle
