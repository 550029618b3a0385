// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/extents.hpp>
#include <heddle/pipeline/schedule.hpp>

#include <vector>

namespace heddle::pipeline {

/// What one microbatch holds on one stage. Units: bytes, or any other unit used throughout.
struct stage_bytes {
  index_t saved = 0;     ///< from F to the end of B
  index_t kept = 0;      ///< from F to the end of W
  index_t deferred = 0;  ///< from B to the end of W
};

/// The change of live bytes while one operation runs, and behind it. BW counts as B, then W.
struct memory_step {
  index_t at_start = 0;
  index_t at_end = 0;
};

/// What an operation of a kind does to the live bytes of a stage.
HEDDLE_FN constexpr memory_step step_of(op_kind kind, stage_bytes const& b, bool forward_only) noexcept {
  switch (kind) {
    case op_kind::forward:
      return {b.saved + b.kept, forward_only ? -b.saved - b.kept : 0};
    case op_kind::backward_input:
      return {b.deferred, -b.saved};
    case op_kind::backward_weight:
      return {0, -b.kept - b.deferred};
    case op_kind::backward:
      return {b.deferred, -b.saved - b.kept - b.deferred};
    default:
      return {0, 0};
  }
}

/// The most bytes live at once on each device. Order alone decides it, so no times are needed.
///
/// Pre: one entry of `bytes` per stage, or one for all; every operation's stage is in range.
/// Complexity: O(operations).
HEDDLE_FN std::vector<index_t> peak_bytes(schedule const& s, std::vector<stage_bytes> const& bytes) {
  HEDDLE_EXPECTS(bytes.size() == 1 || bytes.size() == static_cast<std::size_t>(s.stages),
                 "give bytes for each stage, or once for all", bytes.size(), s.stages);
  std::vector<index_t> peaks;
  for (auto const& list : s.order) {
    index_t live = 0, peak = 0;
    for (operation const& op : list) {
      HEDDLE_EXPECTS(op.stage >= 0 && op.stage < s.stages, "the stage must exist", op.stage, s.stages);
      memory_step const step =
          step_of(op.kind, bytes.size() == 1 ? bytes[0] : bytes[static_cast<std::size_t>(op.stage)], s.forward_only);
      live += step.at_start;
      peak = live > peak ? live : peak;
      live += step.at_end;
    }
    peaks.push_back(peak);
  }
  return peaks;
}

}  // namespace heddle::pipeline
