// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/attention/options.hpp>

#include "support/catch.hpp"

using namespace heddle;
namespace at = heddle::attention;

TEST_CASE("a setting knows whether it was given", "[attention]") {
  at::setting<double> left, zero = 0.0;
  REQUIRE_FALSE(left.given());
  REQUIRE(left.value_or(3) == 3);
  REQUIRE(zero.given());
  REQUIRE(zero.value_or(3) == 0);
  REQUIRE(at::options<>{.query_offset = 0}.query_offset.given());
}

TEST_CASE("a list reads 32-bit and 64-bit numbers", "[attention]") {
  std::int32_t const narrow[] = {0, 5, -7};
  std::int64_t const wide[] = {0, index_t{1} << 40};
  at::integer_list const a = view<std::int32_t const, 1>(narrow, dims<1>(3));
  at::integer_list const b = view<std::int64_t const, 1>(wide, dims<1>(2));
  REQUIRE(a.size() == 3);
  REQUIRE(a[2] == -7);
  REQUIRE(b[1] == index_t{1} << 40);
  REQUIRE(at::integer_list().size() == 0);
  view<std::int32_t const, 1> const gaps(narrow, dims<1>(2), 2);
  REQUIRE_THROWS_AS(at::integer_list(gaps), contract_error);
}

TEST_CASE("options with a mask keep the defaults", "[attention]") {
  auto const o = at::with_mask(at::causal{} & at::window(3, 0));
  REQUIRE(o.mask.visible(5, 2));
  REQUIRE_FALSE(o.mask.visible(5, 1));
  REQUIRE(o.sequences == 1);
  REQUIRE_FALSE(o.softcap.given());
  static_assert(std::is_trivially_copyable_v<at::options<>>);
}
