// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/contracts.hpp>
#include <heddle/pipeline/operation.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace heddle::pipeline {

/// Who runs what, and in which order: one list of operations per device.
///
/// A plain value with open members. Generators make it, `parse` reads it, `verify` judges it, `simulate` and the
/// executor replay it; none of them needs the others. Order is all it holds: times come from a simulation, buffers
/// from `slots`. Units: `devices`, `stages` and `microbatches` are counts.
struct schedule {
  int devices = 0;
  int stages = 0;
  int microbatches = 0;
  bool forward_only = false;                  ///< neither B nor W is expected
  std::vector<int> placement;                 ///< the device of each stage
  std::vector<std::vector<operation>> order;  ///< per device, first to last
  std::string provenance;                     ///< who made it, for people

  HEDDLE_FN schedule() = default;
  HEDDLE_FN schedule(schedule const&) = default;
  HEDDLE_FN schedule(schedule&&) noexcept = default;
  HEDDLE_FN schedule& operator=(schedule const&) = default;
  HEDDLE_FN schedule& operator=(schedule&&) noexcept = default;
  HEDDLE_FN ~schedule() = default;

  /// Empty lists; stage s lies on device s modulo `device_count`.
  HEDDLE_FN schedule(int device_count, int stage_count, int microbatch_count)
      : devices(device_count), stages(stage_count), microbatches(microbatch_count) {
    HEDDLE_EXPECTS(device_count >= 1, "a schedule needs a device", device_count);
    HEDDLE_EXPECTS(stage_count >= 1, "a schedule needs a stage", stage_count);
    HEDDLE_EXPECTS(microbatch_count >= 0, "a number of microbatches can't be negative", microbatch_count);
    for (int s = 0; s < stage_count; ++s) placement.push_back(s % device_count);
    order.resize(static_cast<std::size_t>(device_count));
  }

  /// The list of one device. Pre: 0 <= device < devices.
  HEDDLE_FN std::vector<operation>& on(int device) {
    HEDDLE_EXPECTS(device >= 0 && static_cast<std::size_t>(device) < order.size(), "the device must exist", device);
    return order[static_cast<std::size_t>(device)];
  }
  HEDDLE_FN std::vector<operation> const& on(int device) const {
    HEDDLE_EXPECTS(device >= 0 && static_cast<std::size_t>(device) < order.size(), "the device must exist", device);
    return order[static_cast<std::size_t>(device)];
  }

  /// The device of a stage. Pre: 0 <= stage < stages.
  HEDDLE_FN int device_of(int stage) const {
    HEDDLE_EXPECTS(stage >= 0 && static_cast<std::size_t>(stage) < placement.size(), "the stage must exist", stage);
    return placement[static_cast<std::size_t>(stage)];
  }

  /// Equal in all but provenance.
  friend HEDDLE_FN bool operator==(schedule const& a, schedule const& b) {
    return a.devices == b.devices && a.stages == b.stages && a.microbatches == b.microbatches &&
           a.forward_only == b.forward_only && a.placement == b.placement && a.order == b.order;
  }
};

/// Whether messages have been placed among the operations.
HEDDLE_FN bool is_lowered(schedule const& s) noexcept {
  for (auto const& list : s.order)
    for (operation const& op : list)
      if (is_message(op.kind)) return true;
  return false;
}

/// The token of an operation: F3.7 is the forward pass of stage 3 and microbatch 7, O3 the optimizer of stage 3.
HEDDLE_FN std::string to_string(operation const& op) {
  std::string t = token(op.kind) + std::to_string(op.stage);
  return op.kind == op_kind::optimizer ? t : t + "." + std::to_string(op.microbatch);
}

/// An operation by device and position in that device's list.
struct op_place {
  int device = 0;
  int position = 0;

  friend HEDDLE_FN bool operator==(op_place const& a, op_place const& b) noexcept {
    return a.device == b.device && a.position == b.position;
  }
};

}  // namespace heddle::pipeline
