// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/mesh/placement.hpp>

/// @file
/// The sizes of the five mesh axes and the arithmetic between ranks and coordinates. Needs no communicator.

namespace heddle {

/// Where a rank stands on each axis.
struct coordinates {
  int at[num_axes] = {};

  template <mesh_axis A>
  HEDDLE_HD_FN constexpr int on() const noexcept {
    return at[A::position];
  }
  HEDDLE_HD_FN friend constexpr bool operator==(coordinates const& a, coordinates const& b) noexcept {
    for (std::size_t i = 0; i < num_axes; ++i)
      if (a.at[i] != b.at[i]) return false;
    return true;
  }
};

/// The sizes of the axes <pp, dp, cp, tp, ep>, known at run time: `axes{.dp = 2, .pp = 2}` in declaration order.
///
/// Meaning: rank = (((pp·DP + dp)·CP + cp)·TP + tp)·EP + ep, so ep moves fastest. Pre: every size >= 1.
struct axes {
  int pp = 1;
  int dp = 1;
  int cp = 1;
  int tp = 1;
  int ep = 1;

  HEDDLE_HD_FN constexpr int size(std::size_t position) const noexcept {
    return position == 0 ? pp : position == 1 ? dp : position == 2 ? cp : position == 3 ? tp : ep;
  }
  template <mesh_axis A>
  HEDDLE_HD_FN constexpr int size() const noexcept {
    return size(A::position);
  }

  /// The number of ranks that the mesh needs. Pre: every size >= 1.
  HEDDLE_HD_FN constexpr int ranks() const {
    index_t n = 1;
    for (std::size_t i = 0; i < num_axes; ++i) {
      HEDDLE_EXPECTS(size(i) >= 1, "every mesh axis has at least one coordinate", i, size(i));
      n *= size(i);
      HEDDLE_EXPECTS(n <= 0x7fffffff, "a mesh has at most 2^31 - 1 ranks", n);
    }
    return static_cast<int>(n);
  }

  /// Pre: 0 <= rank < ranks().
  HEDDLE_HD_FN constexpr coordinates coordinates_of(int rank) const {
    HEDDLE_EXPECTS(rank >= 0 && rank < ranks(), "the rank must be on the mesh", rank, ranks());
    coordinates c{};
    for (std::size_t i = num_axes; i-- > 0; rank /= size(i)) c.at[i] = rank % size(i);
    return c;
  }

  /// Pre: each coordinate lies on its axis.
  HEDDLE_HD_FN constexpr int rank_of(coordinates const& c) const {
    int rank = 0;
    for (std::size_t i = 0; i < num_axes; ++i) {
      HEDDLE_EXPECTS(c.at[i] >= 0 && c.at[i] < size(i), "a coordinate must lie on its axis", i, c.at[i], size(i));
      rank = rank * size(i) + c.at[i];
    }
    return rank;
  }

  /// The rank that differs from `rank` only in its coordinate on A.
  template <mesh_axis A>
  HEDDLE_HD_FN constexpr int with(int rank, int coordinate) const {
    coordinates c = coordinates_of(rank);
    c.at[A::position] = coordinate;
    return rank_of(c);
  }

  /// The group that shares all coordinates but those on A...: its lowest rank, which serves as colour of a split.
  template <mesh_axis... A>
  HEDDLE_HD_FN constexpr int color(int rank) const {
    coordinates c = coordinates_of(rank);
    ((c.at[A::position] = 0), ...);
    return rank_of(c);
  }

  /// The rank inside that group: the coordinates on A..., outermost axis first whatever the order they are named in.
  template <mesh_axis... A>
  HEDDLE_HD_FN constexpr int key(int rank) const {
    coordinates const c = coordinates_of(rank);
    int k = 0;
    for (std::size_t i = 0; i < num_axes; ++i)
      if (((A::position == i) || ...)) k = k * size(i) + c.at[i];
    return k;
  }

  /// Whether the rank has coordinate 0 on every one of A...: the one that counts and writes what is replicated there.
  template <mesh_axis... A>
  HEDDLE_HD_FN constexpr bool leads(int rank) const {
    return key<A...>(rank) == 0;
  }
};

}  // namespace heddle
