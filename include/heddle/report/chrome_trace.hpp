// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/checkpoint/atomic_file.hpp>
#include <heddle/core/extents.hpp>
#include <heddle/report/json.hpp>

#include <string>
#include <string_view>

namespace heddle::report {

/// A trace in the Chrome event format, which Perfetto and chrome://tracing open.
///
/// A process is a rank and a thread is one of its queues. Units: nanoseconds in, microseconds in the file.
/// Determinism: the same bytes for the same calls.
class chrome_trace {
 public:
  HEDDLE_FN chrome_trace() = default;
  HEDDLE_FN chrome_trace(chrome_trace const&) = default;
  HEDDLE_FN chrome_trace(chrome_trace&&) noexcept = default;
  HEDDLE_FN chrome_trace& operator=(chrome_trace const&) = default;
  HEDDLE_FN chrome_trace& operator=(chrome_trace&&) noexcept = default;
  HEDDLE_FN ~chrome_trace() = default;

  HEDDLE_FN void name_rank(int rank, std::string_view name) { metadata("process_name", rank, 0, name); }
  HEDDLE_FN void name_queue(int rank, int queue, std::string_view name) { metadata("thread_name", rank, queue, name); }

  /// Adds a span; `arguments` are shown when it is selected. Pre: duration_ns >= 0.
  HEDDLE_FN void span(std::string_view name, std::string_view category, int rank, int queue, index_t start_ns,
                      index_t duration_ns, json_object const& arguments = {}) {
    HEDDLE_EXPECTS(duration_ns >= 0, "a span can't end before it starts", duration_ns);
    open();
    events_ += "{\"name\":";
    checkpoint::append_json(events_, name);
    events_ += ",\"cat\":";
    checkpoint::append_json(events_, category);
    events_ += ",\"ph\":\"X\",\"ts\":" + microseconds(start_ns) + ",\"dur\":" + microseconds(duration_ns) +
               ",\"pid\":" + std::to_string(rank) + ",\"tid\":" + std::to_string(queue);
    if (!arguments.empty()) events_ += ",\"args\":" + arguments.text();
    events_ += '}';
  }

  HEDDLE_FN std::string text() const {
    return "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n" + events_ + (events_.empty() ? "]}\n" : "\n]}\n");
  }
  HEDDLE_FN void write(std::string const& path) const { checkpoint::write_file(path, text()); }

 private:
  HEDDLE_FN void open() {
    if (!events_.empty()) events_ += ",\n";
  }
  HEDDLE_FN void metadata(char const* what, int rank, int queue, std::string_view name) {
    open();
    events_ += std::string("{\"name\":\"") + what + "\",\"ph\":\"M\",\"pid\":" + std::to_string(rank) +
               ",\"tid\":" + std::to_string(queue) + ",\"args\":{\"name\":";
    checkpoint::append_json(events_, name);
    events_ += "}}";
  }
  // Exact to the nanosecond at any length of run, which a double is not.
  static HEDDLE_FN std::string microseconds(index_t ns) {
    std::string t = ns < 0 ? "-" : "";
    std::uint64_t const n = ns < 0 ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
    t += std::to_string(n / 1000);
    if (n % 1000 == 0) return t;
    std::string const part = std::to_string(1000 + n % 1000).substr(1);
    return t + "." + part;
  }

  std::string events_;
};

}  // namespace heddle::report
