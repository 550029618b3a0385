// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/mesh/box.hpp>

#include <support/catch.hpp>

#include <vector>

using namespace heddle;

namespace {
template <class Layout>
std::vector<index_t> sizes(index_t n, index_t parts) {
  std::vector<index_t> out;
  for (index_t p = 0; p < parts; ++p) out.push_back(cut<Layout>(n, parts, p).size());
  return out;
}
using v = std::vector<index_t>;
}  // namespace

TEST_CASE("uneven cuts have the sizes of both layouts", "[mesh]") {
  using layout::balanced;
  using layout::ceil;
  CHECK(sizes<balanced>(7, 5) == v{2, 2, 1, 1, 1});
  CHECK(sizes<balanced>(6, 4) == v{2, 2, 1, 1});
  CHECK(sizes<balanced>(1, 2) == v{1, 0});
  CHECK(sizes<balanced>(5, 4) == v{2, 1, 1, 1});
  CHECK(sizes<balanced>(20, 8) == v{3, 3, 3, 3, 2, 2, 2, 2});
  CHECK(sizes<balanced>(10, 4) == v{3, 3, 2, 2});
  CHECK(sizes<ceil>(7, 5) == v{2, 2, 2, 1, 0});
  CHECK(sizes<ceil>(6, 4) == v{2, 2, 2, 0});
  CHECK(sizes<ceil>(1, 2) == v{1, 0});
  CHECK(sizes<ceil>(20, 8) == v{3, 3, 3, 3, 3, 3, 2, 0});
  CHECK(sizes<ceil>(3, 4) == v{1, 1, 1, 0});
}

TEMPLATE_TEST_CASE("a cut covers every element once, and its owner finds it", "[mesh]", layout::balanced,
                   layout::ceil) {
  int wrong = 0;
  for (index_t parts = 1; parts <= 8; ++parts)
    for (index_t n = 0; n <= 4 * parts + 1; ++n) {
      index_t at = 0;
      for (index_t p = 0; p < parts; ++p) {
        segment const s = cut<TestType>(n, parts, p);
        wrong += s.lo != at || s.hi < s.lo;
        for (index_t i = s.lo; i < s.hi; ++i) wrong += owner_of<TestType>(n, parts, i) != p;
        at = s.hi;
      }
      wrong += at != n;
    }
  CHECK(wrong == 0);
  CHECK_THROWS_AS(cut<TestType>(4, 0, 0), contract_error);
  CHECK_THROWS_AS(cut<TestType>(4, 2, 2), contract_error);
}

TEST_CASE("cutting a dimension twice nests", "[mesh]") {
  auto const all = whole(dims<1>(10));
  v nested;
  for (index_t a = 0; a < 2; ++a)
    for (index_t b = 0; b < 2; ++b) nested.push_back(shard_of(shard_of(all, 0, 2, a), 0, 2, b).size());
  CHECK(nested == v{3, 2, 3, 2});
  CHECK(shard_of(shard_of(all, 0, 2, 1), 0, 2, 0) == make_box({5}, {8}));
}

TEST_CASE("a mean over an uneven cut divides by the global count", "[mesh]") {
  auto const all = whole(dims<2>(5, 2));
  double sum = 0;
  for (index_t rank = 0; rank < 2; ++rank) {
    auto const mine = shard_of(all, 0, 2, rank);
    for (index_t i = mine.lo[0]; i < mine.hi[0]; ++i)
      for (index_t j = mine.lo[1]; j < mine.hi[1]; ++j) sum += static_cast<double>(2 * i + j);
  }
  CHECK(sum / static_cast<double>(all.size()) == 4.5);
  CHECK(shard_of(whole(dims<2>(1, 2)), 0, 2, 1).empty());
}

TEST_CASE("partial terms land on uneven shards", "[mesh]") {
  double const term[2][3] = {{1, 2, 3}, {10, 20, 30}};
  std::vector<std::vector<double>> got(2);
  for (index_t rank = 0; rank < 2; ++rank) {
    segment const s = cut(3, 2, rank);
    for (index_t i = s.lo; i < s.hi; ++i) got[static_cast<std::size_t>(rank)].push_back(term[0][i] + term[1][i]);
  }
  CHECK(got[0] == std::vector<double>{11, 22});
  CHECK(got[1] == std::vector<double>{33});
}

TEST_CASE("boxes meet, contain and stay empty", "[mesh]") {
  auto const a = make_box({0, 2}, {4, 6}), b = make_box({3, 0}, {9, 3});
  CHECK(intersect(a, b) == make_box({3, 2}, {4, 3}));
  CHECK(intersect(a, make_box({4, 0}, {8, 8})).empty());
  CHECK(contains(a, make_box({1, 2}, {4, 6})));
  CHECK_FALSE(contains(a, b));
  CHECK_FALSE(contains(a, make_box({0, 2}, {5, 6})));
  CHECK_FALSE(contains(a, make_box({0, 1}, {4, 6})));
  CHECK(contains(a, make_box({50, 50}, {50, 60})));
  CHECK(a.size() == 16);
  CHECK(box<0>{}.size() == 1);
  CHECK(intersect(box<0>{}, box<0>{}).size() == 1);
  CHECK(erase_rank(a).rank() == 2);
  CHECK(erase_rank(a).size() == 16);
  CHECK_THROWS_AS(intersect(erase_rank(a), any_box{}), contract_error);
  CHECK_THROWS_AS(make_box({2}, {1}), contract_error);
  index_t const nine[9] = {};
  CHECK_THROWS_AS(whole(nine, 9), contract_error);
}

TEST_CASE("a placement gives its box", "[mesh]") {
  auto const all = whole(dims<2>(7, 4));
  CHECK(placed<replicated>(all, 5, 3) == all);
  CHECK(placed<resident>(all, 5, 3) == all);
  CHECK(placed<shard<0>>(all, 5, 1) == make_box({2, 0}, {4, 4}));
  CHECK(placed<shard<0, layout::ceil>>(all, 5, 4).empty());
  STATIC_REQUIRE(cut(7, 5, 1).lo == 2);
}
