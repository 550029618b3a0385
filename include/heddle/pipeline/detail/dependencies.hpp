// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/pipeline/detail/op_table.hpp>

namespace heddle::pipeline::detail {

/// Whether a tensor between two stages crosses devices. False where a placement is missing.
HEDDLE_FN bool crosses(schedule const& s, int stage_a, int stage_b) noexcept {
  auto const n = static_cast<int>(s.placement.size());
  if (stage_a < 0 || stage_b < 0 || stage_a >= n || stage_b >= n) return false;
  return s.placement[static_cast<std::size_t>(stage_a)] != s.placement[static_cast<std::size_t>(stage_b)];
}

/// Calls `visit(op_place)` for every operation that must have ended before `op` starts, other than the send that a
/// receive is matched with. In a lowered schedule a tensor from another device comes by its receive.
template <class Visit>
HEDDLE_FN void for_each_dependency(schedule const& s, op_table const& table, bool lowered, operation const& op,
                                   Visit const& visit) {
  int const v = op.stage, m = op.microbatch;
  auto need = [&](op_place where) {
    if (where.device >= 0) visit(where);
  };
  switch (op.kind) {
    case op_kind::forward:
      if (v == 0) break;
      need(lowered && crosses(s, v - 1, v) ? table.find(op_kind::receive_activation, v - 1, m)
                                           : table.find(op_kind::forward, v - 1, m));
      break;
    case op_kind::backward_input:
    case op_kind::backward:
      need(table.find(op_kind::forward, v, m));
      if (v + 1 >= s.stages) break;
      need(lowered && crosses(s, v, v + 1) ? table.find(op_kind::receive_gradient, v + 1, m)
                                           : table.input_gradient(v + 1, m));
      break;
    case op_kind::backward_weight:
      need(table.find(op_kind::backward_input, v, m));
      break;
    case op_kind::send_activation:
      need(table.find(op_kind::forward, v, m));
      break;
    case op_kind::send_gradient:
      need(table.input_gradient(v, m));
      break;
    case op_kind::receive_activation:
    case op_kind::receive_gradient:
    case op_kind::optimizer:
      break;
  }
}

}  // namespace heddle::pipeline::detail
