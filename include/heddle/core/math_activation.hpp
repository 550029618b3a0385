// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/extents.hpp>
#include <heddle/core/math_sigmoidal.hpp>

/// @file
/// Activation functions of one element as callables: nn applies them to matrices, epilogues to products.

namespace heddle {

namespace detail {
// A constant, rounded once to the type of the value.
template <class V>
HEDDLE_TILE V constant(double c) {
  return splat<V>(static_cast<lane_t<V>>(c));
}

// What GELU and its gradient share: the approximation is x (1 + tanh(s (x + c x^3))) / 2, of slope s (1 + 3 c x^2).
inline constexpr double gelu_inner_slope = 0.79788456080286535588;  // s = sqrt(2 / pi)
inline constexpr double gelu_cubic = 0.044715;                      // c
inline constexpr double gelu_cubic_slope = 0.134145;                // 3 c
inline constexpr double root_of_half = 0.70710678118654752440;
}  // namespace detail

/// GELU(x) as GPT-2 approximates it: x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2.
///
/// Types: float, double, vec of them. Determinism: the same bits everywhere. Numerics: finite for every finite x, NaN
/// for -inf; in the normal range wrong by at most 8 roundings of |x|. Source: Hendrycks, Gimpel 2016.
struct gelu_tanh_value {
  static constexpr index_t flops = 9;
  HEDDLE_DEVICE_PASS_QUIET
  template <class V>
  HEDDLE_TILE V operator()(V const& x) const {
    V const cubic = fma(mul(detail::constant<V>(detail::gelu_cubic), mul(x, x)), x, x);
    V const inner = mul(detail::constant<V>(detail::gelu_inner_slope), cubic);
    return mul(mul(detail::constant<V>(0.5), x), detail::constant<V>(1) + tanh(inner));
  }
};

/// GELU(x) = x Phi(x), exactly: x (1 + erf(x / sqrt(2))) / 2. Types, Determinism, Numerics: as gelu_tanh_value.
struct gelu_erf_value {
  static constexpr index_t flops = 5;
  HEDDLE_DEVICE_PASS_QUIET
  template <class V>
  HEDDLE_TILE V operator()(V const& x) const {
    V const cumulative = detail::constant<V>(1) + erf(mul(x, detail::constant<V>(detail::root_of_half)));
    return mul(mul(detail::constant<V>(0.5), x), cumulative);
  }
};

/// SiLU(x) = x / (1 + exp(-x)). Types, Determinism, Numerics: as gelu_tanh_value.
struct silu_value {
  static constexpr index_t flops = 3;
  HEDDLE_DEVICE_PASS_QUIET
  template <class V>
  HEDDLE_TILE V operator()(V const& x) const {
    return x / (detail::constant<V>(1) + exp(V(-x)));
  }
};

/// SwiGLU of one element, SiLU(gate) up. Types, Determinism: as gelu_tanh_value. Source: Shazeer 2020.
struct swiglu_value {
  static constexpr index_t flops = 4;
  HEDDLE_DEVICE_PASS_QUIET
  template <class V>
  HEDDLE_TILE V operator()(V const& gate, V const& up) const {
    return mul(silu_value{}(gate), up);
  }
};

}  // namespace heddle
