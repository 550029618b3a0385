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

namespace {
// The nearest number of a narrow float to an integer, ties to even, by comparing exact distances in units of 2^-24.
template <class T>
T nearest(__int128 x) {
  using code = decltype(T{}.bits);
  bool const negative = x < 0;
  __int128 const at = (negative ? -x : x) << 24;
  auto const value = [](std::uint32_t bits) {
    double const v = static_cast<double>(T::from_bits(static_cast<code>(bits)));
    return static_cast<__int128>((v < 0x1p65 ? v : 0x1p65) * 0x1p24);
  };
  std::uint32_t lo = 0, hi = largest<T>().bits;  // value(lo) <= at < value(hi)
  while (hi - lo > 1) (value((lo + hi) / 2) <= at ? lo : hi) = (lo + hi) / 2;
  __int128 const below = at - value(lo), above = value(hi) - at;
  std::uint32_t const bits = below < above || (below == above && lo % 2 == 0) ? lo : hi;
  return T::from_bits(static_cast<code>(bits | (negative ? 1u << (8 * sizeof(T) - 1) : 0u)));
}

// Integers at, and one beside, every point halfway between neighbours: there a second rounding shows.
template <class T, class I>
void check_integers() {
  using code = decltype(T{}.bits);
  int wrong = 0, seen = 0;
  for (std::uint32_t bits = 0; bits < largest<T>().bits; ++bits) {
    double const lo = static_cast<double>(T::from_bits(static_cast<code>(bits)));
    double const hi = static_cast<double>(T::from_bits(static_cast<code>(bits + 1)));
    double const half = (lo + hi) / 2;
    if (half < 1 || half >= static_cast<double>(std::numeric_limits<I>::max())) continue;
    for (int beside = -1; beside <= 1; ++beside) {
      __int128 const x = static_cast<__int128>(half) + beside;
      if (x < 1 || x > std::numeric_limits<I>::max()) continue;
      wrong += T(static_cast<I>(x)).bits != nearest<T>(x).bits;
      if (std::is_signed_v<I>) wrong += T(static_cast<I>(-x)).bits != nearest<T>(-x).bits;
      ++seen;
    }
  }
  INFO(scalar_name<T>() << " of " << scalar_name<I>());
  CHECK(wrong == 0);
  CHECK(seen > 2);
}
}  // namespace

TEMPLATE_TEST_CASE("integers of every width round once to every narrow float", "[core]", std::int8_t, std::uint8_t,
                   std::int16_t, std::uint16_t, std::int32_t, std::uint32_t, std::int64_t, std::uint64_t) {
  check_integers<bf16, TestType>();
  check_integers<fp16, TestType>();
  check_integers<fp8_e4m3, TestType>();
  check_integers<fp8_e5m2, TestType>();
  CHECK(bf16(TestType(0)).bits == 0);
}

TEST_CASE("an integer above a halfway point rounds up however little", "[core]") {
  std::int64_t const x = (std::int64_t{1} << 62) + (std::int64_t{1} << 54) + 1;
  CHECK(bf16(x).bits == 0x5E81);
  CHECK(bf16(-x).bits == 0xDE81);
  CHECK(bf16(x - 1).bits == 0x5E80);
  CHECK(bf16(static_cast<std::uint64_t>(x)).bits == 0x5E81);
  CHECK(bf16(std::numeric_limits<std::int64_t>::min()).bits == 0xDF00);
  CHECK(bf16(std::numeric_limits<std::uint64_t>::max()).bits == 0x5F80);
  CHECK(fp16(std::numeric_limits<std::int64_t>::max()).bits == 0x7C00);
}
