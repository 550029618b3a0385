// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/pipeline/layer_partition.hpp>
#include <support/catch.hpp>

namespace pl = heddle::pipeline;

namespace {
std::vector<int> sizes(int layers, int stages) {
  std::vector<int> n;
  for (pl::layer_range const& r : pl::partition(layers, stages)) n.push_back(r.size());
  return n;
}
}  // namespace

TEST_CASE("the first stages take the remainder", "[pipeline]") {
  CHECK(sizes(11, 4) == std::vector<int>{3, 3, 3, 2});
  CHECK(sizes(20, 8) == std::vector<int>{3, 3, 3, 3, 2, 2, 2, 2});
  CHECK(sizes(3, 4) == std::vector<int>{1, 1, 1, 0});
  CHECK(sizes(0, 3) == std::vector<int>{0, 0, 0});
  CHECK(sizes(5, 1) == std::vector<int>{5});
}

TEST_CASE("every layer lies on exactly one stage", "[pipeline]") {
  for (int layers = 0; layers <= 40; ++layers)
    for (int stages = 1; stages <= 9; ++stages) {
      int next = 0;
      for (int v = 0; v < stages; ++v) {
        pl::layer_range const r = pl::partition(layers, stages, v);
        CHECK(r.lo == next);
        CHECK(r.hi >= r.lo);
        CHECK(r == pl::partition(layers, stages)[static_cast<std::size_t>(v)]);
        next = r.hi;
      }
      CHECK(next == layers);
    }
  static_assert(pl::partition(11, 4, 3).lo == 9);
}

TEST_CASE("a partition of nothing over nothing is refused", "[pipeline]") {
  CHECK_THROWS_AS(pl::partition(4, 0), heddle::contract_error);
  CHECK_THROWS_AS(pl::partition(-1, 2, 0), heddle::contract_error);
  CHECK_THROWS_AS(pl::partition(4, 2, 2), heddle::contract_error);
}
