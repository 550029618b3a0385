// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/attention/problem.hpp>

#include "support/catch.hpp"

#include <heddle/attention/decode.hpp>
#include <heddle/backend/cpu/detail/lane_tile.hpp>

#include <vector>

using namespace heddle;
namespace in = heddle::attention::detail;

namespace {

in::geometry packed(std::int32_t const* cu_q, std::int32_t const* cu_k, index_t sequences) {
  in::geometry g{12, 20, 4, 2, 8, 8, sequences, {}, {}, {}, {}};
  g.cu_q = view<std::int32_t const, 1>(cu_q, dims<1>(sequences + 1));
  g.cu_k = view<std::int32_t const, 1>(cu_k, dims<1>(sequences + 1));
  return g;
}

}  // namespace

TEST_CASE("equal sequences are cut from the tokens", "[attention]") {
  in::geometry const g{12, 20, 4, 2, 8, 8, 4, {}, {}, {}, {}};
  in::segment const s = g.at(2);
  REQUIRE(s.q_begin == 6);
  REQUIRE(s.q_length == 3);
  REQUIRE(s.k_begin == 10);
  REQUIRE(s.k_length == 5);
  REQUIRE(s.offset == 2);
  REQUIRE(g.end_q() == 12);
}

TEST_CASE("every token belongs to its sequence, or to none", "[attention]") {
  std::int32_t const cu_q[] = {0, 0, 5, 9}, cu_k[] = {0, 3, 3, 17};
  in::geometry const g = packed(cu_q, cu_k, 3);
  in::segment s;
  REQUIRE(in::find_segment<false>(g, 0, s));
  REQUIRE(s.q_length == 5);
  REQUIRE(s.k_length == 0);
  REQUIRE(s.offset == -5);
  REQUIRE(in::find_segment<false>(g, 8, s));
  REQUIRE(s.k_begin == 3);
  REQUIRE(s.offset == 10);
  REQUIRE_FALSE(in::find_segment<false>(g, 9, s));
  REQUIRE(in::find_segment<true>(g, 2, s));
  REQUIRE(s.q_length == 0);
  REQUIRE_FALSE(in::find_segment<true>(g, 17, s));
  REQUIRE(g.end_k() == 17);
}

TEST_CASE("tasks take every row once, whatever the cut", "[attention]") {
  std::int32_t const cu_q[] = {0, 0, 1, 70, 70, 103}, cu_k[] = {0, 3000, 3000, 3001, 4100, 4100};
  in::geometry g{105, 4200, 6, 2, 8, 8, 5, {}, {}, {}, {}};
  for (bool const lists : {true, false}) {
    if (lists) {
      g.cu_q = view<std::int32_t const, 1>(cu_q, dims<1>(6));
      g.cu_k = view<std::int32_t const, 1>(cu_k, dims<1>(6));
    } else {
      g.cu_q = g.cu_k = {};
    }
    std::vector<int> rows(static_cast<std::size_t>(105 * 6)), keys(4200 * 2), parts(4200);
    in::query_tile queries;
    for (index_t task = 0; task < in::query_tasks(g, 8); ++task)
      if (in::find_query_task(g, task, 8, queries))
        for (index_t lane = 0; lane < queries.rows; ++lane)
          ++rows[static_cast<std::size_t>(queries.token(lane) * 6 + queries.head(lane))];
    in::key_tile of_keys;
    for (index_t task = 0; task < in::key_tasks(g); ++task)
      if (in::find_key_task(g, task, of_keys))
        for (index_t lane = 0; lane < of_keys.rows; ++lane)
          ++keys[static_cast<std::size_t>(of_keys.token(lane) * 2 + of_keys.kv_head)];
    in::key_split split;
    for (index_t slot = 0; slot < in::slots_of(g); ++slot)
      if (in::find_split(g, slot, split))
        for (index_t j = split.part.begin; j < split.part.end && j < split.seg.k_length; ++j)
          ++parts[static_cast<std::size_t>(split.seg.k_begin + j)];
    index_t wrong = 0;
    for (index_t n = 0; n < 105 * 6; ++n) wrong += rows[static_cast<std::size_t>(n)] != (n < g.end_q() * 6);
    for (index_t n = 0; n < 4200 * 2; ++n) wrong += keys[static_cast<std::size_t>(n)] != (n < g.end_k() * 2);
    for (index_t n = 0; n < 4200; ++n) wrong += parts[static_cast<std::size_t>(n)] != (n < g.end_k());
    REQUIRE(wrong == 0);
  }
}

TEST_CASE("lists that leave the tokens are refused", "[attention]") {
  std::int32_t const good[] = {0, 4, 9}, falling[] = {0, 10, 9}, long_[] = {0, 4, 13};
  in::segment s;
  REQUIRE_NOTHROW(packed(good, good, 2).at(1));
  REQUIRE_THROWS_AS(packed(falling, good, 2).at(1), contract_error);
  REQUIRE_THROWS_AS(packed(long_, good, 2).at(1), contract_error);
  REQUIRE_THROWS_AS(in::find_segment<false>(packed(falling, good, 2), 11, s), contract_error);
}

TEST_CASE("scores are scaled by one over the root of the columns", "[attention]") {
  for (index_t dk : {1, 3, 64, 80, 96, 128, 192, 576}) {
    view<double const, 3> const none(nullptr, dims<3>(0, 1, dk));
    auto const s = in::make_setup(none, none, none, attention::options<>{});
    double const root = 1 / s.rule.scale, off = root * root / static_cast<double>(dk) - 1;
    REQUIRE((off < 0x1p-50 && off > -0x1p-50));
    if (dk == 1 || dk == 64 || dk == 576) REQUIRE(s.rule.scale == 1 / (dk == 1 ? 1.0 : dk == 64 ? 8.0 : 24.0));
  }
}
