// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/core/arith.hpp>

#include "support/catch.hpp"

#include <cmath>
#include <limits>

namespace {

template <class T>
T opaque(T x) {  // keeps the compiler from evaluating the case itself
  T volatile v = x;
  return v;
}
template <class T>
heddle::uint_bits_t<T> bits(T x) {
  return heddle::bit_cast<heddle::uint_bits_t<T>>(x);
}

}  // namespace

TEMPLATE_TEST_CASE("fma rounds once and mul never fuses", "[core]", float, double) {
  using T = TestType;
  T const e = std::numeric_limits<T>::epsilon();
  T const a = opaque(1 + e), b = opaque(1 - e);
  // (1 + e)(1 - e) = 1 - e^2, which rounds to 1.
  REQUIRE(heddle::fma(a, b, T(-1)) == -e * e);
  REQUIRE(heddle::mul(a, b) - T(1) == T(0));
  T const product = heddle::mul(a, a);
  REQUIRE(product + opaque(T(-1)) == 2 * e);
  REQUIRE(heddle::fma(a, a, T(-1)) == 2 * e + e * e);
}

TEMPLATE_TEST_CASE("max and min propagate NaN and order zeros", "[core]", float, double) {
  using T = TestType;
  T const nan = std::numeric_limits<T>::quiet_NaN(), inf = std::numeric_limits<T>::infinity();
  T const values[] = {-inf, T(-2), T(-1e-30), T(-0.0), T(0.0), T(1e-30), T(3), inf};
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j) {
      T const a = opaque(values[i]), b = opaque(values[j]);
      REQUIRE(bits(heddle::max(a, b)) == bits(values[i > j ? i : j]));
      REQUIRE(bits(heddle::min(a, b)) == bits(values[i < j ? i : j]));
    }
  for (T x : values) {
    REQUIRE(std::isnan(heddle::max(opaque(nan), x)));
    REQUIRE(std::isnan(heddle::max(x, opaque(nan))));
    REQUIRE(std::isnan(heddle::min(opaque(nan), x)));
    REQUIRE(std::isnan(heddle::min(x, opaque(nan))));
    REQUIRE(bits(heddle::max(opaque(nan), x)) == bits(heddle::max(x, opaque(nan))));
  }
  REQUIRE(std::isnan(heddle::max(nan, nan)));
  REQUIRE(std::isnan(heddle::min(-nan, nan)));
}

TEST_CASE("integers wrap", "[core]") {
  using limits = std::numeric_limits<std::int32_t>;
  REQUIRE(heddle::add(limits::max(), 1) == limits::min());
  REQUIRE(heddle::mul(limits::min(), -1) == limits::min());
  REQUIRE(heddle::fma(65536, 65536, 7) == 7);
  REQUIRE(heddle::add(std::int8_t{127}, std::int8_t{1}) == std::int8_t{-128});
  REQUIRE(heddle::mul(std::uint16_t{65535}, std::uint16_t{65535}) == std::uint16_t{1});
  REQUIRE(heddle::abs(limits::min()) == limits::min());
  REQUIRE(heddle::abs(-5) == 5);
  REQUIRE(heddle::max(3, -7) == 3);
  REQUIRE(heddle::min(3u, 7u) == 3u);
}

TEMPLATE_TEST_CASE("abs, sqrt and select", "[core]", float, double) {
  using T = TestType;
  T const inf = std::numeric_limits<T>::infinity();
  REQUIRE(bits(heddle::abs(T(-0.0))) == bits(T(0)));
  REQUIRE(heddle::abs(-inf) == inf);
  REQUIRE(bits(heddle::abs(heddle::bit_cast<T>(~heddle::uint_bits_t<T>{0}))) == (~heddle::uint_bits_t<T>{0} >> 1));
  REQUIRE(bits(heddle::sqrt(opaque(T(-0.0)))) == bits(T(-0.0)));
  REQUIRE(std::isnan(heddle::sqrt(opaque(T(-1)))));
  REQUIRE(heddle::sqrt(opaque(inf)) == inf);
  for (int i = 1; i < 1000; ++i) {
    T const x = opaque(T(i) / 7);
    REQUIRE(heddle::sqrt(x) == std::sqrt(x));
  }
  REQUIRE(heddle::select(true, T(1), T(2)) == T(1));
  REQUIRE(heddle::select(false, T(1), T(2)) == T(2));
}

TEST_CASE("shifts and bit_cast", "[core]") {
  REQUIRE(heddle::shift_right<2>(std::int32_t{-8}) == -2);
  REQUIRE(heddle::shift_right<2>(std::uint32_t{0x80000000u}) == 0x20000000u);
  REQUIRE(heddle::shift_left<31>(std::int32_t{1}) == std::numeric_limits<std::int32_t>::min());
  REQUIRE(heddle::bit_cast<std::uint32_t>(1.0f) == 0x3F800000u);
  REQUIRE(heddle::convert<float>(std::int32_t{-3}) == -3.0f);
  REQUIRE(heddle::splat<float>(2.5f) == 2.5f);
  STATIC_REQUIRE(std::is_same_v<heddle::rebind_lanes<float, std::uint32_t>, std::uint32_t>);
  STATIC_REQUIRE(std::is_same_v<heddle::lane_t<double>, double>);
}
