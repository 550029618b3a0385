// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/report/svg.hpp>

#include <string>
#include <vector>

namespace heddle::report {

/// A range of values on a stretch of pixels, with round numbers marked.
///
/// Steps between marks are 1, 2 or 5 times a power of ten. Determinism: no libm, the same marks on every machine.
class axis {
 public:
  /// Covers [lo, hi], widened to whole steps where `round`. A range that is empty or not finite becomes [0, 1].
  HEDDLE_FN axis(double lo, double hi, double pixel_lo, double pixel_hi, int most_steps, bool round)
      : pixel_lo_(pixel_lo), pixel_hi_(pixel_hi) {
    if (!(lo <= hi) || lo - lo != 0 || hi - hi != 0) lo = 0, hi = 1;
    if (lo == hi) widen(lo, hi);
    pick_step((hi - lo) / (most_steps < 1 ? 1 : most_steps));
    long long const first = round ? floor_of(lo / step_) : -floor_of(-lo / step_);
    long long const last = round ? -floor_of(-hi / step_) : floor_of(hi / step_);
    for (long long k = first; k <= last && k - first < 1000; ++k) marks_.push_back(mark(k));
    lo_ = round && !marks_.empty() ? marks_.front() : lo;
    hi_ = round && !marks_.empty() ? marks_.back() : hi;
  }
  HEDDLE_FN axis(axis const&) = default;
  HEDDLE_FN axis(axis&&) noexcept = default;
  HEDDLE_FN axis& operator=(axis const&) = default;
  HEDDLE_FN axis& operator=(axis&&) noexcept = default;
  HEDDLE_FN ~axis() = default;

  HEDDLE_FN std::vector<double> const& marks() const noexcept { return marks_; }
  HEDDLE_FN std::string label(double value) const { return fixed(value, decimals_); }
  HEDDLE_FN double lo() const noexcept { return lo_; }
  HEDDLE_FN double hi() const noexcept { return hi_; }

  // The division keeps compilers from joining product and sum into one rounding.
  HEDDLE_FN double operator()(double value) const noexcept {
    return pixel_lo_ + (value - lo_) * (pixel_hi_ - pixel_lo_) / (hi_ - lo_);
  }

 private:
  static HEDDLE_FN void widen(double& lo, double& hi) noexcept {
    double const by = lo == 0 ? 1 : (lo < 0 ? -lo : lo) / 10;
    lo -= by;
    hi += by;
  }
  static HEDDLE_FN long long floor_of(double v) noexcept {
    // What misses a whole number by rounding alone counts as whole.
    auto k = static_cast<long long>(v);
    if (static_cast<double>(k) > v) --k;
    return v - static_cast<double>(k) > 1 - 1e-9 ? k + 1 : k;
  }
  HEDDLE_FN void pick_step(double at_least) noexcept {
    double power = 1;
    while (power > at_least && decimals_ < 300) power /= 10, ++decimals_;
    while (power * 10 <= at_least) power *= 10;
    factor_ = power >= at_least ? 1 : 2 * power >= at_least ? 2 : 5 * power >= at_least ? 5 : 10;
    if (factor_ == 10 && decimals_ > 0) --decimals_;
    step_ = factor_ * power;
  }
  HEDDLE_FN double mark(long long k) const noexcept { return static_cast<double>(k) * step_; }

  double pixel_lo_, pixel_hi_;
  double lo_ = 0, hi_ = 1;
  double step_ = 1;
  int factor_ = 1;
  int decimals_ = 0;
  std::vector<double> marks_;
};

}  // namespace heddle::report
