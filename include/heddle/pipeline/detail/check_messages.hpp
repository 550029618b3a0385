// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/pipeline/detail/graph.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace heddle::pipeline::detail {

// V4: an end of a message where no tensor crosses.
HEDDLE_FN void check_superfluous(schedule const& s, verify_report& report) {
  for_each_op(s, [&](operation const& op, op_place at) {
    if (!is_message(op.kind)) return;
    if (op.stage < 0 || op.stage >= s.stages) return;  // reported as out of range
    int const to = is_activation(op.kind) ? op.stage + 1 : op.stage - 1;
    if (to < 0 || to >= s.stages)
      report.add(rule::matching, {at},
                 to_string(op) + " leads to stage " + std::to_string(to) + ", which does not exist");
    else if (!crosses(s, op.stage, to))
      report.add(rule::matching, {at},
                 to_string(op) + " is not needed: stages " + std::to_string(op.stage) + " and " + std::to_string(to) +
                     " share a device");
    else if (s.forward_only && !is_activation(op.kind))
      report.add(rule::matching, {at}, to_string(op) + " carries a gradient in a schedule that is forward only");
  });
}

HEDDLE_FN void check_ends(op_table const& table, op_kind send, op_kind receive, int v, int m, verify_report& report) {
  for (op_kind end : {send, receive}) {
    op_kind const other = end == send ? receive : send;
    if (table.has(end, v, m)) continue;
    std::vector<op_place> where;
    if (table.has(other, v, m)) where.push_back(table.find(other, v, m));
    report.add(rule::matching, std::move(where), to_string(operation{end, v, m}) + " is missing");
  }
}

// V4: one send and one receive for each tensor that crosses.
HEDDLE_FN void check_pairs(schedule const& s, op_table const& table, verify_report& report) {
  for (int v = 0; v + 1 < s.stages; ++v) {
    if (!crosses(s, v, v + 1)) continue;
    for (int m = 0; m < s.microbatches; ++m) {
      check_ends(table, op_kind::send_activation, op_kind::receive_activation, v, m, report);
      if (!s.forward_only) check_ends(table, op_kind::send_gradient, op_kind::receive_gradient, v + 1, m, report);
    }
  }
}

HEDDLE_FN void report_swapped(schedule const& s, message const& a, message const& b, verify_report& report) {
  auto name_of = [&](op_place p) {
    return to_string(s.order[static_cast<std::size_t>(p.device)][static_cast<std::size_t>(p.position)]);
  };
  report.add(rule::matching, {a.send, b.send, a.receive, b.receive},
             name_of(a.send) + " and " + name_of(b.send) + " stand in another order than " + name_of(a.receive) +
                 " and " + name_of(b.receive) + ", which a first-in first-out transport can't serve");
}

// V4 for fifo_per_direction: the receives of a direction stand in the order of its sends.
HEDDLE_FN void check_direction_order(schedule const& s, std::vector<message> const& all, verify_report& report) {
  for (std::size_t i = 1; i < all.size(); ++i)
    if (all[i - 1].from == all[i].from && all[i - 1].to == all[i].to &&
        all[i - 1].receive.position > all[i].receive.position)
      report_swapped(s, all[i - 1], all[i], report);
}

// V4 for fifo_per_pair: what one device issues strictly before, the other doesn't issue strictly behind.
HEDDLE_FN void check_pair_order(schedule const& s, graph const& g, std::vector<message> all, verify_report& report) {
  auto low = [&](message const& m) { return std::min(m.from, m.to); };
  auto high = [&](message const& m) { return std::max(m.from, m.to); };
  auto low_unit = [&](message const& m) { return g.of(m.from < m.to ? m.send : m.receive); };
  auto high_unit = [&](message const& m) { return g.of(m.from < m.to ? m.receive : m.send); };
  std::sort(all.begin(), all.end(), [&](message const& a, message const& b) {
    if (low(a) != low(b)) return low(a) < low(b);
    if (high(a) != high(b)) return high(a) < high(b);
    return low_unit(a) != low_unit(b) ? low_unit(a) < low_unit(b) : high_unit(a) < high_unit(b);
  });
  // Of the messages in earlier units of the lower device, the one that is latest on the upper device.
  std::size_t latest = 0, group = 0;
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (low(all[i]) != low(all[i - 1]) || high(all[i]) != high(all[i - 1])) {
      latest = group = i;
      continue;
    }
    if (low_unit(all[i]) != low_unit(all[i - 1])) {
      if (group == latest || high_unit(all[i - 1]) > high_unit(all[latest])) latest = i - 1;
      group = i;
    }
    if (latest < group && high_unit(all[latest]) > high_unit(all[i])) report_swapped(s, all[latest], all[i], report);
  }
}

// V4.
HEDDLE_FN void check_messages(schedule const& s, op_table const& table, graph const& g, transport const& link,
                              verify_report& report) {
  if (!is_lowered(s)) return;
  check_superfluous(s, report);
  check_pairs(s, table, report);
  std::vector<message> const all = messages_of(s, table);
  if (link.match != matching::keyed) check_direction_order(s, all, report);
  if (link.match == matching::fifo_per_pair) check_pair_order(s, g, all, report);
}

}  // namespace heddle::pipeline::detail
