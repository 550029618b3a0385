// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/extents.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace heddle {

/// One piece of work, as an observer sees it.
/// Units: bytes moved, floating-point operations. `operation` points to a string that lives for ever.
struct span {
  char const* operation = "";
  index_t shape[4] = {0, 0, 0, 0};
  index_t bytes = 0;
  index_t flops = 0;
  int queue = 0;
  int rank = 0;
  index_t schedule_id = -1;  ///< position in the schedule that asked for it, or -1
};

/// Watches work begin and end.
/// Valid: `o.begin(span)`, `o.end(span)`, `O::enabled`.
/// Meaning: both are called by the thread that runs the queue, in the order of the queue; they must not throw and
/// must not submit work. Where `enabled` is false no call is compiled.
/// Models: null_observer, counter, recorder.
template <class O>
concept observer_type = requires(O& o, span const& s) {
  { O::enabled } -> std::convertible_to<bool>;
  o.begin(s);
  o.end(s);
};

/// Sees nothing and costs nothing.
struct null_observer {
  static constexpr bool enabled = false;
  HEDDLE_FN void begin(span const&) noexcept {}
  HEDDLE_FN void end(span const&) noexcept {}
};

/// Adds up what passes.
struct counter {
  static constexpr bool enabled = true;
  index_t operations;
  index_t bytes;
  index_t flops;

  HEDDLE_FN counter() noexcept : operations(0), bytes(0), flops(0) {}
  HEDDLE_FN void begin(span const&) noexcept {}
  HEDDLE_FN void end(span const& s) noexcept {
    ++operations;
    bytes += s.bytes;
    flops += s.flops;
  }
};

/// Submits the marks around one operation: `observed_span scope(exec, {.operation = "matmul"});`
template <class Executor>
class observed_span {
 public:
  HEDDLE_FN observed_span(Executor& exec, span const& s) : exec_(&exec), span_(s) {
    if (auto* const plan = exec.scratch().recorded_plan()) {
      plan->flops += s.flops;
      plan->bytes_moved += s.bytes;
    }
    if constexpr (enabled)
      exec.for_each_tile(1, [o = &exec.observer(), s](index_t, int) { o->begin(s); });
  }
  observed_span(observed_span const&) = delete;
  observed_span& operator=(observed_span const&) = delete;
  HEDDLE_FN ~observed_span() noexcept(!enabled) {
    if constexpr (enabled)
      exec_->for_each_tile(1, [o = &exec_->observer(), s = span_](index_t, int) { o->end(s); });
  }

 private:
  static constexpr bool enabled = std::remove_cvref_t<decltype(std::declval<Executor&>().observer())>::enabled;
  Executor* exec_;
  span span_;
};

}  // namespace heddle
