// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/mesh/axes.hpp>

#include <concepts>
#include <utility>

namespace heddle {

/// What a mesh needs of a communicator.
/// Valid expressions: `c.rank()`, `c.size()`, `c.split(color, key)`. Meaning: split is collective and gives each color
/// >= 0 a communicator of its ranks, ordered by key. Models: every `communicator`.
template <class C>
concept splittable_communicator = std::movable<C> && requires(C& c, int n) {
  { c.rank() } -> std::convertible_to<int>;
  { c.size() } -> std::convertible_to<int>;
  { c.split(n, n) } -> std::same_as<C>;
};

/// The five named axes over the ranks of a communicator, with a communicator for the group of each axis.
///
/// Axes of size 1 have a group of one rank: the type is the same and nothing is sent, so one program serves every
/// degree. Memory: six communicators. Sync: construction is collective over `world`, which must outlive the mesh;
/// a group is used by the rules of its communicator.
template <splittable_communicator C>
class mesh {
 public:
  /// Pre: sizes.ranks() == world.size(); every rank passes the same sizes.
  HEDDLE_FN mesh(C& world, axes const& sizes)
      : world_(&world),
        sizes_(checked(world, sizes)),
        at_(sizes.coordinates_of(world.rank())),
        group_{split<axis::pp>(), split<axis::dp>(), split<axis::cp>(), split<axis::tp>(), split<axis::ep>()},
        data_(split<axis::dp, axis::cp>()) {}
  mesh(mesh const&) = delete;
  mesh& operator=(mesh const&) = delete;
  HEDDLE_FN mesh(mesh&&) noexcept = default;
  HEDDLE_FN mesh& operator=(mesh&&) noexcept = default;
  HEDDLE_FN ~mesh() = default;

  HEDDLE_FN axes const& sizes() const noexcept { return sizes_; }
  HEDDLE_FN coordinates const& at() const noexcept { return at_; }
  HEDDLE_FN int rank() const { return sizes_.rank_of(at_); }
  template <mesh_axis A>
  HEDDLE_FN int size() const noexcept {
    return sizes_.template size<A>();
  }
  /// The coordinate of this rank on A, which is its rank in group<A>().
  template <mesh_axis A>
  HEDDLE_FN int coordinate() const noexcept {
    return at_.template on<A>();
  }

  HEDDLE_FN C& world() const noexcept { return *world_; }
  /// The ranks that differ from this one only on A, in the order of their coordinates.
  template <mesh_axis A>
  HEDDLE_FN C& group() noexcept {
    return group_[A::position];
  }
  /// The ranks that differ only on dp and cp, the axes that cut tokens: what the gradient of a shared leaf is summed
  /// over.
  HEDDLE_FN C& data_group() noexcept { return data_; }
  /// A new group over any axes. Sync: collective over world().
  template <mesh_axis... A>
  HEDDLE_FN C split() {
    int const rank = sizes_.rank_of(at_);
    return world_->split(sizes_.template color<A...>(rank), sizes_.template key<A...>(rank));
  }

 private:
  static HEDDLE_FN axes const& checked(C& world, axes const& sizes) {
    HEDDLE_EXPECTS(sizes.ranks() == static_cast<int>(world.size()),
                   "the sizes of the mesh axes multiply to the number of ranks", sizes.pp, sizes.dp, sizes.cp, sizes.tp,
                   sizes.ep, static_cast<int>(world.size()));
    return sizes;
  }

  C* world_;
  axes sizes_;
  coordinates at_{};
  C group_[num_axes];
  C data_;
};

}  // namespace heddle
