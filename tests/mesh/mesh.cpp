// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/mesh/mesh.hpp>

#include <support/catch.hpp>

#include <utility>
#include <vector>

using namespace heddle;

namespace {
// The members that a mesh asks for and no more; splits are only written down, since one process plays one rank.
class written_down {
 public:
  written_down(int rank, int size, std::vector<std::pair<int, int>>* log) : rank_(rank), size_(size), log_(log) {}
  written_down(written_down&&) = default;
  written_down& operator=(written_down&&) = default;

  int rank() const { return rank_; }
  int size() const { return size_; }
  written_down split(int color, int key) {
    log_->emplace_back(color, key);
    return {key, -1, log_};
  }

 private:
  int rank_, size_;
  std::vector<std::pair<int, int>>* log_;
};
}  // namespace

TEST_CASE("a mesh splits its communicator once per axis and once for gradients", "[mesh]") {
  std::vector<std::pair<int, int>> log;
  axes const sizes{2, 3, 1, 2, 1};
  written_down world(7, 12, &log);
  mesh<written_down> m(world, sizes);
  // Rank 7 of pp2 dp3 tp2: coordinates (1, 0, 0, 1, 0).
  CHECK(log == std::vector<std::pair<int, int>>{{1, 1}, {7, 0}, {7, 0}, {6, 1}, {7, 0}, {7, 0}});
  CHECK((m.rank() == 7 && m.coordinate<axis::pp>() == 1 && m.coordinate<axis::dp>() == 0));
  CHECK((m.size<axis::dp>() == 3 && m.size<axis::ep>() == 1));
  CHECK(m.group<axis::pp>().rank() == 1);
  CHECK(m.data_group().rank() == 0);
  CHECK(&m.world() == &world);
  m.split<axis::pp, axis::dp>();
  CHECK(log.back() == std::pair<int, int>{1, 3});
  mesh<written_down> moved = std::move(m);
  CHECK(moved.group<axis::tp>().rank() == 1);
}

TEST_CASE("every rank of a group names the same color and its own key", "[mesh]") {
  axes const sizes{2, 2, 2, 1, 3};
  std::vector<std::vector<std::pair<int, int>>> logs(24);
  for (int r = 0; r < 24; ++r) {
    written_down world(r, 24, &logs[static_cast<std::size_t>(r)]);
    mesh<written_down> const m(world, sizes);
    CHECK(m.rank() == r);
  }
  std::vector<int> const group_size = {2, 2, 2, 1, 3, 4};
  for (std::size_t axis = 0; axis < 6; ++axis)
    for (auto const& one : logs) {
      std::vector<int> keys(static_cast<std::size_t>(group_size[axis]));
      for (auto const& other : logs)
        if (other[axis].first == one[axis].first) ++keys[static_cast<std::size_t>(other[axis].second)];
      CHECK(keys == std::vector<int>(keys.size(), 1));
    }
}

TEST_CASE("sizes that do not multiply to the number of ranks are refused", "[mesh]") {
  std::vector<std::pair<int, int>> log;
  written_down world(0, 4, &log);
  CHECK_THROWS_AS(mesh<written_down>(world, axes{3}), contract_error);
  CHECK_THROWS_AS(mesh<written_down>(world, axes{}), contract_error);
  CHECK(log.empty());
}
