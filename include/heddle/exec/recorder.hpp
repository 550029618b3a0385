// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/exec/memory.hpp>
#include <heddle/exec/observer.hpp>
#include <heddle/exec/wait.hpp>

#include <pthread.h>

namespace heddle {

/// A piece of work with its times. Units: nanoseconds of the monotonic clock.
struct recorded_span {
  span what;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = -1;  ///< -1 where the end was not seen: the work failed, or the buffer was full
  std::uint64_t thread = 0;  ///< equal for spans that one thread ran
};

/// An observer that keeps the begin and end times of work in a buffer of fixed size.
///
/// Sync: several queues may share it; read it after all of them have been synchronised.
/// Memory: 96 bytes a mark, two marks a span, taken at construction. Marks that don't fit are counted, not kept.
class recorder {
 public:
  static constexpr bool enabled = true;

  /// Room for `spans` pieces of work. Pre: spans >= 0.
  HEDDLE_FN explicit recorder(index_t spans, host_space& space = default_host_space)
      : space_(&space), marks_(nullptr), capacity_(2 * spans), count_(0) {
    HEDDLE_EXPECTS(spans >= 0, "a recorder can't hold less than nothing", spans);
    marks_ = static_cast<mark*>(space.allocate_now(bytes(), alignof(mark)));
  }
  recorder(recorder const&) = delete;
  recorder& operator=(recorder const&) = delete;
  HEDDLE_FN ~recorder() { space_->deallocate_now(marks_, bytes(), alignof(mark)); }

  HEDDLE_FN void begin(span const& s) noexcept { add(s, false); }
  HEDDLE_FN void end(span const& s) noexcept { add(s, true); }

  /// Marks that did not fit.
  HEDDLE_FN index_t dropped() const noexcept {
    index_t const n = __atomic_load_n(&count_, __ATOMIC_RELAXED);
    return n > capacity_ ? n - capacity_ : 0;
  }
  HEDDLE_FN void clear() noexcept { __atomic_store_n(&count_, index_t{0}, __ATOMIC_RELAXED); }

  /// Calls f(recorded_span const&) for every span, in the order in which they began.
  /// Complexity: marks times the marks inside the longest span.
  template <class F>
  HEDDLE_FN void for_each(F const& f) const {
    index_t const n = __atomic_load_n(&count_, __ATOMIC_RELAXED) - dropped();
    for (index_t i = 0; i < n; ++i)
      if (!marks_[i].is_end) f(recorded_span{marks_[i].what, marks_[i].at_ns, end_of(i, n), marks_[i].thread});
  }

 private:
  struct mark {
    span what;
    std::int64_t at_ns;
    std::uint64_t thread;
    bool is_end;
  };

  HEDDLE_FN std::size_t bytes() const noexcept { return static_cast<std::size_t>(capacity_) * sizeof(mark); }

  HEDDLE_FN void add(span const& s, bool is_end) noexcept {
    index_t const i = __atomic_fetch_add(&count_, index_t{1}, __ATOMIC_RELAXED);
    if (i >= capacity_) return;
    std::uint64_t const thread = static_cast<std::uint64_t>(pthread_self());
    ::new (static_cast<void*>(marks_ + i)) mark{s, deadline::now_ns(), thread, is_end};
  }

  // Spans of one thread nest. Ends without a begin (it was skipped) belong to another operation and are passed over.
  HEDDLE_FN std::int64_t end_of(index_t begin, index_t n) const noexcept {
    mark const& b = marks_[begin];
    index_t open = 1;
    for (index_t i = begin + 1; i < n; ++i) {
      mark const& m = marks_[i];
      if (m.thread != b.thread || m.what.operation != b.what.operation) continue;
      open += m.is_end ? -1 : 1;
      if (open == 0) return m.at_ns;
    }
    return -1;
  }

  host_space* space_;
  mark* marks_;
  index_t capacity_, count_;
};

static_assert(observer_type<recorder>);

}  // namespace heddle
