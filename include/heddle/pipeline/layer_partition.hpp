// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/contracts.hpp>

#include <vector>

namespace heddle::pipeline {

/// The layers [lo, hi) of a stage.
struct layer_range {
  int lo = 0;
  int hi = 0;

  HEDDLE_FN constexpr int size() const noexcept { return hi - lo; }
  friend HEDDLE_FN constexpr bool operator==(layer_range const& a, layer_range const& b) noexcept {
    return a.lo == b.lo && a.hi == b.hi;
  }
};

/// The layers of one stage when `layers` are spread evenly in order; the first `layers % stages` stages take one more.
///
/// Pre: layers >= 0, stages >= 1, 0 <= stage < stages. Post: over all stages the ranges are contiguous and disjoint and
/// cover every layer once; a stage may be empty. Complexity: O(1).
HEDDLE_FN constexpr layer_range partition(int layers, int stages, int stage) {
  HEDDLE_EXPECTS(layers >= 0, "a number of layers can't be negative", layers);
  HEDDLE_EXPECTS(stages >= 1, "a pipeline needs a stage", stages);
  HEDDLE_EXPECTS(stage >= 0 && stage < stages, "the stage must exist", stage, stages);
  int const each = layers / stages, extra = layers % stages;
  int const lo = stage * each + (stage < extra ? stage : extra);
  return {lo, lo + each + (stage < extra ? 1 : 0)};
}

/// The layers of every stage.
HEDDLE_FN std::vector<layer_range> partition(int layers, int stages) {
  HEDDLE_EXPECTS(stages >= 1, "a pipeline needs a stage", stages);
  std::vector<layer_range> ranges;
  for (int stage = 0; stage < stages; ++stage) ranges.push_back(partition(layers, stages, stage));
  return ranges;
}

}  // namespace heddle::pipeline
