// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/pipeline/detail/join.hpp>
#include <heddle/pipeline/detail/op_table.hpp>
#include <heddle/pipeline/report.hpp>

#include <string>
#include <vector>

namespace heddle::pipeline::detail {

inline constexpr index_t largest_table = index_t{1} << 22;

/// Calls `visit(op, place)` for every operation, device by device in order.
template <class Visit>
HEDDLE_FN void for_each_op(schedule const& s, Visit const& visit) {
  for (std::size_t d = 0; d < s.order.size(); ++d)
    for (std::size_t i = 0; i < s.order[d].size(); ++i)
      visit(s.order[d][i], op_place{static_cast<int>(d), static_cast<int>(i)});
}

/// Whether the header makes sense, so that tables of stages times microbatches can be made.
HEDDLE_FN bool check_sizes(schedule const& s, verify_report& report) {
  std::size_t const before = report.violations.size();
  if (s.devices < 1 || s.stages < 1 || s.microbatches < 0)
    report.add(rule::exactly_once, {}, "a schedule needs a device, a stage and no negative number of microbatches");
  else if (index_t{s.stages} * s.microbatches > largest_table)
    report.add(rule::exactly_once, {}, "more than 4194304 pairs of stage and microbatch can't be checked");
  if (s.order.size() != static_cast<std::size_t>(s.devices))
    report.add(rule::placement, {}, join("there are ", s.order.size(), " lists for ", s.devices, " devices"));
  if (s.placement.size() != static_cast<std::size_t>(s.stages))
    report.add(rule::placement, {}, join("the placement names ", s.placement.size(), " of ", s.stages, " stages"));
  for (std::size_t v = 0; v < s.placement.size(); ++v)
    if (s.placement[v] < 0 || s.placement[v] >= s.devices)
      report.add(rule::placement, {},
                 join("stage ", v, " is placed on device ", s.placement[v], ", which does not exist"));
  return report.violations.size() == before;
}

// V1, the part that looks at each operation: ranges and duplicates.
HEDDLE_FN void check_present(schedule const& s, op_table const& table, verify_report& report) {
  for_each_op(s, [&](operation const& op, op_place at) {
    if (!table.in_range(op)) {
      report.add(rule::exactly_once, {at},
                 to_string(op) + " is out of range: " + std::to_string(s.stages) + " stages and " +
                     std::to_string(s.microbatches) + " microbatches, each counted from 0");
      return;
    }
    op_place const first = table.find(op.kind, op.stage, op.microbatch);
    if (!(first == at))
      report.add(is_message(op.kind) ? rule::matching : rule::exactly_once, {first, at},
                 to_string(op) + " stands twice");
  });
}

HEDDLE_FN void check_one_backward(op_table const& table, int v, int m, verify_report& report) {
  op_place const b = table.find(op_kind::backward_input, v, m), w = table.find(op_kind::backward_weight, v, m);
  op_place const bw = table.find(op_kind::backward, v, m);
  std::string const key = std::to_string(v) + "." + std::to_string(m);
  if (bw.device >= 0) {
    if (b.device >= 0) report.add(rule::exactly_once, {bw, b}, join("BW", key, " and B", key, " both stand"));
    if (w.device >= 0) report.add(rule::exactly_once, {bw, w}, join("BW", key, " and W", key, " both stand"));
    return;
  }
  if (b.device < 0 && w.device < 0)
    report.add(rule::exactly_once, {}, join("neither BW", key, " nor B", key, " stands"));
  if (b.device < 0 && w.device >= 0) report.add(rule::exactly_once, {w}, join("B", key, " is missing beside its W"));
  if (b.device >= 0 && w.device < 0) report.add(rule::exactly_once, {b}, join("W", key, " is missing beside its B"));
}

// V1, the part that looks at each stage and microbatch.
HEDDLE_FN void check_complete(schedule const& s, op_table const& table, verify_report& report) {
  for (int v = 0; v < s.stages; ++v)
    for (int m = 0; m < s.microbatches; ++m) {
      if (!table.has(op_kind::forward, v, m)) report.add(rule::exactly_once, {}, join("F", v, ".", m, " is missing"));
      if (!s.forward_only) check_one_backward(table, v, m, report);
    }
  if (!s.forward_only) return;
  for_each_op(s, [&](operation const& op, op_place at) {
    if (is_compute(op.kind) && op.kind != op_kind::forward)
      report.add(rule::exactly_once, {at}, to_string(op) + " stands in a schedule that is forward only");
  });
}

/// The stage on whose device an operation belongs; `op.stage` but for a receive.
HEDDLE_FN int home_stage(operation const& op) noexcept {
  if (op.kind == op_kind::receive_activation) return op.stage + 1;
  if (op.kind == op_kind::receive_gradient) return op.stage - 1;
  return op.stage;
}

// V2.
HEDDLE_FN void check_placement(schedule const& s, verify_report& report) {
  for_each_op(s, [&](operation const& op, op_place at) {
    if (op.stage < 0 || op.stage >= s.stages) return;  // reported as out of range
    int const home = home_stage(op);
    if (home < 0 || home >= s.stages) return;  // reported by the messages' check
    int const device = s.placement[static_cast<std::size_t>(home)];
    if (device != at.device)
      report.add(rule::placement, {at},
                 to_string(op) + " belongs on device " + std::to_string(device) + ", where stage " +
                     std::to_string(home) + " is placed");
  });
}

// V6 and V7: all that reads or sums into a stage's weights comes before its optimizer.
HEDDLE_FN void check_optimizer(schedule const& s, op_table const& table, verify_report& report) {
  int updated = 0;
  for (int v = 0; v < s.stages; ++v) updated += table.has(op_kind::optimizer, v, 0) ? 1 : 0;
  if (updated == 0) return;
  for (int v = 0; v < s.stages; ++v)
    if (!table.has(op_kind::optimizer, v, 0))
      report.add(rule::optimizer, {}, join("O", v, " is missing though other stages are updated"));
  for_each_op(s, [&](operation const& op, op_place at) {
    if (!is_compute(op.kind)) return;
    op_place const update = table.find(op_kind::optimizer, op.stage, 0);
    if (update.device != at.device || update.position > at.position) return;
    if (op.kind != op_kind::backward_weight)
      report.add(rule::version, {update, at},
                 join("O", op.stage, " overwrites the weights that ", to_string(op), " is still to read"));
    if (op.kind == op_kind::backward_weight || op.kind == op_kind::backward)
      report.add(rule::optimizer, {update, at}, join("O", op.stage, " comes before the gradient of ", to_string(op)));
  });
}

// The order in which a stage's weight gradients are summed.
HEDDLE_FN void check_weight_order(schedule const& s, verify_report& report) {
  std::vector<op_place> last(static_cast<std::size_t>(s.stages), nowhere);
  for_each_op(s, [&](operation const& op, op_place at) {
    if (op.kind != op_kind::backward_weight && op.kind != op_kind::backward) return;
    if (op.stage < 0 || op.stage >= s.stages) return;
    op_place& before = last[static_cast<std::size_t>(op.stage)];
    if (before.device == at.device) {
      operation const& earlier =
          s.order[static_cast<std::size_t>(at.device)][static_cast<std::size_t>(before.position)];
      if (earlier.microbatch > op.microbatch)
        report.add(rule::weight_order, {before, at},
                   to_string(op) + " comes after " + to_string(earlier) + ": weight gradients must ascend");
    }
    before = at;
  });
}

}  // namespace heddle::pipeline::detail
