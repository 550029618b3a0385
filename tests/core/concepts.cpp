// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/core/bf16.hpp>
#include <heddle/core/fp16.hpp>
#include <heddle/core/fp8.hpp>
#include <heddle/core/math.hpp>
#include <heddle/core/monoid.hpp>
#include <heddle/core/scalar.hpp>
#include <heddle/core/tensor_view.hpp>

#include <support/catch.hpp>

#include <string>

using namespace heddle;

namespace {

/// A user's float of half the bits: the upper half of a float, cut off.
struct upper_half {
  std::uint16_t bits;
  static float widen(std::uint32_t code) { return bit_cast<float>(code << 16); }
  static std::uint32_t narrow(float f) { return bit_cast<std::uint32_t>(f) >> 16; }
};
struct without_narrow {
  std::uint16_t bits;
  static float widen(std::uint32_t);
};
struct widens_to_double {
  std::uint16_t bits;
  static double widen(std::uint32_t);
  static std::uint32_t narrow(float);
};

struct longest {
  using value_type = int;
  static constexpr bool commutative = true, exact = true;
  int identity() const { return 0; }
  int combine(int a, int b) const { return a > b ? a : b; }
};
struct without_flags {
  using value_type = int;
  int identity() const;
  int combine(int, int) const;
};
struct combines_to_another : longest {
  long combine(int, int) const;
};
struct owning : longest {
  ~owning() {}
};

}  // namespace

TEST_CASE("concepts of element types hold for their models and refuse others", "[core]") {
  STATIC_REQUIRE((storage_float<bf16> && storage_float<fp16> && storage_float<fp8_e4m3> && storage_float<fp8_e5m2>));
  STATIC_REQUIRE((storage_float<upper_half> && scalar<upper_half> && floating_scalar<upper_half>));
  STATIC_REQUIRE((!storage_float<without_narrow> && !storage_float<widens_to_double> && !storage_float<float>));
  STATIC_REQUIRE((scalar<int> && scalar<double> && !scalar<bool> && !scalar<std::string> && !scalar<int*>));
  STATIC_REQUIRE((floating_scalar<float> && !floating_scalar<int> && arithmetic<bool> && !arithmetic<bf16>));
  STATIC_REQUIRE((real_lanes<float> && real_lanes<double> && !real_lanes<int> && !real_lanes<bf16>));
  STATIC_REQUIRE(std::is_same_v<accumulator_t<upper_half>, float>);
}

TEST_CASE("concepts of views hold for their models and refuse others", "[core]") {
  STATIC_REQUIRE((any_view<view<float, 3>> && vector_view<view<int const, 1>> && matrix_view<view<float, 2>>));
  STATIC_REQUIRE((!any_view<float*> && !vector_view<view<float, 2>> && !matrix_view<view<float, 1>>));
  STATIC_REQUIRE((writable_view<view<float, 1>> && !writable_view<view<float const, 1>> && !writable_view<int>));
  STATIC_REQUIRE((can_agree<view<float, 1>, tensor_view<float, extents<3>>>(0, 0)));
  STATIC_REQUIRE((!can_agree<tensor_view<float, extents<4, 3>>, tensor_view<float, extents<4>>>(1, 0)));
}

TEST_CASE("monoids are known by their members", "[core]") {
  STATIC_REQUIRE((monoid<longest> && monoid<plus<float>> && monoid<maximum<std::int8_t>> && !monoid<plus<>>));
  STATIC_REQUIRE((!monoid<without_flags> && !monoid<combines_to_another> && !monoid<owning>));
  STATIC_REQUIRE((monoid_on<longest, int> && !monoid_on<longest, long>));
  STATIC_REQUIRE((is_lanewise<plus<float>> && !is_lanewise<longest>));
}
