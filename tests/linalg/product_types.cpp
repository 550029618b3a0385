// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/linalg/product_types.hpp>

#include <support/catch.hpp>

using namespace heddle;

TEST_CASE("which element types multiply, and what epilogues see", "[linalg]") {
  STATIC_REQUIRE(product_types<float, float, float>);
  STATIC_REQUIRE(product_types<double, double, double>);
  STATIC_REQUIRE(product_types<bf16, bf16, float>);
  STATIC_REQUIRE(product_types<fp16, fp16, fp16>);
  STATIC_REQUIRE_FALSE(product_types<float, double, float>);
  STATIC_REQUIRE_FALSE(product_types<float, float, bf16>);
  STATIC_REQUIRE_FALSE(product_types<float, bf16, float>);
  STATIC_REQUIRE_FALSE(product_types<std::int32_t, std::int32_t, std::int32_t>);

  STATIC_REQUIRE(product_types<std::uint8_t, std::int8_t, std::int32_t>);
  STATIC_REQUIRE(product_types<std::int8_t, std::int8_t, bf16>);
  STATIC_REQUIRE_FALSE(product_types<std::int8_t, std::uint8_t, std::int32_t>);
  STATIC_REQUIRE_FALSE(product_types<std::int8_t, std::int8_t, std::int8_t>);
  STATIC_REQUIRE_FALSE(product_types<float, std::int8_t, float>);

  STATIC_REQUIRE(product_types<float, fp8_e4m3, float>);
  STATIC_REQUIRE(product_types<bf16, fp8_e5m2, bf16>);
  STATIC_REQUIRE(product_types<bf16, int4_code, float>);
  STATIC_REQUIRE_FALSE(product_types<double, fp8_e4m3, double>);
  STATIC_REQUIRE_FALSE(product_types<fp8_e4m3, float, float>);

  STATIC_REQUIRE(product_results<float, float, bf16>);
  STATIC_REQUIRE(product_results<bf16, bf16, fp8_e5m2>);
  STATIC_REQUIRE(product_results<std::int8_t, std::int8_t, std::int8_t>);
  STATIC_REQUIRE(product_results<double, double, double>);
  STATIC_REQUIRE_FALSE(product_results<double, double, bf16>);
  STATIC_REQUIRE_FALSE(product_results<float, float, std::uint8_t>);

  STATIC_REQUIRE(std::is_same_v<product_number_t<std::int8_t, std::int8_t>, float>);
  STATIC_REQUIRE(std::is_same_v<product_number_t<bf16, bf16>, float>);
  STATIC_REQUIRE(std::is_same_v<product_number_t<double, double>, double>);
  STATIC_REQUIRE(std::is_same_v<product_number_t<std::int8_t, std::int32_t>, std::int32_t>);
  STATIC_REQUIRE(std::is_same_v<product_number_t<std::uint8_t, bf16>, float>);
}
