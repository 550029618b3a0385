// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/core/fp16.hpp>

#include "support/catch.hpp"

#include <cmath>

namespace {
std::uint16_t narrowed(float x) { return heddle::fp16(x).bits; }

// The value of a code, from its definition.
double value_of(std::uint32_t code) {
  int const exponent = code >> 10 & 31, mantissa = code & 1023;
  double const magnitude = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return code >> 15 ? -magnitude : magnitude;
}
}  // namespace

TEST_CASE("every fp16 code widens to its value and comes back", "[core]") {
  for (std::uint32_t code = 0; code < 65536; ++code) {
    float const f = heddle::fp16::from_bits(static_cast<std::uint16_t>(code));
    bool const special = (code >> 10 & 31) == 31;
    bool right;
    if (!special)
      right = static_cast<double>(f) == value_of(code) && std::signbit(f) == (code >> 15 != 0);
    else if (code & 1023)
      right = std::isnan(f) && std::signbit(f) == (code >> 15 != 0);
    else
      right = std::isinf(f) && std::signbit(f) == (code >> 15 != 0);
    if (!right) FAIL("wrong value of " << code);
    std::uint32_t const back = std::isnan(f) ? code | 0x200 : code;
    if (narrowed(f) != back) FAIL("does not come back: " << code);
  }
  SUCCEED();
}

TEST_CASE("fp16 takes the nearer neighbour, and the even one of two", "[core]") {
  for (std::uint32_t code = 0; code < 0x7BFF; ++code) {
    double const low = value_of(code), high = value_of(code + 1);
    float const middle = static_cast<float>((low + high) / 2);  // exact
    std::uint32_t const even = code % 2 == 0 ? code : code + 1;
    bool const right = narrowed(middle) == even && narrowed(std::nextafter(middle, 0.0f)) == code &&
                       narrowed(std::nextafter(middle, 1e9f)) == code + 1 && narrowed(-middle) == (even | 0x8000);
    if (!right) FAIL("wrong rounding above " << code);
  }
  SUCCEED();
}

TEST_CASE("fp16 at the ends of its range", "[core]") {
  REQUIRE(narrowed(65504.0f) == 0x7BFF);
  REQUIRE(narrowed(std::nextafter(65520.0f, 0.0f)) == 0x7BFF);
  REQUIRE(narrowed(65520.0f) == 0x7C00);
  REQUIRE(narrowed(1e30f) == 0x7C00);
  REQUIRE(narrowed(-__builtin_inff()) == 0xFC00);
  REQUIRE(narrowed(0x1p-25f) == 0x0000);
  REQUIRE(narrowed(0x1.000002p-25f) == 0x0001);
  REQUIRE(narrowed(-0x1p-24f) == 0x8001);
  REQUIRE(narrowed(-1e-40f) == 0x8000);
  REQUIRE(heddle::fp16(1.00048828125 + 1e-12).bits == 0x3C01);
  REQUIRE(heddle::fp16(1.00048828125).bits == 0x3C00);
}
