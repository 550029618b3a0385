// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/core/fp8.hpp>

#include "support/catch.hpp"

#include <cmath>

using heddle::fp8_e4m3;
using heddle::fp8_e5m2;

TEST_CASE("LP-2: float to e4m3 at the top of the range", "[core]") {
  struct {
    float from;
    int kept, saturated;
  } const cases[] = {{240, 0x77, 0x77},
                     {248, 0x78, 0x78},
                     {256, 0x78, 0x78},
                     {264, 0x78, 0x78},
                     {272, 0x78, 0x78},
                     {288, 0x79, 0x79},
                     {416, 0x7D, 0x7D},
                     {432, 0x7E, 0x7E},
                     {448, 0x7E, 0x7E},
                     {464, 0x7E, 0x7E},
                     {464.5, 0x7F, 0x7E},
                     {480, 0x7F, 0x7E},
                     {1000, 0x7F, 0x7E},
                     {-1000, 0xFF, 0xFE},
                     {__builtin_inff(), 0x7F, 0x7E},
                     {-__builtin_inff(), 0xFF, 0xFE}};
  for (auto const& c : cases) {
    CAPTURE(c.from);
    REQUIRE(int{fp8_e4m3::unsaturated(c.from).bits} == c.kept);
    REQUIRE(int{fp8_e4m3(c.from).bits} == c.saturated);
  }
  float const nan = __builtin_nanf("");
  for (float x : {nan, -nan}) {
    REQUIRE((fp8_e4m3(x).bits & 0x7F) == 0x7F);
    REQUIRE((fp8_e4m3::unsaturated(x).bits & 0x7F) == 0x7F);
  }
}

TEST_CASE("float to e5m2 at the top of the range", "[core]") {
  REQUIRE(int{fp8_e5m2(57344.0f).bits} == 0x7B);
  REQUIRE(int{fp8_e5m2::unsaturated(std::nextafter(61440.0f, 0.0f)).bits} == 0x7B);
  REQUIRE(int{fp8_e5m2::unsaturated(61440.0f).bits} == 0x7C);
  REQUIRE(int{fp8_e5m2(61440.0f).bits} == 0x7B);
  REQUIRE(int{fp8_e5m2(-1e30f).bits} == 0xFB);
  REQUIRE(int{fp8_e5m2::unsaturated(-__builtin_inff()).bits} == 0xFC);
  REQUIRE(int{fp8_e5m2(__builtin_inff()).bits} == 0x7B);
  REQUIRE(int{fp8_e5m2(-__builtin_nanf("")).bits} == 0xFE);
}

namespace {
// The value of a code, from its definition; NaN and infinity apart.
double value_of(int code, int mantissa_bits, int bias) {
  int const scale = 1 << mantissa_bits, mantissa = code % scale, exponent = (code & 127) / scale;
  double const magnitude = exponent == 0 ? std::ldexp(mantissa, 1 - bias - mantissa_bits)
                                         : std::ldexp(scale + mantissa, exponent - bias - mantissa_bits);
  return code >> 7 ? -magnitude : magnitude;
}

template <class F>
void check_codes(int mantissa_bits, int bias, int largest) {
  for (int code = 0; code < 256; ++code) {
    float const f = F::from_bits(static_cast<std::uint8_t>(code));
    CAPTURE(code, f);
    if ((code & 127) > largest) {
      REQUIRE_FALSE(std::isfinite(f));
      continue;
    }
    REQUIRE(static_cast<double>(f) == value_of(code, mantissa_bits, bias));
    REQUIRE(std::signbit(f) == (code >> 7 != 0));
    REQUIRE(int{F(f).bits} == code);
    if ((code & 127) == largest) continue;
    float const middle =
        static_cast<float>((value_of(code, mantissa_bits, bias) + value_of(code + 1, mantissa_bits, bias)) / 2);
    REQUIRE(int{F(middle).bits} == (code % 2 == 0 ? code : code + 1));
    REQUIRE(int{F(std::nextafter(middle, 0.0f)).bits} == code);
    REQUIRE(int{F(std::nextafter(middle, code >> 7 ? -1e9f : 1e9f)).bits} == code + 1);
  }
}
}  // namespace

TEST_CASE("every fp8 code widens to its value, and rounding is to nearest even", "[core]") {
  check_codes<fp8_e4m3>(3, 7, 0x7E);
  check_codes<fp8_e5m2>(2, 15, 0x7B);
  REQUIRE(std::isnan(float(fp8_e4m3::from_bits(0x7F))));
  REQUIRE(std::isinf(float(fp8_e5m2::from_bits(0x7C))));
  REQUIRE(std::isnan(float(fp8_e5m2::from_bits(0x7D))));
  REQUIRE(float(fp8_e4m3::from_bits(1)) == 0x1p-9f);
}
