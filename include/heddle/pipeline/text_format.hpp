// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/pipeline/detail/join.hpp>
#include <heddle/pipeline/schedule.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle::pipeline {

/// One thing in a text that is not a schedule. Units: lines and columns count from 1.
struct parse_fault {
  int line = 0;
  int column = 0;
  std::string token;
  std::string text;

  HEDDLE_FN parse_fault() = default;
  HEDDLE_FN parse_fault(int l, int c, std::string_view t, std::string what)
      : line(l), column(c), token(t), text(std::move(what)) {}
  HEDDLE_FN parse_fault(parse_fault const&) = default;
  HEDDLE_FN parse_fault(parse_fault&&) noexcept = default;
  HEDDLE_FN parse_fault& operator=(parse_fault const&) = default;
  HEDDLE_FN parse_fault& operator=(parse_fault&&) noexcept = default;
  HEDDLE_FN ~parse_fault() = default;
};

/// What `parse` read, and everything that it could not read.
struct parse_report {
  static constexpr std::size_t most = 1000;  ///< reading stops behind so many faults

  schedule value;
  std::vector<parse_fault> faults;

  HEDDLE_FN parse_report() = default;
  HEDDLE_FN parse_report(parse_report const&) = default;
  HEDDLE_FN parse_report(parse_report&&) noexcept = default;
  HEDDLE_FN parse_report& operator=(parse_report const&) = default;
  HEDDLE_FN parse_report& operator=(parse_report&&) noexcept = default;
  HEDDLE_FN ~parse_report() = default;

  HEDDLE_FN bool ok() const noexcept { return faults.empty(); }

  /// One line for each fault.
  HEDDLE_FN std::string message() const {
    std::string t;
    for (parse_fault const& f : faults)
      t += detail::join("line ", f.line, ", column ", f.column, ", '", f.token, "': ", f.text, "\n");
    return t;
  }
};

/// Writes a schedule as text: a header line, then one line per device.
///
///     heddle-schedule version=1 P=2 S=2 M=2 placement=0,1 pass=training provenance="gpipe(2,2,fused)"
///     0: F0.0 F0.1 BW0.0 BW0.1
///     1: F1.0 F1.1 BW1.0 BW1.1
///
/// A token is a kind, a stage, a dot and a microbatch; `O3` has no microbatch; braces join what is issued together.
/// Determinism: the same bytes for equal schedules. Complexity: O(operations).
HEDDLE_FN std::string format(schedule const& s) {
  std::string t =
      detail::join("heddle-schedule version=1 P=", s.devices, " S=", s.stages, " M=", s.microbatches, " placement=");
  for (std::size_t v = 0; v < s.placement.size(); ++v) t += detail::join(v > 0 ? "," : "", s.placement[v]);
  t += s.forward_only ? " pass=forward" : " pass=training";
  t += " provenance=\"";
  for (char c : s.provenance)
    if (static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\') t += c;
  t += "\"\n";
  for (std::size_t d = 0; d < s.order.size(); ++d) {
    auto const& list = s.order[d];
    t += std::to_string(d) + ":";
    for (std::size_t i = 0; i < list.size(); ++i) {
      bool const opens = list[i].group > 0 && (i == 0 || list[i - 1].group != list[i].group);
      bool const closes = list[i].group > 0 && (i + 1 == list.size() || list[i + 1].group != list[i].group);
      t += detail::join(opens ? " {" : " ", to_string(list[i]), closes ? "}" : "");
    }
    t += '\n';
  }
  return t;
}

namespace detail {
// Reads one schedule; every fault is noted and reading goes on with the next token.
class schedule_reader {
 public:
  HEDDLE_FN explicit schedule_reader(std::string_view text) : rest_(text) {}
  schedule_reader(schedule_reader const&) = delete;
  schedule_reader& operator=(schedule_reader const&) = delete;
  HEDDLE_FN ~schedule_reader() = default;

  HEDDLE_FN parse_report run() {
    if (next_line()) header();
    while (next_line() && report_.faults.size() < parse_report::most) device_line();
    schedule& s = report_.value;
    if (report_.ok() && s.order.size() != static_cast<std::size_t>(s.devices))
      fault(0, "", detail::join("P promises ", s.devices, " lines, but there are ", s.order.size()));
    return std::move(report_);
  }

 private:
  HEDDLE_FN void fault(std::size_t at, std::string_view token, std::string what) {
    report_.faults.emplace_back(line_number_, static_cast<int>(at) + 1, token.substr(0, 64), std::move(what));
  }

  HEDDLE_FN bool next_line() {
    ++line_number_;
    if (rest_.empty()) {
      if (line_number_ == 1) fault(0, "", "the text is empty");
      return false;
    }
    std::size_t const end = rest_.find('\n');
    line_ = rest_.substr(0, end);
    rest_ = end == std::string_view::npos ? std::string_view() : rest_.substr(end + 1);
    if (!line_.empty() && line_.back() == '\r') line_.remove_suffix(1);
    return true;
  }

  // The next token of the line from `at` on, which moves behind it; a quoted part may hold spaces.
  HEDDLE_FN std::string_view next_token(std::size_t& at) const {
    while (at < line_.size() && line_[at] == ' ') ++at;
    std::size_t const begin = at;
    for (bool quoted = false; at < line_.size() && (quoted || line_[at] != ' '); ++at)
      if (line_[at] == '"') quoted = !quoted;
    return line_.substr(begin, at - begin);
  }

  // A number without sign or leading zeros that fits in 31 bits; -1 where there is none at `at`.
  static HEDDLE_FN int number(std::string_view t, std::size_t& at) {
    std::size_t const begin = at;
    long long value = 0;
    for (; at < t.size() && t[at] >= '0' && t[at] <= '9'; ++at) {
      value = value * 10 + (t[at] - '0');
      if (value > 0x7fffffff) return -1;
    }
    bool const padded = at - begin > 1 && t[begin] == '0';
    return at == begin || padded ? -1 : static_cast<int>(value);
  }
  static HEDDLE_FN int whole_number(std::string_view t) {
    std::size_t at = 0;
    int const n = number(t, at);
    return at == t.size() ? n : -1;
  }

  HEDDLE_FN void header() {
    std::size_t at = 0;
    if (std::string_view const t = next_token(at); t != "heddle-schedule")
      return fault(0, t, "a schedule begins with 'heddle-schedule'");
    constexpr std::string_view names[] = {"version", "P", "S", "M", "placement", "pass", "provenance"};
    for (std::string_view name : names) {
      std::string_view const t = next_token(at);
      std::size_t const begin = at - t.size();
      if (t.substr(0, name.size()) != name || t.size() == name.size() || t[name.size()] != '=')
        return fault(begin, t, detail::join("'", name, "=' is expected here"));
      field(name, t.substr(name.size() + 1), begin);
    }
    if (std::string_view const t = next_token(at); !t.empty())
      fault(at - t.size(), t, "nothing may follow the provenance");
    schedule const& s = report_.value;
    if (report_.ok() && s.placement.size() != static_cast<std::size_t>(s.stages))
      fault(0, "", detail::join("S is ", s.stages, ", but the placement names ", s.placement.size(), " stages"));
  }

  HEDDLE_FN void field(std::string_view name, std::string_view value, std::size_t at) {
    schedule& s = report_.value;
    if (name == "placement") return placement(value, at);
    if (name == "provenance") {
      if (value.size() < 2 || value.front() != '"' || value.back() != '"' || value.find('"', 1) + 1 != value.size())
        return fault(at, value, "a quoted text is expected");
      s.provenance = std::string(value.substr(1, value.size() - 2));
    } else if (name == "pass") {
      if (value != "training" && value != "forward") return fault(at, value, "pass is 'training' or 'forward'");
      s.forward_only = value == "forward";
    } else {
      int const n = whole_number(value);
      if (n < 0) return fault(at, value, "a number from 0 to 2147483647 is expected");
      if (name == "version" && n != 1) fault(at, value, "only version 1 is known");
      if (name == "P") s.devices = n;
      if (name == "S") s.stages = n;
      if (name == "M") s.microbatches = n;
      if ((name == "P" || name == "S") && n == 0) fault(at, value, std::string(name) + " is at least 1");
    }
  }

  HEDDLE_FN void placement(std::string_view value, std::size_t column) {
    for (std::size_t at = 0; at <= value.size(); ++at) {
      int const device = number(value, at);
      if (device < 0 || (at < value.size() && value[at] != ','))
        return fault(column, value, "device numbers with commas between are expected");
      report_.value.placement.push_back(device);
    }
  }

  HEDDLE_FN void device_line() {
    std::size_t at = 0;
    auto& order = report_.value.order;
    std::string_view const label = next_token(at);
    if (label != std::to_string(order.size()) + ":")
      return fault(at - label.size(), label, detail::join("'", order.size(), ":' is expected here"));
    order.emplace_back();
    int group = 0, groups = 0;
    for (std::string_view t = next_token(at); !t.empty(); t = next_token(at)) {
      if (report_.faults.size() >= parse_report::most) return;
      std::size_t const begin = at - t.size();
      std::string_view const whole = t;
      if (t.front() == '{') {
        if (group > 0) fault(begin, whole, "a group can't stand inside a group");
        group = ++groups;
        t.remove_prefix(1);
      }
      bool const closes = !t.empty() && t.back() == '}';
      if (closes) t.remove_suffix(1);
      operation op{};
      if (read_operation(t, op)) {
        op.group = group;
        order.back().push_back(op);
      } else {
        fault(begin, whole, "an operation is expected, like F0.1, BW0.1, >a0.1 or O0");
      }
      if (closes && group == 0) fault(begin, whole, "no group is open here");
      if (closes) group = 0;
    }
    if (group > 0) fault(line_.size(), "", "a group is still open at the end of the line");
  }

  static HEDDLE_FN bool read_operation(std::string_view t, operation& op) {
    constexpr op_kind longest_first[] = {
        op_kind::backward,       op_kind::send_activation,  op_kind::receive_activation,
        op_kind::send_gradient,  op_kind::receive_gradient, op_kind::forward,
        op_kind::backward_input, op_kind::backward_weight,  op_kind::optimizer};
    for (op_kind kind : longest_first) {
      std::string_view const prefix = token(kind);
      if (t.substr(0, prefix.size()) != prefix) continue;
      std::size_t at = prefix.size();
      op = {kind, number(t, at), 0, 0};
      if (op.stage < 0) return false;
      if (kind == op_kind::optimizer) return at == t.size();
      if (at >= t.size() || t[at] != '.') return false;
      op.microbatch = number(t, ++at);
      return op.microbatch >= 0 && at == t.size();
    }
    return false;
  }

  parse_report report_;
  std::string_view rest_;
  std::string_view line_;
  int line_number_ = 0;
};
}  // namespace detail

/// Reads what `format` writes and nothing else: each token must match to its last character.
///
/// Post: where the report is ok, `format(value)` gives the text back, line ends and group numbers aside. Whether the
/// schedule makes sense is for `verify`. Errors: every fault is in the report with line, column and token.
/// Complexity: O(length); sizes in the header allocate nothing.
HEDDLE_FN parse_report parse(std::string_view text) { return detail::schedule_reader(text).run(); }

}  // namespace heddle::pipeline
