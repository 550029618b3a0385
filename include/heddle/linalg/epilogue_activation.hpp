// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/math_activation.hpp>
#include <heddle/linalg/epilogue.hpp>

/// @file
/// Activations as epilogues, with the bits that nn's operations give:
/// `epilogue::then{epilogue::add_bias{b}, epilogue::gelu}`.

namespace heddle::epilogue {

/// GELU by tanh, as GPT-2 uses it.
inline constexpr activation<gelu_tanh_value> gelu{};
/// GELU by erf, the exact one.
inline constexpr activation<gelu_erf_value> gelu_erf{};
/// SiLU, also called swish.
inline constexpr activation<silu_value> silu{};

}  // namespace heddle::epilogue
