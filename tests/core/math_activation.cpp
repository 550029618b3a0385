// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/core/math_activation.hpp>
#include <heddle/core/scalar.hpp>
#include <heddle/tile/vec.hpp>

#include <support/catch.hpp>

#include <cmath>

using namespace heddle;

namespace {

double gelu_tanh(double x) { return x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))) / 2; }
double gelu_erf(double x) { return x * std::erfc(-x / std::sqrt(2.0)) / 2; }
double silu(double x) { return x / (1 + std::exp(-x)); }

// The inner function is wrong by a few roundings of numbers up to 2, the product with x / 2 by two more.
template <class F>
void require_close(F const& f, double (*exact)(double)) {
  for (int i = -4000; i <= 4000; ++i) {
    float const x = static_cast<float>(i) / 200;
    double const error = std::fabs(static_cast<double>(f(x)) - exact(static_cast<double>(x)));
    INFO(x);
    REQUIRE(error <= 8 * unit_roundoff<float> * std::fabs(static_cast<double>(x)));
  }
  CHECK(std::isnan(f(__builtin_nanf(""))));
  CHECK(f(__builtin_inff()) == __builtin_inff());
}

// The lanes of a vector have the bits of the number.
template <class F>
void require_lanes(F const& f) {
  float in[4] = {-3.5f, -0.0f, 0.7f, 12.0f}, out[4];
  store_as(out, f(load_as<vec<float, 4>>(in)));
  for (int i = 0; i < 4; ++i) CHECK(__builtin_bit_cast(unsigned, out[i]) == __builtin_bit_cast(unsigned, f(in[i])));
}

}  // namespace

TEST_CASE("activations of one element", "[core]") {
  require_close(gelu_tanh_value{}, gelu_tanh);
  require_close(gelu_erf_value{}, gelu_erf);
  require_close(silu_value{}, silu);
  require_lanes(gelu_tanh_value{});
  require_lanes(gelu_erf_value{});
  require_lanes(silu_value{});
}
