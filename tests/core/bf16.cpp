// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/core/bf16.hpp>

#include "support/catch.hpp"

#include <cmath>
#include <type_traits>

namespace {
std::uint16_t narrowed(std::uint32_t bits) { return heddle::bf16(heddle::bit_cast<float>(bits)).bits; }
}  // namespace

TEST_CASE("LP-1: float to bf16 rounds to nearest even", "[core]") {
  struct {
    std::uint32_t from;
    std::uint16_t to;
  } const cases[] = {{0x3DCCCCCD, 0x3DCD}, {0x3F808000, 0x3F80}, {0x3F808001, 0x3F81}, {0x3F807FFF, 0x3F80},
                     {0x3F818000, 0x3F82}, {0xBF818000, 0xBF82}, {0x477FFFFF, 0x4780}, {0x7F7F7FFF, 0x7F7F},
                     {0x7F7F8000, 0x7F80}, {0x7F7FFFFF, 0x7F80}, {0x7F800000, 0x7F80}, {0xFF800000, 0xFF80},
                     {0x80000000, 0x8000}, {0x7FC00000, 0x7FC0}, {0x00000001, 0x0000}, {0x00008001, 0x0001},
                     {0x007FFFFF, 0x0080}};
  for (auto const& c : cases) {
    CAPTURE(c.from);
    REQUIRE(narrowed(c.from) == c.to);
  }
}

TEST_CASE("LP-1: NaN stays NaN and keeps its sign", "[core]") {
  for (std::uint32_t nan : {0x7F800001u, 0xFF800001u, 0x7FBFFFFFu, 0x7FFFFFFFu, 0xFFFFFFFFu}) {
    std::uint16_t const b = narrowed(nan);
    CAPTURE(nan, b);
    REQUIRE((b & 0x7F80) == 0x7F80);
    REQUIRE((b & 0x7F) != 0);
    REQUIRE((b >> 15) == (nan >> 31));
  }
}

TEST_CASE("bf16 widens exactly and comes back", "[core]") {
  for (std::uint32_t b = 0; b < 65536; ++b) {
    auto const x = heddle::bf16::from_bits(static_cast<std::uint16_t>(b));
    float const f = x;
    if (heddle::bit_cast<std::uint32_t>(f) != b << 16) FAIL("widening changed " << b);
    std::uint32_t const expected = std::isnan(f) ? b | 0x40 : b;
    if (heddle::bf16(f).bits != expected) FAIL("narrowing changed " << b);
  }
  SUCCEED();
}

TEST_CASE("bf16 takes the nearer neighbour of every float", "[core]") {
  // Between two neighbours the midpoint goes to the even one; everything else to the nearer.
  for (std::uint32_t b = 0; b < 0x7F7F; ++b) {
    std::uint32_t const low = b << 16, middle = low + 0x8000;
    bool const right = narrowed(low) == b && narrowed(middle - 1) == b && narrowed(middle + 1) == b + 1 &&
                       narrowed(middle) == (b % 2 == 0 ? b : b + 1);
    if (!right) FAIL("wrong rounding above " << b);
  }
  SUCCEED();
}

TEST_CASE("a double is rounded once", "[core]") {
  // Just above a midpoint by less than a float can hold: two roundings would give the even neighbour below.
  REQUIRE(heddle::bf16(1.00390625 + 1e-12).bits == 0x3F81);
  REQUIRE(heddle::bf16(1.00390625 - 1e-12).bits == 0x3F80);
  REQUIRE(heddle::bf16(-1.00390625 - 1e-12).bits == 0xBF81);
  REQUIRE(heddle::bf16(1e300).bits == 0x7F80);
  REQUIRE(heddle::bf16(-1e300).bits == 0xFF80);
  REQUIRE(heddle::bf16(1e-300).bits == 0x0000);
  REQUIRE(heddle::bf16(3).bits == 0x4040);
  REQUIRE(heddle::bf16(257).bits == 0x4380);
}

TEST_CASE("bf16 is plain storage", "[core]") {
  STATIC_REQUIRE(std::is_trivially_copyable_v<heddle::bf16>);
  STATIC_REQUIRE(std::is_trivially_default_constructible_v<heddle::bf16>);
  STATIC_REQUIRE(sizeof(heddle::bf16) == 2);
  STATIC_REQUIRE(heddle::bf16(1.5f).bits == 0x3FC0);
  REQUIRE(heddle::bf16(1.0f) == heddle::bf16(1.0f));
  REQUIRE(heddle::bf16(1.0f) < heddle::bf16(2.0f));
  REQUIRE_FALSE(std::is_convertible_v<float, heddle::bf16>);
}
