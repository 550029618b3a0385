// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/core/monoid.hpp>
#include <heddle/tile/functions.hpp>
#include <heddle/tile/vec.hpp>

#include "support/catch.hpp"

#include <cmath>
#include <cstdint>
#include <limits>

namespace heddle {
namespace {

struct without_identity {
  using value_type = int;
  [[maybe_unused]] static constexpr bool commutative = true, exact = true;
  int combine(int a, int b) const { return a + b; }
};

/// Every value with the identity on both sides, and every pair with the callable that has no type.
template <class M, class Operation, class T>
void check_laws(T const (&values)[5]) {
  M const m{};
  for (T const a : values) {
    CHECK(m.combine(m.identity(), a) == a);
    CHECK(m.combine(a, m.identity()) == a);
    for (T const b : values) {
      CHECK(m.combine(a, b) == Operation{}(a, b));
      if constexpr (M::commutative) CHECK(m.combine(a, b) == m.combine(b, a));
      for (T const c : values)
        if constexpr (M::exact) CHECK(m.combine(m.combine(a, b), c) == m.combine(a, m.combine(b, c)));
    }
  }
}

template <class T>
void check_all(T const (&values)[5]) {
  check_laws<plus<T>, plus<>>(values);
  check_laws<multiplies<T>, multiplies<>>(values);
  check_laws<minimum<T>, minimum<>>(values);
  check_laws<maximum<T>, maximum<>>(values);
  check_laws<tile::larger<T>, maximum<>>(values);
}

}  // namespace

TEST_CASE("the named operations are monoids, and refuse nothing but void", "[core]") {
  STATIC_REQUIRE(monoid_on<plus<float>, float>);
  STATIC_REQUIRE(monoid_on<multiplies<std::int8_t>, std::int8_t>);
  STATIC_REQUIRE(monoid_on<minimum<double>, double>);
  STATIC_REQUIRE(monoid_on<maximum<std::uint64_t>, std::uint64_t>);
  STATIC_REQUIRE(monoid_on<tile::larger<float>, float>);
  STATIC_REQUIRE_FALSE(monoid<plus<>>);
  STATIC_REQUIRE_FALSE(monoid_on<plus<float>, double>);
  STATIC_REQUIRE_FALSE(monoid<without_identity>);
  STATIC_REQUIRE(std::is_same_v<decltype(plus{}), plus<>>);
  STATIC_REQUIRE(plus<int>::exact);
  STATIC_REQUIRE_FALSE(plus<float>::exact);
  STATIC_REQUIRE(maximum<float>::exact);
  STATIC_REQUIRE(is_lanewise<minimum<float>>);
}

TEST_CASE("the named operations keep the laws of a monoid", "[core]") {
  check_all<float>({-2, -0.5f, 0, 0.25f, 1024});
  check_all<double>({-1e300, -0.5, 0, 0.25, 3});
  check_all<std::int32_t>({-2147483647 - 1, -1, 0, 7, 2147483647});  // sums and products wrap
  check_all<std::uint8_t>({0, 1, 2, 200, 255});
}

TEST_CASE("minimum and maximum: NaN wins, and -0 is below +0", "[core]") {
  float const nan = std::numeric_limits<float>::quiet_NaN();
  for (float const x : {-1.0f, 0.0f, std::numeric_limits<float>::infinity()}) {
    CHECK(std::isnan(minimum<float>{}.combine(x, nan)));
    CHECK(std::isnan(maximum<float>{}.combine(nan, x)));
  }
  CHECK(std::signbit(minimum<>{}(0.0f, -0.0f)));
  CHECK(std::signbit(minimum<>{}(-0.0f, 0.0f)));
  CHECK_FALSE(std::signbit(maximum<>{}(0.0f, -0.0f)));
  CHECK_FALSE(std::signbit(maximum<>{}(-0.0f, 0.0f)));
}

TEST_CASE("the named operations give vectors the bits of numbers", "[core]") {
  using V = vec<float, 4>;
  float const a[] = {1.5f, -0.0f, std::numeric_limits<float>::quiet_NaN(), 3e38f}, b[] = {-2, 0, 1, 3e38f};
  auto const check = [&](auto const& m) {
    V const both = m.combine(V::load(a), V::load(b));
    for (int i = 0; i < 4; ++i) {
      float const one = m.combine(a[i], b[i]);
      CHECK((bit_cast<std::uint32_t>(both[i]) == bit_cast<std::uint32_t>(one) || (one != one && both[i] != both[i])));
    }
  };
  check(plus<float>{});
  check(multiplies<float>{});
  check(minimum<float>{});
  check(maximum<float>{});
}

TEST_CASE("monoid_of takes any value and function", "[core]") {
  monoid_of const longest{0, [](int a, int b) { return a < b ? b : a; }};
  STATIC_REQUIRE(monoid_on<std::remove_const_t<decltype(longest)>, int>);
  CHECK(longest.combine(longest.identity(), 4) == 4);
  CHECK_FALSE(longest.commutative);
}

}  // namespace heddle
