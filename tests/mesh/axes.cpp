// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/mesh/axes.hpp>

#include <support/catch.hpp>

#include <vector>

using namespace heddle;

TEST_CASE("ranks and coordinates map onto each other", "[mesh]") {
  axes const mesh{2, 3, 1, 2, 2};
  REQUIRE(mesh.ranks() == 24);
  for (int r = 0; r < mesh.ranks(); ++r) CHECK(mesh.rank_of(mesh.coordinates_of(r)) == r);
  coordinates const c = mesh.coordinates_of(17);
  CHECK((c.on<axis::pp>() == 1 && c.on<axis::dp>() == 1 && c.on<axis::cp>() == 0));
  CHECK((c.on<axis::tp>() == 0 && c.on<axis::ep>() == 1));
  CHECK_THROWS_AS(mesh.coordinates_of(24), contract_error);
  CHECK_THROWS_AS((axes{0}.ranks()), contract_error);
}

TEST_CASE("groups of an axis partition the mesh", "[mesh]") {
  axes const mesh{2, 2, 1, 3, 1};
  std::vector<int> seen(12, 0);
  for (int r = 0; r < 12; ++r) {
    int const color = mesh.color<axis::tp>(r), key = mesh.key<axis::tp>(r);
    CHECK(mesh.with<axis::tp>(color, key) == r);
    ++seen[static_cast<std::size_t>(color)];
    CHECK((mesh.color<axis::pp, axis::dp>(r)) == r % 3);
    CHECK((mesh.key<axis::dp, axis::pp>(r)) == r / 3);
    CHECK(mesh.key<axis::cp>(r) == 0);
    CHECK(mesh.color<axis::cp>(r) == r);
    CHECK(mesh.leads<axis::tp>(r) == (key == 0));
  }
  for (int r = 0; r < 12; ++r) CHECK(seen[static_cast<std::size_t>(r)] == (r % 3 == 0 ? 3 : 0));
  CHECK((mesh.color<>(5) == 5 && mesh.key<>(5) == 0));
}
