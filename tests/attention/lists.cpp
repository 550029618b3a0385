// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/attention/lists.hpp>

#include "support/catch.hpp"

using namespace heddle;
namespace at = heddle::attention;

TEST_CASE("a setting knows whether it was given", "[attention]") {
  at::setting<double> left, zero = 0.0;
  REQUIRE_FALSE(left.given());
  REQUIRE(left.value_or(3) == 3);
  REQUIRE(zero.given());
  REQUIRE(zero.value_or(3) == 0);
  REQUIRE(at::setting<index_t>(0).given());
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

TEST_CASE("a list of integers may be a matrix without gaps", "[attention]") {
  std::int32_t const table[] = {1, 2, 3, 4, 5, 6};
  at::integer_list const whole = view<std::int32_t const, 2>(table, dims<2>(2, 3));
  REQUIRE(whole.size() == 6);
  REQUIRE(whole[4] == 5);
  view<std::int32_t const, 2> const wide(table, dims<2>(2, 2), 3, 1);
  REQUIRE_THROWS_AS(at::integer_list(wide), contract_error);
}

TEST_CASE("a list reads floats and doubles", "[attention]") {
  float const narrow[] = {0.5f, -2};
  double const wide[] = {1e300};
  at::number_list const a = view<float const, 1>(narrow, dims<1>(2)), b = view<double const, 1>(wide, dims<1>(1));
  REQUIRE(a.size() == 2);
  REQUIRE(a[1] == -2);
  REQUIRE(b[0] == 1e300);
  REQUIRE(at::number_list().size() == 0);
  view<float const, 1> const gaps(narrow, dims<1>(1), 2);
  REQUIRE_NOTHROW(at::number_list(gaps));
  view<float const, 1> const apart(narrow, dims<1>(2), 0);
  REQUIRE_THROWS_AS(at::number_list(apart), contract_error);
}
