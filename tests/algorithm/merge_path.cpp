// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/algorithm/merge_path.hpp>

#include <support/catch.hpp>

#include <vector>

using namespace heddle;

namespace {
view<std::int32_t const, 1> input(std::vector<std::int32_t> const& v) {
  return view<std::int32_t const, 1>(v.data(), dims<1>(static_cast<index_t>(v.size())));
}
}  // namespace

TEST_CASE("the split is where a walk step by step would be", "[algorithm]") {
  for (std::vector<std::int32_t> const& o : std::vector<std::vector<std::int32_t>>{
           {0}, {0, 0}, {0, 3}, {0, 0, 0, 4, 4, 5, 20, 20}, {0, 1, 2, 3}, {0, 100, 100, 101}}) {
    index_t const n = static_cast<index_t>(o.size()) - 1;
    merge_path_point walk{0, 0};
    for (index_t d = 0; d <= n + o.back(); ++d) {
      REQUIRE(merge_path_split(input(o), d) == walk);
      if (walk.segment < n && walk.item == o[static_cast<std::size_t>(walk.segment) + 1])
        ++walk.segment;
      else
        ++walk.item;
    }
  }
}

TEST_CASE("pieces meet, cover everything and are equal", "[algorithm]") {
  std::vector<std::int32_t> const o = {0, 0, 7, 7, 8, 40, 41};
  index_t const steps = 6 + 41;
  for (index_t pieces : {1, 2, 3, 7, 47, 48, 100}) {
    index_t const share = (steps + pieces - 1) / pieces;
    REQUIRE(merge_path_piece(input(o), pieces, 0) == merge_path_point{0, 0});
    REQUIRE(merge_path_piece(input(o), pieces, pieces) == merge_path_point{6, 41});
    for (index_t p = 0; p < pieces; ++p) {
      merge_path_point const a = merge_path_piece(input(o), pieces, p), b = merge_path_piece(input(o), pieces, p + 1);
      index_t const length = b.segment + b.item - a.segment - a.item;
      REQUIRE(a.segment <= b.segment);
      REQUIRE(a.item <= b.item);
      REQUIRE(length <= share);
      REQUIRE((length == share || b == merge_path_point{6, 41}));
    }
  }
  for (index_t const wrong : {-3, -1, 48, 100}) REQUIRE_THROWS_AS(merge_path_split(input(o), wrong), contract_error);
  REQUIRE_THROWS_AS(merge_path_split(input({}), 0), contract_error);
  REQUIRE_THROWS_AS(merge_path_piece(input(o), 0, 0), contract_error);
  REQUIRE_THROWS_AS(merge_path_piece(input(o), 2, 3), contract_error);
  REQUIRE_THROWS_AS(merge_path_piece(input(o), 2, -1), contract_error);
  std::vector<std::int32_t> const gaps = {0, -9, 2, -9, 5};
  REQUIRE(merge_path_split(view<std::int32_t const, 1>(gaps.data(), dims<1>(3), 2), 4) == merge_path_point{1, 3});
}
