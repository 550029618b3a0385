// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/tensor_view.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace heddle {

/// One piece of work, as an observer sees it.
///
/// Units: bytes, operations on elements. `bytes` counts every element that is read and every one that is written once,
/// however often a cache serves it. `flops` counts the additions, multiplications (two of both for an fma), divisions,
/// roots, comparisons and elementary functions per element of the formula; what is done once per row, sign changes,
/// selections and conversions count nothing. Figures stand in the span around the work itself: one that holds other
/// spans has none, so that a sum counts nothing twice. `operation` points to a string that lives for ever.
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
    bytes = saturating_sum(bytes, s.bytes);
    flops = saturating_sum(flops, s.flops);
  }
};

/// The bytes of all elements of views.
template <any_view... V>
HEDDLE_FN constexpr index_t element_bytes(V const&... v) noexcept {
  return (index_t{0} + ... + (v.size() * static_cast<index_t>(sizeof(typename V::value_type))));
}

namespace detail {
/// Runs task() on the host, behind the work submitted so far and only if that has not failed.
template <class Executor, class Task>
HEDDLE_FN void submit_mark(Executor& exec, Task const& task) {
  if constexpr (requires { exec.submit_host(task); })
    exec.submit_host(task);
  else
    exec.for_each_tile(1, [task](index_t, int) { task(); });
}
}  // namespace detail

/// Submits the marks around one piece of work: `observed_span scope(exec, {.operation = "matmul"});`
/// In place of the span a callable that returns it: it is called only where an observer or a plan looks.
template <class Executor>
class observed_span {
 public:
  HEDDLE_FN observed_span(Executor& exec, span const& s) : exec_(&exec), span_(s) { open(); }
  template <class Describe>
    requires std::is_invocable_r_v<span, Describe const&>
  HEDDLE_FN observed_span(Executor& exec, Describe const& describe) : exec_(&exec), span_{} {
    if (!enabled && !exec.scratch().planning()) return;
    span_ = describe();
    open();
  }
  observed_span(observed_span const&) = delete;
  observed_span& operator=(observed_span const&) = delete;
  HEDDLE_FN ~observed_span() noexcept(!enabled) {
    if constexpr (enabled) detail::submit_mark(*exec_, [o = &exec_->observer(), s = span_] { o->end(s); });
  }

 private:
  HEDDLE_FN void open() {
    if (auto* const plan = exec_->scratch().recorded_plan()) {
      plan->flops = saturating_sum(plan->flops, span_.flops);
      plan->bytes_moved = saturating_sum(plan->bytes_moved, span_.bytes);
    }
    if constexpr (enabled) detail::submit_mark(*exec_, [o = &exec_->observer(), s = span_] { o->begin(s); });
  }

  static constexpr bool enabled = std::remove_cvref_t<decltype(std::declval<Executor&>().observer())>::enabled;
  Executor* exec_;
  span span_;
};

}  // namespace heddle
