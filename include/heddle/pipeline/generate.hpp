// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/pipeline/detail/join.hpp>
#include <heddle/pipeline/schedule.hpp>

#include <string>
#include <vector>

namespace heddle::pipeline {

/// How the backward pass of a microbatch is cut.
enum class backward_form {
  fused,     ///< BW: input and weight gradients in one operation
  split,     ///< B, and its W right behind it
  deferred,  ///< every W of a device behind its last B; costs the memory of all waiting W
};

/// The name of a form as the enumeration spells it.
HEDDLE_FN char const* name(backward_form form) noexcept {
  return form == backward_form::fused ? "fused" : form == backward_form::split ? "split" : "deferred";
}

namespace detail {
HEDDLE_FN void check_sizes(int devices, int microbatches) {
  HEDDLE_EXPECTS(devices >= 1, "a pipeline needs a device", devices);
  HEDDLE_EXPECTS(microbatches >= 1, "a pipeline needs a microbatch", microbatches);
}

HEDDLE_FN void append_backward(std::vector<operation>& list, int stage, int microbatch, backward_form form) {
  if (form == backward_form::fused) {
    list.push_back({op_kind::backward, stage, microbatch});
    return;
  }
  list.push_back({op_kind::backward_input, stage, microbatch});
  if (form == backward_form::split) list.push_back({op_kind::backward_weight, stage, microbatch});
}

HEDDLE_FN void append_deferred(std::vector<operation>& list, int stage, int microbatches, backward_form form) {
  if (form != backward_form::deferred) return;
  for (int m = 0; m < microbatches; ++m) list.push_back({op_kind::backward_weight, stage, m});
}

HEDDLE_FN std::string describe(char const* generator, int devices, int microbatches, backward_form form) {
  return std::string(generator) + "(" + std::to_string(devices) + "," + std::to_string(microbatches) + "," +
         name(form) + ")";
}
}  // namespace detail

/// Makes GPipe: every device runs all F, then all backward work, both in ascending order of microbatches.
///
/// One stage per device. Pre: devices >= 1, microbatches >= 1; microbatches may be fewer than devices.
/// Complexity: O(devices * microbatches). Memory of the result in use: `microbatches` activations on every device.
/// Source: GPipe, figure 2(c); the backward order is ascending here, so that weight gradients ascend.
HEDDLE_FN schedule gpipe(int devices, int microbatches, backward_form form = backward_form::fused) {
  detail::check_sizes(devices, microbatches);
  schedule s(devices, devices, microbatches);
  s.provenance = detail::describe("gpipe", devices, microbatches, form);
  for (int device = 0; device < devices; ++device) {
    std::vector<operation>& list = s.on(device);
    for (int m = 0; m < microbatches; ++m) list.push_back({op_kind::forward, device, m});
    for (int m = 0; m < microbatches; ++m) detail::append_backward(list, device, m, form);
    detail::append_deferred(list, device, microbatches, form);
  }
  return s;
}

/// Makes 1F1B with flush: a warm-up of min(M, P - 1 - p) F, pairs of F and backward, then the remaining backward work.
///
/// One stage per device. Pre: devices >= 1, microbatches >= 1; microbatches may be fewer than devices.
/// Complexity: O(devices * microbatches). Memory of the result in use: min(M, P - p) activations on device p.
/// Source: PipeDream-flush, Memory-Efficient Pipeline-Parallel DNN Training, section 3.2.
HEDDLE_FN schedule one_forward_one_backward(int devices, int microbatches, backward_form form = backward_form::fused) {
  detail::check_sizes(devices, microbatches);
  schedule s(devices, devices, microbatches);
  s.provenance = detail::describe("1f1b", devices, microbatches, form);
  for (int device = 0; device < devices; ++device) {
    std::vector<operation>& list = s.on(device);
    int const after = devices - 1 - device;
    int const warm_up = microbatches < after ? microbatches : after;
    for (int m = 0; m < warm_up; ++m) list.push_back({op_kind::forward, device, m});
    for (int m = 0; m < microbatches; ++m) {
      if (warm_up + m < microbatches) list.push_back({op_kind::forward, device, warm_up + m});
      detail::append_backward(list, device, m, form);
    }
    detail::append_deferred(list, device, microbatches, form);
  }
  return s;
}

/// Erases all backward work, the messages that carry gradients, and the optimizer: the same placement and order for
/// evaluation. Complexity: O(operations).
HEDDLE_FN schedule forward_only(schedule const& from) {
  schedule s = from;
  s.forward_only = true;
  s.provenance = detail::join("forward_only(", from.provenance, ")");
  for (auto& list : s.order) {
    std::vector<operation> kept;
    for (operation const& op : list)
      if (op.kind == op_kind::forward || is_activation(op.kind)) kept.push_back(op);
    list.swap(kept);
  }
  return s;
}

}  // namespace heddle::pipeline
