// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/core/scalar.hpp>

#include "support/catch.hpp"

#include <cstring>
#include <limits>

using namespace heddle;

TEST_CASE("accumulators", "[core]") {
  STATIC_REQUIRE(std::is_same_v<accumulator_t<bf16>, float>);
  STATIC_REQUIRE(std::is_same_v<accumulator_t<fp16>, float>);
  STATIC_REQUIRE(std::is_same_v<accumulator_t<fp8_e4m3>, float>);
  STATIC_REQUIRE(std::is_same_v<accumulator_t<fp8_e5m2>, float>);
  STATIC_REQUIRE(std::is_same_v<accumulator_t<float>, float>);
  STATIC_REQUIRE(std::is_same_v<accumulator_t<double>, double>);
  STATIC_REQUIRE(std::is_same_v<accumulator_t<std::int8_t>, std::int8_t>);
  STATIC_REQUIRE(scalar<std::uint64_t>);
  STATIC_REQUIRE_FALSE(scalar<bool>);
  STATIC_REQUIRE_FALSE(scalar<char*>);
  STATIC_REQUIRE(floating_scalar<bf16>);
  STATIC_REQUIRE_FALSE(floating_scalar<int>);
}

TEST_CASE("names, limits and NaN", "[core]") {
  REQUIRE(std::strcmp(scalar_name<bf16>(), "bf16") == 0);
  REQUIRE(std::strcmp(scalar_name<std::uint16_t>(), "u16") == 0);
  REQUIRE(std::strcmp(scalar_name<std::int64_t>(), "i64") == 0);
  REQUIRE(largest<float>() == std::numeric_limits<float>::max());
  REQUIRE(largest<double>() == std::numeric_limits<double>::max());
  REQUIRE(float(largest<fp16>()) == 65504.0f);
  REQUIRE(float(largest<fp8_e4m3>()) == 448.0f);
  REQUIRE(float(largest<fp8_e5m2>()) == 57344.0f);
  REQUIRE(unit_roundoff<float> == 0x1p-24);
  REQUIRE(unit_roundoff<bf16> == 0x1p-8);
  REQUIRE(bit_cast<std::uint32_t>(canonical_nan<float>()) == 0x7FC00000u);
  REQUIRE(canonical_nan<bf16>().bits == 0x7FC0);
  REQUIRE(canonical_nan<fp16>().bits == 0x7E00);
  REQUIRE(is_nan(canonical_nan<fp8_e4m3>()));
  REQUIRE(is_nan(canonical_nan<fp8_e5m2>()));
  REQUIRE_FALSE(is_nan(7));
  REQUIRE(bit_cast<std::uint32_t>(with_canonical_nan(bit_cast<float>(0xFF812345u))) == 0x7FC00000u);
  REQUIRE(with_canonical_nan(-3.0f) == -3.0f);
}
