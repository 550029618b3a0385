// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/pipeline/simulate.hpp>
#include <heddle/report/timeline.hpp>

#include <string>
#include <utility>
#include <vector>

namespace heddle::report {

/// The kinds of a pipeline's timeline, as `schedule_kind` numbers them.
HEDDLE_FN std::vector<std::string> schedule_kinds() {
  return {"F forward", "B input gradient", "W weight gradient", "BW backward", "optimizer"};
}

/// The kind of a compute operation or optimizer in `schedule_kinds`.
HEDDLE_FN int schedule_kind(pipeline::op_kind kind) noexcept {
  return kind == pipeline::op_kind::optimizer ? 4 : static_cast<int>(kind);
}

/// Turns a simulated schedule into a timeline: devices as rows, a box with the microbatch for each operation.
///
/// With several stages on a device, labels are stage.microbatch. Messages take no time and are left out.
/// Pre: `run` is a simulation of `s`. Complexity: O(operations).
HEDDLE_FN timeline schedule_timeline(pipeline::schedule const& s, pipeline::simulation const& run, std::string title,
                                     std::string time_name = "time (ticks)") {
  timeline t;
  t.title = std::move(title);
  t.time_name = std::move(time_name);
  t.kinds = schedule_kinds();
  for (std::size_t d = 0; d < run.ops.size(); ++d) {
    t.rows.emplace_back("device " + std::to_string(d));
    for (pipeline::timed_op const& op : run.ops[d]) {
      if (pipeline::is_message(op.op.kind) || op.start == op.end) continue;
      std::string label = std::to_string(op.op.microbatch);
      if (op.op.kind == pipeline::op_kind::optimizer) label = "O";
      if (s.stages > s.devices) label = std::to_string(op.op.stage) + "." + label;
      t.rows.back().boxes.emplace_back(static_cast<double>(op.start), static_cast<double>(op.end),
                                       schedule_kind(op.op.kind), std::move(label));
    }
  }
  t.note = std::string(s.stages > s.devices ? "numbers are stage.microbatch" : "numbers are microbatches") +
           "; the step takes " + std::to_string(run.makespan) + ", and devices idle " +
           fixed(100 * run.bubble_makespan(), 1) + " % of it";
  return t;
}

}  // namespace heddle::report
