// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// All elementary functions: exp, exp2, log, pow, rsqrt, tanh, erf, sincos, sin, cos.

#include <heddle/core/math_exponential.hpp>
#include <heddle/core/math_power.hpp>
#include <heddle/core/math_sigmoidal.hpp>
#include <heddle/core/math_trigonometric.hpp>
