// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/comm/transport/thread.hpp>
#include <heddle/mesh/mesh.hpp>
#include <heddle/mesh/placement.hpp>

#include <support/catch.hpp>

using namespace heddle;

namespace {
/// The members of a communicator that a mesh needs and nothing else: a group of one.
struct alone {
  int rank() const { return 0; }
  int size() const { return 1; }
  alone split(int, int) { return {}; }
};
struct without_split {
  int rank() const;
  int size() const;
};
struct stuck : alone {
  stuck(stuck&&) = delete;
};
struct no_axis {};
}  // namespace

TEST_CASE("placements and axes are a closed set", "[mesh]") {
  STATIC_REQUIRE((placement<replicated> && placement<shard<0>> && placement<partial<red::sum>> && placement<resident>));
  STATIC_REQUIRE((!placement<int> && !placement<axis::pp>));
  STATIC_REQUIRE((at_rest_placement<shard<1>> && !at_rest_placement<varying> && !at_rest_placement<partial<red::sum>>));
  STATIC_REQUIRE((has_dual<varying> && !has_dual<partial<red::max>>));
  STATIC_REQUIRE((mesh_axis<axis::tp> && !mesh_axis<no_axis>));
  STATIC_REQUIRE((placement_spec<spec<resident, varying>> && !placement_spec<resident>));
  STATIC_REQUIRE((at_rest_spec<spec<resident, replicated>> && !at_rest_spec<spec<resident, varying>>));
  STATIC_REQUIRE((cuttable_layout<layout::balanced> && !cuttable_layout<layout::cyclic>));
}

TEST_CASE("a communicator of the minimum members serves a mesh", "[mesh]") {
  STATIC_REQUIRE((splittable_communicator<thread_communicator> && splittable_communicator<alone>));
  STATIC_REQUIRE((!splittable_communicator<without_split> && !splittable_communicator<stuck>));
  alone world;
  mesh<alone> m(world, {});
  CHECK(m.group<axis::dp>().size() == 1);
}
