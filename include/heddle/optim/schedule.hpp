// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/optim/detail/product.hpp>

/// @file
/// Learning-rate schedules: pure functions of the step, counted from 0.

namespace heddle::optim {

namespace detail {
/// cos(pi·x) for 0 <= x <= 1, as a polynomial in a fixed order; absolute error below 1e-15.
HEDDLE_HD_FN double cos_pi(double x) noexcept {
  // cos(pi x) = sin(pi (1/2 - x)): an odd series on [-pi/2, pi/2].
  constexpr double pi = 3.14159265358979323846;
  double const y = product(pi, 0.5 - x), y2 = product(y, y);
  double sum = 0;
  for (int k = 12; k >= 0; --k) {
    // Horner's scheme on y²: 1 - y²/(2·3)·(1 - y²/(4·5)·(...)).
    double const below = static_cast<double>((2 * k + 2) * (2 * k + 3));
    sum = 1 - product(y2 / below, k == 12 ? 1.0 : sum);
  }
  return product(y, sum);
}
}  // namespace detail

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
    if (step < warmup) return detail::product(peak, static_cast<double>(step + 1)) / static_cast<double>(warmup);
    if (shape == lr_shape::constant) return peak;
    HEDDLE_EXPECTS(total >= warmup, "the schedule ends after its warm-up", total, warmup);
    if (step >= total) return floor;
    double const x = static_cast<double>(step - warmup) / static_cast<double>(total - warmup);
    double const share = shape == lr_shape::linear ? 1 - x : detail::product(0.5, 1 + detail::cos_pi(x));
    return floor + detail::product(peak - floor, share);
  }
};

}  // namespace heddle::optim
