// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/backend/reference/matmul.hpp>
#include <heddle/core/bf16.hpp>
#include <heddle/exec/reference_executor.hpp>
#include <heddle/linalg/matmul.hpp>

#include <support/catch.hpp>

using namespace heddle;

namespace {
template <class A, class B, class C>
constexpr bool fits = matmul_elements<view<A, 2>, view<B, 2>, view<C, 2>>;

/// The least that an epilogue is: a call with a number and its place.
struct negative {
  template <class V>
  HEDDLE_TILE V operator()(V const& value, index_t, index_t, index_t) const {
    return -value;
  }
};
}  // namespace

TEST_CASE("products accept what they can accumulate", "[linalg]") {
  STATIC_REQUIRE((fits<float const, float, float> && fits<double, double const, double>));
  STATIC_REQUIRE((fits<bf16 const, bf16, float> && fits<bf16, bf16, bf16>));
  STATIC_REQUIRE((!fits<float, double, double> && !fits<float, float, double> && !fits<float, float, bf16>));
  STATIC_REQUIRE((!fits<float, float, float const> && !fits<int, int, int> && !fits<bf16, float, float>));
}

TEST_CASE("an epilogue of the user's is applied to what is stored", "[linalg]") {
  reference_executor exec;
  float const a[2] = {3, 5};
  float c = 0;
  matmul(exec, view<float const, 2>(a, dims<2>(1, 2)), view<float const, 2>(a, dims<2>(2, 1)),
         view<float, 2>(&c, dims<2>(1, 1)), {}, negative{});
  CHECK(c == -34);
}
