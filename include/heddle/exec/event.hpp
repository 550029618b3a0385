// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/exec/wait.hpp>

#include <exception>

namespace heddle {
namespace detail {

/// What a queue shares with its events: how far it is, and what went wrong. Freed by the last of them.
struct queue_state {
  std::uint64_t completed;  ///< pieces of work that are over, run or skipped
  park_word finished;       ///< rung after `completed` has grown
  std::uint32_t references;
  std::uint32_t lock;  ///< guards the three below
  std::exception_ptr failure;
  std::uint64_t first_failed, last_failed;  ///< work in this range failed or was skipped; empty: first > last

  HEDDLE_FN queue_state() noexcept
      : completed(0), references(1), lock(0), failure(), first_failed(1), last_failed(0) {}
  queue_state(queue_state const&) = delete;
  queue_state& operator=(queue_state const&) = delete;
  HEDDLE_FN ~queue_state() {}

  HEDDLE_FN void retain() noexcept { __atomic_add_fetch(&references, 1u, __ATOMIC_RELAXED); }
  HEDDLE_FN void release() noexcept {
    if (__atomic_sub_fetch(&references, 1u, __ATOMIC_ACQ_REL) == 0) delete this;
  }
  HEDDLE_FN bool passed(std::uint64_t sequence) const noexcept {
    return __atomic_load_n(&completed, __ATOMIC_ACQUIRE) >= sequence;
  }
  HEDDLE_FN void wait(std::uint64_t sequence) noexcept {
    finished.wait([this, sequence] { return passed(sequence); });
  }

  HEDDLE_FN void set_failure(std::exception_ptr const& why, std::uint64_t first, std::uint64_t last) noexcept {
    enter();
    failure = why;
    first_failed = first;
    last_failed = last;
    leave();
  }
  /// Ends the failed range at `last` and returns what went wrong.
  HEDDLE_FN std::exception_ptr end_failure(std::uint64_t last) noexcept {
    enter();
    last_failed = last;
    std::exception_ptr why = failure;
    leave();
    return why;
  }
  /// Why the work up to `sequence` can't be relied on, or null.
  HEDDLE_FN std::exception_ptr failure_before(std::uint64_t sequence) noexcept {
    enter();
    std::exception_ptr why;
    if (first_failed <= sequence && sequence <= last_failed) why = failure;
    leave();
    return why;
  }

 private:
  HEDDLE_FN void enter() noexcept {
    while (__atomic_exchange_n(&lock, 1u, __ATOMIC_ACQUIRE) != 0) sched_yield();
  }
  HEDDLE_FN void leave() noexcept { __atomic_store_n(&lock, 0u, __ATOMIC_RELEASE); }
};

}  // namespace detail

/// A point in the work of a `queued` executor. It may outlive the queue; a default one has always passed.
class queue_event {
 public:
  HEDDLE_FN queue_event() noexcept : state_(nullptr), sequence_(0) {}
  HEDDLE_FN queue_event(detail::queue_state* state, std::uint64_t sequence) noexcept
      : state_(state), sequence_(sequence) {
    if (state_) state_->retain();
  }
  HEDDLE_FN queue_event(queue_event const& o) noexcept : queue_event(o.state_, o.sequence_) {}
  HEDDLE_FN queue_event& operator=(queue_event const& o) noexcept {
    if (o.state_) o.state_->retain();
    if (state_) state_->release();
    state_ = o.state_;
    sequence_ = o.sequence_;
    return *this;
  }
  HEDDLE_FN ~queue_event() {
    if (state_) state_->release();
  }

  /// Whether the work before this point is over, run or skipped.
  HEDDLE_FN bool passed() const noexcept { return state_ == nullptr || state_->passed(sequence_); }

  /// Blocks the calling thread until the queue is past this point.
  /// Errors: rethrows what made the queue fail or skip work before this point; the queue still reports it itself.
  HEDDLE_FN void block() const {
    if (state_ == nullptr) return;
    state_->wait(sequence_);
    if (std::exception_ptr const why = state_->failure_before(sequence_)) std::rethrow_exception(why);
  }

  // For queued.
  HEDDLE_FN detail::queue_state* state() const noexcept { return state_; }
  HEDDLE_FN std::uint64_t sequence() const noexcept { return sequence_; }

 private:
  detail::queue_state* state_;
  std::uint64_t sequence_;
};

}  // namespace heddle
