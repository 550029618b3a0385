// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/pipeline/detail/check_messages.hpp>
#include <heddle/pipeline/detail/check_operations.hpp>
#include <heddle/pipeline/detail/cycle.hpp>
#include <heddle/pipeline/detail/join.hpp>
#include <heddle/pipeline/peak_memory.hpp>
#include <heddle/pipeline/report.hpp>
#include <heddle/pipeline/transport.hpp>

#include <string>
#include <vector>

namespace heddle::pipeline {

/// What `verify` may assume and must hold a schedule to.
struct verify_options {
  transport link{};                  ///< how messages travel
  bool ascending_weights = true;     ///< as `order::repeatable` needs it; `order::elastic` allows any order
  std::vector<stage_bytes> bytes;    ///< per stage, or one for all; empty: peaks are not computed
  std::vector<index_t> limit_bytes;  ///< per device, or one for all; empty: no limit

  HEDDLE_FN verify_options() = default;
  HEDDLE_FN verify_options(transport t) : link(t) {}
  HEDDLE_FN verify_options(verify_options const&) = default;
  HEDDLE_FN verify_options(verify_options&&) noexcept = default;
  HEDDLE_FN verify_options& operator=(verify_options const&) = default;
  HEDDLE_FN verify_options& operator=(verify_options&&) noexcept = default;
  HEDDLE_FN ~verify_options() = default;
};

namespace detail {
// V5.
HEDDLE_FN void check_memory(schedule const& s, verify_options const& options, verify_report& report) {
  auto const devices = static_cast<std::size_t>(s.devices), stages = static_cast<std::size_t>(s.stages);
  auto const& bytes = options.bytes;
  auto const& limits = options.limit_bytes;
  if (bytes.size() > 1 && bytes.size() != stages)
    report.add(rule::memory, {}, detail::join("bytes are given for ", bytes.size(), " of ", stages, " stages"));
  else if (limits.size() > 1 && limits.size() != devices)
    report.add(rule::memory, {}, detail::join("limits are given for ", limits.size(), " of ", devices, " devices"));
  else if (!bytes.empty()) {
    report.peak_bytes = peak_bytes(s, bytes);
    for (std::size_t d = 0; d < devices && !limits.empty(); ++d) {
      index_t const limit = limits.size() == 1 ? limits[0] : limits[d];
      if (report.peak_bytes[d] > limit)
        report.add(rule::memory, {},
                   detail::join("device ", d, " needs ", report.peak_bytes[d], " bytes of its ", limit));
    }
  }
}
}  // namespace detail

/// Lists everything that is wrong with a schedule, at compute level or lowered.
///
/// Accepts any value, however broken, and reports: V1 exactly-once, V2 placement, V3 order and deadlock (with a
/// shortest cycle) under `options.link`, V4 messages, V5 peak memory from order alone, V6 and V7 the optimizer, W
/// ascending weight gradients. Errors: none but a lack of memory. Complexity: O(operations + stages * microbatches),
/// times the number of knotted operations where there is a deadlock.
HEDDLE_FN verify_report verify(schedule const& s, verify_options const& options = {}) {
  verify_report report;
  if (!detail::check_sizes(s, report)) return report;
  detail::op_table const table(s);
  detail::check_present(s, table, report);
  detail::check_complete(s, table, report);
  detail::check_placement(s, report);
  bool const in_range = !report.has(rule::exactly_once);
  detail::graph const g(s, table, options.link);
  detail::check_order(s, g, report);
  detail::check_messages(s, table, g, options.link, report);
  detail::check_optimizer(s, table, report);
  if (options.ascending_weights) detail::check_weight_order(s, report);
  if (in_range) detail::check_memory(s, options, report);
  if (s.microbatches < s.devices)
    report.notes.push_back(detail::join("fewer microbatches (", s.microbatches, ") than devices (", s.devices,
                                        "): the pipeline never fills"));
  return report;
}

}  // namespace heddle::pipeline
