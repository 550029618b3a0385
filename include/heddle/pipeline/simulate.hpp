// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/pipeline/detail/graph.hpp>
#include <heddle/pipeline/peak_memory.hpp>
#include <heddle/pipeline/schedule.hpp>
#include <heddle/pipeline/transport.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <utility>
#include <vector>

namespace heddle::pipeline {

/// The time of each kind of operation on one stage. Units: ticks; BW takes backward_input + backward_weight.
struct stage_cost {
  index_t forward = 1;
  index_t backward_input = 1;
  index_t backward_weight = 1;
  index_t optimizer = 0;

  HEDDLE_FN constexpr index_t of(op_kind kind) const noexcept {
    switch (kind) {
      case op_kind::forward:
        return forward;
      case op_kind::backward_input:
        return backward_input;
      case op_kind::backward_weight:
        return backward_weight;
      case op_kind::backward:
        return backward_input + backward_weight;
      case op_kind::optimizer:
        return optimizer;
      default:
        return 0;
    }
  }
};

/// Valid expressions: `cost(op)`, an integer. Meaning: the ticks that an operation takes, not below zero; not called
/// for messages. Models: `costs`, a lambda over measured times.
template <class C>
concept operation_cost = requires(C const& cost, operation const& op) {
  { cost(op) } -> std::convertible_to<index_t>;
};

/// Costs by stage, or one for all stages.
class costs {
 public:
  HEDDLE_FN costs(stage_cost const& all = {}) : each_{all} {}
  HEDDLE_FN explicit costs(std::vector<stage_cost> each) : each_(std::move(each)) {
    HEDDLE_EXPECTS(!each_.empty(), "costs need a stage");
  }
  HEDDLE_FN costs(costs const&) = default;
  HEDDLE_FN costs(costs&&) noexcept = default;
  HEDDLE_FN costs& operator=(costs const&) = default;
  HEDDLE_FN costs& operator=(costs&&) noexcept = default;
  HEDDLE_FN ~costs() = default;

  HEDDLE_FN index_t operator()(operation const& op) const {
    if (each_.size() == 1) return each_[0].of(op.kind);
    HEDDLE_EXPECTS(op.stage >= 0 && static_cast<std::size_t>(op.stage) < each_.size(), "every stage needs a cost",
                   op.stage, each_.size());
    return each_[static_cast<std::size_t>(op.stage)].of(op.kind);
  }

 private:
  std::vector<stage_cost> each_;
};

/// When an operation ran. Units: ticks since the first operation of all.
struct timed_op {
  operation op;
  index_t start = 0;
  index_t end = 0;
};

/// How one device spends the makespan: busy + fill + stall + drain. Messages count as waiting.
struct device_time {
  index_t busy = 0;
  index_t fill = 0;   ///< before its first operation
  index_t stall = 0;  ///< between operations
  index_t drain = 0;  ///< behind its last operation

  HEDDLE_FN constexpr index_t idle() const noexcept { return fill + stall + drain; }
  HEDDLE_FN constexpr index_t span() const noexcept { return busy + stall; }
};

/// What a schedule does in time.
struct simulation {
  std::vector<std::vector<timed_op>> ops;  ///< per device, in the order of its list
  std::vector<device_time> devices;
  std::vector<op_place> critical_path;  ///< first to last: each could start only when the one before it had ended
  index_t makespan = 0;
  index_t span = 0;  ///< of the device with the longest: from the start of its first operation to the end of its last

  HEDDLE_FN simulation() = default;
  HEDDLE_FN simulation(simulation const&) = default;
  HEDDLE_FN simulation(simulation&&) noexcept = default;
  HEDDLE_FN simulation& operator=(simulation const&) = default;
  HEDDLE_FN simulation& operator=(simulation&&) noexcept = default;
  HEDDLE_FN ~simulation() = default;

  /// The idle share of all devices in the makespan, as GPipe and Megatron-LM count it.
  HEDDLE_FN double bubble_makespan() const noexcept {
    index_t idle = 0;
    for (device_time const& d : devices) idle += d.idle();
    double const all = static_cast<double>(makespan) * static_cast<double>(devices.size());
    return makespan == 0 ? 0.0 : static_cast<double>(idle) / all;
  }
  /// The share of the longest span that is beyond the largest busy time, as the zero-bubble papers count it.
  HEDDLE_FN double bubble_span() const noexcept {
    index_t busiest = 0;
    for (device_time const& d : devices) busiest = std::max(busiest, d.busy);
    return span == 0 ? 0.0 : static_cast<double>(span - busiest) / static_cast<double>(span);
  }
};

namespace detail {
// The longest path through the graph, and by which edge each node was reached last.
struct node_times {
  std::vector<index_t> time;
  std::vector<int> via;

  HEDDLE_FN node_times(graph const& g, std::vector<index_t> const& unit_cost, index_t latency, bool blocking)
      : time(static_cast<std::size_t>(g.nodes()), 0), via(static_cast<std::size_t>(g.nodes()), -1) {
    std::vector<int> const order = g.sorted();
    HEDDLE_EXPECTS(order.size() == time.size() && g.inversions().empty(),
                   "the schedule waits for itself: verify it first", order.size(), time.size());
    for (int n : order)
      for (graph::edge const* e = g.begin(n); e != g.end(n); ++e) {
        auto const from = static_cast<std::size_t>(e->from), to = static_cast<std::size_t>(e->to);
        index_t t = time[from] + (e->link ? latency : 0);
        if (e->from + 1 == e->to && e->from % 2 == 0 && e->to < 2 * g.units()) {
          index_t const cost = unit_cost[from / 2];
          t = time[from] + (cost < 0 ? (blocking ? latency : 0) : cost);
        }
        if (t > time[to] || via[to] < 0) {
          time[to] = std::max(time[to], t);
          via[to] = e->from;
        }
      }
  }
  HEDDLE_FN node_times(node_times const&) = default;
  HEDDLE_FN node_times(node_times&&) noexcept = default;
  HEDDLE_FN node_times& operator=(node_times const&) = default;
  HEDDLE_FN node_times& operator=(node_times&&) noexcept = default;
  HEDDLE_FN ~node_times() = default;
};

HEDDLE_FN std::vector<op_place> critical_path(graph const& g, node_times const& t,
                                              std::vector<index_t> const& unit_cost) {
  std::vector<op_place> path;
  if (t.time.empty()) return path;
  auto n = static_cast<int>(std::max_element(t.time.begin(), t.time.end()) - t.time.begin());
  for (int last = -1; n >= 0; n = t.via[static_cast<std::size_t>(n)]) {
    int const u = g.unit_at(n);
    if (u == last || unit_cost[static_cast<std::size_t>(u)] <= 0) continue;
    path.push_back({g.describe(u).device, g.describe(u).first});
    last = u;
  }
  std::reverse(path.begin(), path.end());
  return path;
}

HEDDLE_FN device_time spend(std::vector<timed_op> const& ops, index_t makespan) noexcept {
  device_time d{};
  index_t first = makespan, last = makespan;
  bool any = false;
  for (timed_op const& t : ops) {
    if (is_message(t.op.kind)) continue;
    if (!any) first = t.start;
    any = true;
    last = t.end;
  }
  d.fill = first;
  d.drain = makespan - last;
  d.stall = last - first;
  return d;
}

// `unit_cost` is the sum of a unit's operations, or -1 for a unit that holds messages alone.
HEDDLE_FN simulation simulate_units(schedule const& s, graph const& g, std::vector<index_t> const& unit_cost,
                                    index_t latency, transport const& link) {
  node_times const t(g, unit_cost, latency, link.capacity == transport::rendezvous);
  simulation r;
  r.ops.resize(s.order.size());
  for_each_op(s, [&](operation const& op, op_place p) {
    auto const u = static_cast<std::size_t>(g.of(p));
    r.ops[static_cast<std::size_t>(p.device)].push_back({op, t.time[2 * u], t.time[2 * u + 1]});
    r.makespan = std::max(r.makespan, t.time[2 * u + 1]);
  });
  for (auto const& list : r.ops) r.devices.push_back(spend(list, r.makespan));
  for (int u = 0; u < g.units(); ++u) {
    device_time& d = r.devices[static_cast<std::size_t>(g.describe(u).device)];
    index_t const cost = std::max(index_t{0}, unit_cost[static_cast<std::size_t>(u)]);
    d.busy += cost;
    d.stall -= cost;
  }
  for (device_time const& d : r.devices) r.span = std::max(r.span, d.span());
  r.critical_path = critical_path(g, t, unit_cost);
  return r;
}
}  // namespace detail

/// Runs a schedule in virtual time: each device takes its list in order, one operation at a time; a tensor from another
/// device arrives `latency` ticks after its producer has ended, whatever the distance.
///
/// At compute level messages are implied, and buffered. A lowered schedule replays its messages under `link`: they cost
/// no time of their own but the wait, and with rendezvous `latency` on both ends; links never queue.
/// Pre: `verify(s, link)` finds nothing under V1 to V4; latency >= 0. Units: ticks. Complexity: O(operations).
template <operation_cost Cost>
HEDDLE_FN simulation simulate(schedule const& s, Cost const& cost, index_t latency = 0, transport const& link = {}) {
  HEDDLE_EXPECTS(latency >= 0, "a latency can't be negative", latency);
  detail::op_table const table(s);
  detail::graph const g(s, table, link);
  std::vector<index_t> unit_cost(static_cast<std::size_t>(g.units()), -1);
  detail::for_each_op(s, [&](operation const& op, op_place p) {
    if (is_message(op.kind)) return;
    index_t const ticks = cost(op);
    HEDDLE_EXPECTS(ticks >= 0, "a cost can't be negative", ticks);
    index_t& sum = unit_cost[static_cast<std::size_t>(g.of(p))];
    sum = std::max(index_t{0}, sum) + ticks;
  });
  return detail::simulate_units(s, g, unit_cost, latency, link);
}

/// Live bytes of a device from `time` on.
struct memory_point {
  index_t time = 0;
  index_t bytes = 0;
};

/// The live bytes of each device over time; its largest value is `peak_bytes`.
/// Pre: `run` is a simulation of `s`; one entry of `bytes` per stage, or one for all. Complexity: O(operations).
HEDDLE_FN std::vector<std::vector<memory_point>> memory_curve(schedule const& s, simulation const& run,
                                                              std::vector<stage_bytes> const& bytes) {
  HEDDLE_EXPECTS(bytes.size() == 1 || bytes.size() == static_cast<std::size_t>(s.stages),
                 "give bytes for each stage, or once for all", bytes.size(), s.stages);
  std::vector<std::vector<memory_point>> curves;
  for (auto const& list : run.ops) {
    std::vector<memory_point> curve{{0, 0}};
    auto change = [&](index_t time, index_t by) {
      index_t const live = curve.back().bytes + by;
      if (by == 0) return;
      if (curve.back().time == time)
        curve.back().bytes = live;
      else
        curve.push_back({time, live});
    };
    for (timed_op const& t : list) {
      HEDDLE_EXPECTS(t.op.stage >= 0 && t.op.stage < s.stages, "the stage must exist", t.op.stage, s.stages);
      memory_step const step =
          step_of(t.op.kind, bytes[bytes.size() == 1 ? 0 : static_cast<std::size_t>(t.op.stage)], s.forward_only);
      change(t.start, step.at_start);
      change(t.end, step.at_end);
    }
    curves.push_back(std::move(curve));
  }
  return curves;
}

}  // namespace heddle::pipeline
