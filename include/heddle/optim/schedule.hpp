// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/extents.hpp>
#include <heddle/core/math_trigonometric.hpp>

/// @file
/// Learning-rate schedules: pure functions of the step, counted from 0.

namespace heddle::optim {

/// How the rate falls after the warm-up.
enum class lr_shape { constant, linear, cosine };

/// Linear warm-up to `peak`, then constant, or falling to `floor` at step `total` and staying there.
///
/// Units: steps from 0. Post: step s < warmup gives peak·(s+1)/warmup; step `warmup` gives peak. Determinism: fp64 in
/// a fixed order. Pre: 0 <= warmup, and total >= warmup unless constant.
struct lr_schedule {
  double peak = 1e-3;
  double floor = 0;
  index_t warmup = 0;
  index_t total = 0;
  lr_shape shape = lr_shape::constant;

  HEDDLE_FN double operator()(index_t step) const {
    HEDDLE_EXPECTS(step >= 0 && warmup >= 0, "steps count from 0", step, warmup);
    if (step < warmup) return mul(peak, static_cast<double>(step + 1)) / static_cast<double>(warmup);
    if (shape == lr_shape::constant) return peak;
    HEDDLE_EXPECTS(total >= warmup, "the schedule ends after its warm-up", total, warmup);
    if (step >= total) return floor;
    double const x = static_cast<double>(step - warmup) / static_cast<double>(total - warmup);
    constexpr double pi = 3.14159265358979323846;
    double const share = shape == lr_shape::linear ? 1 - x : mul(0.5, 1 + cos(mul(pi, x)));
    return floor + mul(peak - floor, share);
  }
};

}  // namespace heddle::optim
