// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/optim/flat.hpp>

#include <support/catch.hpp>

using namespace heddle;
using optim::flat_layout;
using optim::flat_piece;
using pieces = std::vector<flat_piece>;

namespace {
pieces owned(flat_layout const& f, index_t rank) {
  pieces out;
  f.for_each_owned(rank, [&](flat_piece const& p) { out.push_back(p); });
  return out;
}
}  // namespace

TEST_CASE("a parameter may straddle ranks and an empty one maps to nothing", "[optim]") {
  flat_layout const f({{6, 0}, {0, 0}, {10, 0}}, 2);
  CHECK(f.size() == 16);
  CHECK(owned(f, 0) == pieces{{0, {0, 6}, 0}, {2, {0, 2}, 6}});
  CHECK(owned(f, 1) == pieces{{2, {2, 10}, 0}});
  CHECK(f.place(1).empty());
}

TEST_CASE("three elements over four ranks leave one rank with nothing", "[optim]") {
  flat_layout const f({{3, 0}}, 4);
  CHECK(f.owned_size(2) == 1);
  CHECK(f.owned_size(3) == 0);
  CHECK(owned(f, 3).empty());
}

TEST_CASE("shards hold their parts of all buckets, and together every element once", "[optim]") {
  std::vector<flat_layout::parameter> const list{{5, 0}, {7, 0}, {0, 1}, {1, 2}, {12, 2}, {3, 4}};
  for (index_t ranks : {1, 2, 3, 4, 5, 7, 8}) {
    flat_layout const f(list, ranks);
    REQUIRE(f.buckets() == 5);
    CHECK(f.bucket(1).size == 0);
    CHECK(f.bucket(3).size == 0);
    CHECK(f.bucket(4).offset == 25);
    std::vector<int> seen(28, 0);
    for (index_t r = 0; r < ranks; ++r) {
      index_t at = 0;
      for (flat_piece const& p : owned(f, r)) {
        CHECK(p.offset == at);
        at += p.range.size();
        for (index_t i = p.range.lo; i < p.range.hi; ++i) ++seen[static_cast<std::size_t>(f.place(p.parameter).lo + i)];
      }
      CHECK(at == f.owned_size(r));
    }
    CHECK(seen == std::vector<int>(28, 1));
  }
}

TEST_CASE("a layout that contradicts itself is refused", "[optim]") {
  std::vector<flat_layout::parameter> const negative{{-1, 0}}, falling{{1, 1}, {1, 0}};
  CHECK_THROWS_AS(flat_layout(negative, 1), contract_error);
  CHECK_THROWS_AS(flat_layout(falling, 1), contract_error);
  CHECK_THROWS_AS(flat_layout({}, 0), contract_error);
  flat_layout const none({}, 3);
  CHECK(none.buckets() == 0);
  CHECK(owned(none, 2).empty());
}
