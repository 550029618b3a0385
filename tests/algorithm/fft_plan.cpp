// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/algorithm/fft_plan.hpp>

#include <support/catch.hpp>

#include <cmath>
#include <utility>

using namespace heddle;

TEST_CASE("radices of a plan multiply to its size", "[algorithm]") {
  for (index_t n = 1; n < 3000; ++n) {
    fft_plan<float> const plan(n);
    REQUIRE(plan.size() == n);
    detail::fft_tables<float> const& t = plan.tables();
    if (t.inner) {
      REQUIRE_FALSE(detail::fft_has_small_factors(n));
      REQUIRE(t.inner->n >= 2 * n - 1);
      continue;
    }
    index_t first = 1, second = 1;
    for (int i = 0; i < t.first.passes; ++i) first *= t.first.radix[i];
    for (int i = 0; i < t.second.passes; ++i) second *= t.second.radix[i];
    REQUIRE(first == t.n1);
    REQUIRE(second == t.n2);
    REQUIRE(first * second == n);
    REQUIRE((second == 1) == (n <= 64));
  }
}

TEST_CASE("roots of unity are right to a few units in the last place", "[algorithm]") {
  for (index_t n : {1, 2, 3, 4, 7, 8, 360, 1000003})
    for (index_t k = 0; k<n; k += n> 400 ? 997 : 1) {
      long double const angle =
          -2 * 3.141592653589793238462643383279502884L * static_cast<long double>(k) / static_cast<long double>(n);
      detail::fft_root const w = detail::fft_root_of(k, n);
      REQUIRE(std::abs(static_cast<long double>(w.re) - std::cos(angle)) <= 0x1p-51L);
      REQUIRE(std::abs(static_cast<long double>(w.im) - std::sin(angle)) <= 0x1p-51L);
    }
  REQUIRE(detail::fft_root_of(1, 4).re == 0);
  REQUIRE(detail::fft_root_of(1, 4).im == -1);
}

TEST_CASE("a plan moves, counts its memory and gives it back", "[algorithm]") {
  host_space space;
  {
    fft_plan<double> a(1 << 20, space), b(67, space);
    REQUIRE(space.counts().live > 0);
    REQUIRE(space.counts().live < (index_t{1} << 20) * 8);
    fft_plan<double> c(std::move(a));
    REQUIRE(c.size() == 1 << 20);
    b = std::move(c);
    REQUIRE(b.size() == 1 << 20);
  }
  REQUIRE(space.counts().live == 0);
  REQUIRE_THROWS_AS(fft_plan<float>(0), contract_error);
}
