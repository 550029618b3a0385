// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/attention/mask.hpp>

#include "support/catch.hpp"

using namespace heddle;
using namespace heddle::attention;

namespace {

constexpr index_t length = 12;

// Whether kv_range and kind of every small block pair follow from `visible`.
template <mask Mask>
void derive_from_visible(Mask const& m) {
  for (index_t qb = -6; qb < 18; ++qb)
    for (index_t qe = qb + 1; qe <= qb + 7; ++qe) {
      block const range = m.kv_range({qb, qe});
      for (index_t kb = 0; kb < length; ++kb) {
        bool all = true, any = false;
        for (index_t ke = kb + 1; ke <= length; ++ke) {
          for (index_t i = qb; i < qe; ++i) {
            bool const sees = m.visible(i, ke - 1);
            all = all && sees;
            any = any || sees;
            if (sees && (ke - 1 < range.begin || ke - 1 >= range.end)) FAIL("kv_range misses key " << ke - 1);
          }
          block_kind const kind = m.kind({qb, qe}, {kb, ke});
          INFO("queries " << qb << ' ' << qe << ", keys " << kb << ' ' << ke);
          if (kind == block_kind::skip && any) FAIL("a visible pair is skipped");
          if (kind == block_kind::full && !all) FAIL("a full block hides a pair");
        }
      }
    }
  SUCCEED();
}

// The simple masks must also be exact, or whole blocks are computed for nothing.
template <mask Mask>
void kinds_are_exact(Mask const& m) {
  for (index_t qb = -6; qb < 18; ++qb)
    for (index_t qe = qb + 1; qe <= qb + 4; ++qe)
      for (index_t kb = 0; kb < length; ++kb)
        for (index_t ke = kb + 1; ke <= length; ++ke) {
          bool all = true, any = false;
          for (index_t i = qb; i < qe; ++i)
            for (index_t j = kb; j < ke; ++j) {
              all = all && m.visible(i, j);
              any = any || m.visible(i, j);
            }
          block_kind const right = all ? block_kind::full : any ? block_kind::partial : block_kind::skip;
          if (m.kind({qb, qe}, {kb, ke}) != right) FAIL("kind differs " << qb << ' ' << qe << ' ' << kb << ' ' << ke);
        }
  SUCCEED();
}

struct odd_sum {
  constexpr bool operator()(index_t i, index_t j) const { return (i + j) % 2 != 0; }
};

}  // namespace

TEST_CASE("kv_range and kind follow from visible", "[attention]") {
  derive_from_visible(full{});
  derive_from_visible(causal{});
  for (index_t left : {-1, 0, 1, 3, 20})
    for (index_t right : {-1, 0, 2, 20})
      for (index_t sinks : {0, 1, 3}) derive_from_visible(window(left, right, sinks));
  derive_from_visible(where{odd_sum{}});
  derive_from_visible(causal{} & window(3, 5));
  derive_from_visible(causal{} & window(2, window::unbounded, 2) & where{odd_sum{}});
}

TEST_CASE("simple masks know their blocks exactly", "[attention]") {
  kinds_are_exact(full{});
  kinds_are_exact(causal{});
  for (index_t left : {-1, 0, 1, 3})
    for (index_t right : {-1, 0, 2}) kinds_are_exact(window(left, right));
}

TEST_CASE("a causal window takes the smaller right bound", "[attention]") {
  auto const m = causal{} & window(1, 4);
  REQUIRE(m.visible(5, 5));
  REQUIRE(m.visible(5, 4));
  REQUIRE_FALSE(m.visible(5, 3));
  REQUIRE_FALSE(m.visible(5, 6));
  REQUIRE(window(1, 0, 2).visible(9, 1));
  REQUIRE_FALSE((causal{} & window(1, 0, 2)).visible(0, 1));
}

TEST_CASE("a window refuses reaches that make no sense", "[attention]") {
  REQUIRE_THROWS_AS(window(-2, 0), contract_error);
  REQUIRE_THROWS_AS(window(0, -2), contract_error);
  REQUIRE_THROWS_AS(window(0, 0, -1), contract_error);
}
