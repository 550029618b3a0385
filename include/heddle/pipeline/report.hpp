// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/extents.hpp>
#include <heddle/pipeline/detail/join.hpp>
#include <heddle/pipeline/schedule.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace heddle::pipeline {

/// The rule that a schedule breaks.
enum class rule : std::uint8_t {
  exactly_once,  ///< V1: one F, and one BW or one B and one W, for each stage and microbatch; nothing out of range
  placement,     ///< V2: each stage lies on one device, and its operations are in that device's list
  order,         ///< V3: an operation waits for one that can't have run; with a cycle, for itself
  matching,      ///< V4: every crossing tensor has one send and one receive, in an order that the transport keeps
  memory,        ///< V5: a device needs more bytes than its limit
  version,       ///< V6: weights are updated while the old ones are still to be read
  optimizer,     ///< V7: weights are updated before all their gradients exist
  weight_order,  ///< weight gradients of a stage don't ascend by microbatch, which changes their sum's bits
};

/// The short name of a rule: V1 to V7, or W.
HEDDLE_FN char const* code(rule r) noexcept {
  constexpr char const* names[] = {"V1", "V2", "V3", "V4", "V5", "V6", "V7", "W"};
  return static_cast<std::size_t>(r) < sizeof names / sizeof *names ? names[static_cast<std::size_t>(r)] : "?";
}

/// One broken rule and the operations that show it.
struct violation {
  rule broken = rule::exactly_once;
  std::vector<op_place> ops;  ///< for a cycle: each waits for the one before it, the first for the last
  std::string text;

  HEDDLE_FN violation() = default;
  HEDDLE_FN violation(rule r, std::vector<op_place> where, std::string what)
      : broken(r), ops(std::move(where)), text(std::move(what)) {}
  HEDDLE_FN violation(violation const&) = default;
  HEDDLE_FN violation(violation&&) noexcept = default;
  HEDDLE_FN violation& operator=(violation const&) = default;
  HEDDLE_FN violation& operator=(violation&&) noexcept = default;
  HEDDLE_FN ~violation() = default;
};

/// Everything that is wrong with a schedule, and what was computed on the way.
struct verify_report {
  static constexpr std::size_t most = 1000;  ///< further violations are only counted

  std::vector<violation> violations;
  std::vector<std::string> notes;   ///< true remarks that break no rule
  std::vector<index_t> peak_bytes;  ///< per device, where bytes per stage were given
  index_t suppressed = 0;           ///< violations beyond `most`

  HEDDLE_FN verify_report() = default;
  HEDDLE_FN verify_report(verify_report const&) = default;
  HEDDLE_FN verify_report(verify_report&&) noexcept = default;
  HEDDLE_FN verify_report& operator=(verify_report const&) = default;
  HEDDLE_FN verify_report& operator=(verify_report&&) noexcept = default;
  HEDDLE_FN ~verify_report() = default;

  HEDDLE_FN bool ok() const noexcept { return violations.empty(); }

  /// How many violations name this rule.
  HEDDLE_FN int count(rule r) const noexcept {
    int n = 0;
    for (violation const& v : violations) n += v.broken == r ? 1 : 0;
    return n;
  }
  HEDDLE_FN bool has(rule r) const noexcept { return count(r) > 0; }

  HEDDLE_FN void add(rule r, std::vector<op_place> ops, std::string text) {
    if (violations.size() < most)
      violations.emplace_back(r, std::move(ops), std::move(text));
    else
      ++suppressed;
  }

  /// One line for each violation and note.
  HEDDLE_FN std::string message() const {
    std::string t;
    for (violation const& v : violations) {
      t += std::string(code(v.broken)) + ": " + v.text;
      for (op_place const& at : v.ops) t += detail::join(" [device ", at.device, ", position ", at.position, "]");
      t += '\n';
    }
    if (suppressed > 0) t += detail::join("and ", suppressed, " more\n");
    for (std::string const& n : notes) t += detail::join("note: ", n, '\n');
    return t;
  }
};

}  // namespace heddle::pipeline
