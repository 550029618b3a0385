// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/pipeline/detail/dependencies.hpp>
#include <heddle/pipeline/detail/join.hpp>
#include <heddle/pipeline/schedule.hpp>
#include <heddle/pipeline/simulate.hpp>
#include <heddle/pipeline/transport.hpp>
#include <heddle/pipeline/verify.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace heddle::pipeline {

/// How `lower` places messages.
struct lowering {
  transport link;          ///< how messages will travel
  bool optimizer = false;  ///< ends each device's list with one O for each of its stages
};

namespace detail {
// Writes what an operation needs from other devices to `in`, and what leaves behind it to `out`.
HEDDLE_FN void messages_around(schedule const& s, operation const& op, std::vector<operation>& in,
                               std::vector<operation>& out) {
  in.clear();
  out.clear();
  int const v = op.stage, m = op.microbatch;
  if (op.kind == op_kind::forward) {
    if (v > 0 && crosses(s, v - 1, v)) in.push_back({op_kind::receive_activation, v - 1, m});
    if (v + 1 < s.stages && crosses(s, v, v + 1)) out.push_back({op_kind::send_activation, v, m});
  }
  if (op.kind == op_kind::backward_input || op.kind == op_kind::backward) {
    if (v + 1 < s.stages && crosses(s, v, v + 1)) in.push_back({op_kind::receive_gradient, v + 1, m});
    if (v > 0 && crosses(s, v - 1, v)) out.push_back({op_kind::send_gradient, v, m});
  }
}

// Sends right behind their producer, receives right before their consumer. A send never waits and a receive waits for
// an operation that ends without it, so the list can hang only where the compute order already does.
HEDDLE_FN void place_buffered(schedule const& s, schedule& to) {
  std::vector<operation> in, out;
  for (std::size_t d = 0; d < s.order.size(); ++d)
    for (operation const& op : s.order[d]) {
      messages_around(s, op, in, out);
      for (operation const& r : in) to.order[d].push_back(r);
      to.order[d].push_back(op);
      for (operation const& m : out) to.order[d].push_back(m);
    }
}

// One sequence of operations and whole messages for all devices, of which each list is a part. Whatever is first in it
// among what is left can always run, its message included, so no transport can hang; and any two devices see their
// messages in the same order. The sequence is that of a simulation with equal costs: a message stands where its
// producer ends, before what starts then.
HEDDLE_FN void place_in_sequence(schedule const& s, schedule& to) {
  struct event {
    index_t time;
    bool computes;
    int device, position;
    operation op;
  };
  std::vector<event> events;
  std::vector<operation> in, out;
  simulation const run = simulate(s, costs());
  for (std::size_t d = 0; d < run.ops.size(); ++d)
    for (std::size_t i = 0; i < run.ops[d].size(); ++i) {
      timed_op const& t = run.ops[d][i];
      int const device = static_cast<int>(d), position = static_cast<int>(i);
      events.push_back({t.start, true, device, position, t.op});
      messages_around(s, t.op, in, out);
      for (operation const& m : out) events.push_back({t.end, false, device, position, m});
    }
  std::sort(events.begin(), events.end(), [](event const& a, event const& b) {
    if (a.time != b.time) return a.time < b.time;
    if (a.computes != b.computes) return b.computes;
    return a.device != b.device ? a.device < b.device : a.position < b.position;
  });
  for (event const& e : events) {
    to.on(e.device).push_back(e.op);
    if (!is_send(e.op.kind)) continue;
    bool const activation = is_activation(e.op.kind);
    operation receive = e.op;
    receive.kind = activation ? op_kind::receive_activation : op_kind::receive_gradient;
    to.on(s.device_of(e.op.stage + (activation ? 1 : -1))).push_back(receive);
  }
}
}  // namespace detail

/// Adds the sends and receives that an executor needs to a schedule of compute operations.
///
/// Over a keyed transport with unlimited buffers, sends stand right behind their producers and receives right before
/// their consumers. Over any other, all messages follow one global sequence, which no transport can bring to a halt.
/// Pre: `verify(s)` is ok but for the order of weight gradients, and `s` holds no messages, groups or optimizer.
/// Post: `verify(result, options.link)` is ok but for the same. Complexity: O(operations * log(operations)).
/// Errors: contract_error with the first violation.
HEDDLE_FN schedule lower(schedule const& s, lowering const& options = {}) {
  verify_options any_order;
  any_order.ascending_weights = false;
  verify_report const before = verify(s, any_order);
  HEDDLE_EXPECTS(before.ok(), "only a schedule that passes verify can be lowered", before.message().c_str());
  bool plain = true;
  detail::for_each_op(s, [&](operation const& op, op_place) { plain = plain && is_compute(op.kind) && op.group == 0; });
  HEDDLE_EXPECTS(plain, "only compute operations without groups can be lowered", s.provenance.c_str());
  schedule to(s.devices, s.stages, s.microbatches);
  to.forward_only = s.forward_only;
  to.placement = s.placement;
  to.provenance = detail::join("lower(", s.provenance, ")");
  if (options.link.match == matching::keyed && options.link.capacity == transport::unlimited)
    detail::place_buffered(s, to);
  else
    detail::place_in_sequence(s, to);
  for (int v = 0; options.optimizer && v < s.stages; ++v) to.on(s.device_of(v)).push_back({op_kind::optimizer, v, 0});
  return to;
}

}  // namespace heddle::pipeline
