// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/algorithm/reduce.hpp>
#include <heddle/algorithm/scan.hpp>
#include <heddle/backend/reference/tile_context.hpp>
#include <heddle/exec/reference_executor.hpp>

#include <support/catch.hpp>

using namespace heddle;

namespace {

/// A range of numbers, and the smallest range that holds two of them: a value that is no number.
struct range {
  int lo, hi;
};
struct hull {
  using value_type = range;
  static constexpr bool commutative = true, exact = true;
  range identity() const { return {1 << 30, -(1 << 30)}; }
  range combine(range const& a, range const& b) const { return {a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi}; }
};

}  // namespace

TEST_CASE("a monoid of the minimum members serves reduce and scan", "[algorithm]") {
  STATIC_REQUIRE((monoid<hull> && detail::result_view<view<range, 1>, hull>));
  STATIC_REQUIRE(!detail::result_view<view<range const, 1>, hull>);
  STATIC_REQUIRE(!detail::result_view<view<int, 1>, hull>);
  reference_executor exec;
  range x[3] = {{2, 3}, {-1, 0}, {5, 9}}, all{0, 0}, so_far[3] = {};
  view<range, 1> const in(x, dims<1>(3));
  reduce(exec, in, view<range, 1>(&all, dims<1>(1)), hull{});
  inclusive_scan(exec, in, view<range, 1>(so_far, dims<1>(3)), hull{});
  CHECK(all.lo == -1);
  CHECK(all.hi == 9);
  CHECK(so_far[1].lo == -1);
  CHECK(so_far[1].hi == 3);
}
