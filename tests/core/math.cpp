// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/core/math.hpp>

#include "support/catch.hpp"
#include "support/numbers.hpp"

#include <cmath>
#include <limits>

namespace {

// The distance of neighbours of type T around x.
template <class T>
long double ulp_at(long double x) {
  int const digits = std::numeric_limits<T>::digits, least = std::numeric_limits<T>::min_exponent - digits;
  int exponent;
  std::frexp(x, &exponent);
  return std::ldexp(1.0L, exponent - digits > least ? exponent - digits : least);
}

// The error in ulp where both are finite; 0 or infinity where one is not.
template <class T>
long double ulp_error(T got, long double exact) {
  T const rounded = static_cast<T>(exact);
  if (std::isnan(rounded) || std::isnan(got)) return std::isnan(rounded) == std::isnan(got) ? 0 : INFINITY;
  if (std::isinf(rounded) || std::isinf(got)) {
    if (got == rounded) return 0;
    T const limit = std::numeric_limits<T>::max();
    return std::fabs(exact) > 0.999L * limit && std::isinf(rounded) != std::isinf(got) ? 1 : INFINITY;
  }
  return std::fabs(static_cast<long double>(got) - exact) / ulp_at<T>(exact);
}

// Floats: every 6007th of all bit patterns, both signs. Doubles: random, exponents around one.
template <class T, class F>
void sweep(F visit) {
  if constexpr (sizeof(T) == 4) {
    for (std::uint64_t b = 0; b < (std::uint64_t{1} << 32); b += 6007)
      visit(heddle::bit_cast<float>(static_cast<std::uint32_t>(b)));
  } else {
    std::uint64_t state = 1;
    for (int i = 0; i < 300000; ++i) {
      std::uint64_t const r = heddle::test::next_random(state);
      std::uint64_t const exponent = 1023 - 40 + (r >> 52) % 62;
      visit(heddle::bit_cast<double>((r & 0x800FFFFFFFFFFFFFu) | exponent << 52));
    }
  }
}

template <class T, class Function, class Exact>
void check(char const* what, long double bound, Function f, Exact exact) {
  long double worst = 0;
  T at = 0;
  sweep<T>([&](T x) {
    long double const e = ulp_error<T>(f(x), exact(static_cast<long double>(x)));
    if (!(e <= worst)) worst = e, at = x;
  });
  CAPTURE(what, at);
  REQUIRE(worst < bound);
}

template <class T>
bool same(T a, T b) {
  return heddle::test::comparable_bits(a) == heddle::test::comparable_bits(b);
}

}  // namespace

TEMPLATE_TEST_CASE("elementary functions keep their error bounds", "[core]", float, double) {
  using T = TestType;
  using L = long double;
  check<T>(
      "exp", 1.0L, [](T x) { return heddle::exp(x); }, [](L x) { return std::exp(x); });
  check<T>(
      "exp2", 1.1L, [](T x) { return heddle::exp2(x); }, [](L x) { return std::exp2(x); });
  check<T>(
      "log", 1.0L, [](T x) { return heddle::log(x); }, [](L x) { return std::log(x); });
  check<T>(
      "rsqrt", 1.5L, [](T x) { return heddle::rsqrt(x); }, [](L x) { return 1 / std::sqrt(x); });
  check<T>(
      "tanh", 1.5L, [](T x) { return heddle::tanh(x); }, [](L x) { return std::tanh(x); });
  check<T>(
      "erf", 2.0L, [](T x) { return heddle::erf(x); }, [](L x) { return std::erf(x); });
  check<T>(
      "sin", 2.0L, [](T x) { return heddle::sin(x); }, [](L x) { return std::sin(x); });
  check<T>(
      "cos", 2.0L, [](T x) { return heddle::cos(x); }, [](L x) { return std::cos(x); });
}

TEMPLATE_TEST_CASE("elementary functions at special values", "[core]", float, double) {
  using T = TestType;
  T const inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN(), zero = 0, one = 1;
  REQUIRE(same(heddle::exp(-inf), zero));
  REQUIRE(same(heddle::exp(inf), inf));
  REQUIRE(same(heddle::exp(-zero), one));
  REQUIRE(same(heddle::exp(T(-1000)), zero));
  REQUIRE(same(heddle::exp(T(1000)), inf));
  REQUIRE(same(heddle::exp2(-inf), zero));
  REQUIRE(same(heddle::exp2(inf), inf));
  for (int n = std::numeric_limits<T>::min_exponent - std::numeric_limits<T>::digits;
       n < std::numeric_limits<T>::max_exponent; ++n)
    if (!same(heddle::exp2(T(n)), static_cast<T>(std::ldexp(1.0L, n)))) FAIL("exp2 of " << n);
  REQUIRE(same(heddle::log(one), zero));
  REQUIRE(same(heddle::log(zero), -inf));
  REQUIRE(same(heddle::log(-zero), -inf));
  REQUIRE(same(heddle::log(inf), inf));
  REQUIRE(std::isnan(heddle::log(T(-1))));
  REQUIRE(std::isnan(heddle::log(-inf)));
  REQUIRE(same(heddle::rsqrt(zero), inf));
  REQUIRE(same(heddle::rsqrt(-zero), -inf));
  REQUIRE(same(heddle::rsqrt(inf), zero));
  REQUIRE(same(heddle::rsqrt(T(4)), T(0.5)));
  for (T s : {one, -one}) {
    REQUIRE(same(heddle::tanh(s * inf), s));
    REQUIRE(same(heddle::erf(s * inf), s));
    REQUIRE(same(heddle::tanh(s * zero), s * zero));
    REQUIRE(same(heddle::erf(s * zero), s * zero));
    REQUIRE(same(heddle::sin(s * zero), s * zero));
    REQUIRE(same(heddle::cos(s * zero), one));
    REQUIRE(std::isnan(heddle::sin(s * inf)));
    REQUIRE(std::isnan(heddle::cos(s * inf)));
  }
  for (auto f : {&heddle::exp<T>, &heddle::exp2<T>, &heddle::log<T>, &heddle::rsqrt<T>, &heddle::tanh<T>,
                 &heddle::erf<T>, &heddle::sin<T>, &heddle::cos<T>})
    REQUIRE(std::isnan(f(nan)));
}

TEST_CASE("a double beyond the stated angle is NaN, a float never is", "[core]") {
  REQUIRE(std::isnan(heddle::sin(0x1p+46)));
  REQUIRE(std::fabs(heddle::sin(0x1p+45) - std::sin(0x1p+45)) < 1e-15);
  float const largest = std::numeric_limits<float>::max();
  REQUIRE(ulp_error(heddle::sin(largest), std::sin(static_cast<long double>(largest))) < 2);
  REQUIRE(ulp_error(heddle::cos(-largest), std::cos(static_cast<long double>(largest))) < 2);
  // The float closest to a multiple of pi/2, where a short reduction has no right bit left.
  float const hard = 16367173.0f * 0x1p+72f;
  REQUIRE(ulp_error(heddle::cos(hard), std::cos(static_cast<long double>(hard))) < 2);
  REQUIRE(ulp_error(heddle::sin(hard), std::sin(static_cast<long double>(hard))) < 2);
}

TEST_CASE("powers", "[core]") {
  std::uint64_t state = 9;
  for (int i = 0; i < 200000; ++i) {
    float const x = std::ldexp(1.0f + static_cast<float>(heddle::test::next_random(state) >> 41) * 0x1p-23f,
                               static_cast<int>(heddle::test::next_random(state) % 40) - 20);
    float const y = static_cast<float>(static_cast<std::int32_t>(heddle::test::next_random(state) >> 32)) * 0x1p-27f;
    if (!(ulp_error(heddle::pow(x, y), std::pow(static_cast<long double>(x), static_cast<long double>(y))) < 0.51L))
      FAIL("pow of " << x << " and " << y);
    double const a = static_cast<double>(x) * 1.0000001, b = static_cast<double>(y) * 1.0000001;
    long double const exact = std::pow(static_cast<long double>(a), static_cast<long double>(b));
    if (!(ulp_error(heddle::pow(a, b), exact) < 1.1L)) FAIL("pow of " << a << ", " << b);
  }
  for (int i = 1; i <= 30; ++i) REQUIRE(heddle::pow(3.0, double(i)) == static_cast<double>(std::pow(3.0L, i)));
  REQUIRE(heddle::pow(2.0f, 10.0f) == 1024.0f);
}

TEMPLATE_TEST_CASE("powers at special values are those of C", "[core]", float, double) {
  using T = TestType;
  T const inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  T const values[] = {T(0),   T(-0.0), T(1),    T(-1),    T(2), T(-2), T(3), T(-3),
                      T(0.5), T(-0.5), T(1e30), T(-1e30), inf,  -inf,  nan};
  for (T x : values)
    for (T y : values) {
      CAPTURE(x, y);
      T const got = heddle::pow(x, y), right = std::pow(x, y);
      bool const exact = right == 0 || std::fabs(right) == 1 || !std::isfinite(right);
      REQUIRE((exact ? same(got, right)
                     : ulp_error(got, std::pow(static_cast<long double>(x), static_cast<long double>(y))) < 1.1L));
    }
}
