// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/exec/detail/thread.hpp>
#include <heddle/exec/event.hpp>
#include <heddle/exec/executor.hpp>

#include <new>

namespace heddle {

/// Gives an executor whose calls block a worker thread of its own, so that submitting returns at once.
///
/// Work is copied into a ring of 256 slots and run in order; a full ring blocks the host until a slot is free.
/// Errors: the first exception of the work is kept and thrown by `synchronize`, once; until then later work is skipped,
/// and so is the work of queues that wait for it, which report the same exception. Cleanups and waits are never
/// skipped, so memory is freed and events pass on a failed queue too.
/// Sync: one host thread submits at a time; `cancel` may be called by any. The destructor drains the queue and
/// drops a failure that nobody asked for. Memory: 128 KiB, and the scratch arena.
/// Complexity: about a microsecond of the host for each piece of work.
template <class E>
class queued {
  static_assert(immediate_executor<E>, "queued<E> needs an executor that has finished when its calls return");

 public:
  using backend = typename E::backend;
  using space = typename E::space;
  using event = queue_event;

  static constexpr std::size_t slots = 256;

  /// The arguments make the inner executor.
  template <class... Arguments>
    requires std::constructible_from<E, Arguments&&...>
  HEDDLE_FN explicit queued(Arguments&&... arguments)
      : inner_(static_cast<Arguments&&>(arguments)...), scratch_(inner_.scratch().space()), state_(nullptr),
        ring_(nullptr), submitted_(0), stopping_(0), cancelled_(0), failed_(0) {
    start();
  }
  queued(queued const&) = delete;
  queued& operator=(queued const&) = delete;
  HEDDLE_FN ~queued() {
    drain();
    __atomic_store_n(&stopping_, 1, __ATOMIC_RELEASE);
    bell_.notify();
    worker_.join();
    ::operator delete(ring_, std::align_val_t(alignof(slot)));
    state_->release();
  }

  HEDDLE_FN int concurrency() const noexcept { return inner_.concurrency(); }

  template <class F>
  HEDDLE_FN void for_each_tile(index_t n, F const& f) {
    submit(f, n, false, [](queued& q, slot& s) { q.inner_.for_each_tile(s.n, *static_cast<F const*>(s.task())); });
  }

  /// Submits f() that runs even where the queue has failed or is cancelled: frees, poisoning, signals.
  template <class F>
  HEDDLE_FN void submit_cleanup(F const& f) {
    submit(f, 1, true, [](queued&, slot& s) { (*static_cast<F const*>(s.task()))(); });
  }

  HEDDLE_FN event record() noexcept { return event(state_, submitted_); }

  /// Orders later work after an event of any queue; the host doesn't wait.
  HEDDLE_FN void wait(event const& e) {
    if (e.state() == nullptr || e.state() == state_) return;
    e.state()->retain();  // the slot's share, given back when it has run
    submit(foreign_event{e.state(), e.sequence()}, 1, true,
           [](queued& q, slot& s) { q.pass(*static_cast<foreign_event const*>(s.task())); });
  }
  HEDDLE_FN void wait(done_event const&) noexcept {}

  /// Blocks until all work is over. Errors: throws the first exception of the work, once; clears a `cancel`.
  HEDDLE_FN void synchronize() {
    HEDDLE_EXPECTS(detail::running_queue != this, "work must not wait for the queue that runs it");
    drain();
    __atomic_store_n(&cancelled_, 0, __ATOMIC_RELAXED);
    if (__atomic_exchange_n(&failed_, 0, __ATOMIC_RELAXED) == 0) return;
    std::exception_ptr const why = state_->end_failure(submitted_);
    submit_cleanup([] {});  // so that an event recorded from now on lies after the failure
    std::rethrow_exception(why);
  }

  /// Blocks until all work is over and leaves a failure to be reported later.
  HEDDLE_FN void drain() noexcept { state_->wait(submitted_); }

  /// Skips all work that has not started, and what is submitted later, until the next `synchronize`. Cleanups run.
  HEDDLE_FN void cancel() noexcept { __atomic_store_n(&cancelled_, 1, __ATOMIC_RELAXED); }

  HEDDLE_FN arena& scratch() noexcept { return scratch_; }
  HEDDLE_FN auto& observer() noexcept { return inner_.observer(); }

 private:
  struct foreign_event {
    detail::queue_state* state;
    std::uint64_t sequence;
  };
  struct alignas(64) slot {
    void (*run)(queued&, slot&);
    index_t n;
    bool always;
    alignas(64) unsigned char bytes[max_task_bytes];

    HEDDLE_FN void const* task() const noexcept { return bytes; }
  };

  template <class F>
  HEDDLE_FN void submit(F const& f, index_t n, bool always, void (*run)(queued&, slot&)) {
    static_assert(std::is_trivially_copyable_v<F>,
                  "queued work is copied byte by byte: capture only trivially copyable values (views, numbers)");
    static_assert(sizeof(F) <= max_task_bytes, "queued work may capture at most 448 bytes");
    static_assert(alignof(F) <= 64, "queued work may need an alignment of at most 64 bytes");
    HEDDLE_EXPECTS(detail::running_queue != this, "a tile must not submit to the queue that runs it");
    if (scratch_.planning() && !always) return;
    if (submitted_ >= slots) state_->wait(submitted_ + 1 - slots);
    slot& s = ring_[submitted_ % slots];
    s.run = run;
    s.n = n;
    s.always = always;
    ::new (static_cast<void*>(s.bytes)) F(f);
    __atomic_store_n(&submitted_, submitted_ + 1, __ATOMIC_RELEASE);
    bell_.notify();
  }

  HEDDLE_FN void start() {
    try {
      state_ = new detail::queue_state;
      ring_ = static_cast<slot*>(::operator new(slots * sizeof(slot), std::align_val_t(alignof(slot))));
      worker_.start([](void* self) { static_cast<queued*>(self)->serve(); }, this);
    } catch (...) {
      if (ring_) ::operator delete(ring_, std::align_val_t(alignof(slot)));
      if (state_) state_->release();
      throw;
    }
  }

  HEDDLE_FN void serve() noexcept {
    detail::running_queue = this;
    spin_budget budget;
    for (std::uint64_t next = 0;; ++next) {
      auto const ready = [this, next] { return __atomic_load_n(&submitted_, __ATOMIC_ACQUIRE) > next; };
      bell_.wait([&] { return ready() || __atomic_load_n(&stopping_, __ATOMIC_ACQUIRE) != 0; }, {}, &budget);
      if (!ready()) return;
      slot& s = ring_[next % slots];
      if (s.always || !skipping()) {
        try {
          s.run(*this, s);
        } catch (...) {
          fail(std::current_exception(), next + 1);
        }
      }
      __atomic_store_n(&state_->completed, next + 1, __ATOMIC_RELEASE);
      state_->finished.notify();
    }
  }

  HEDDLE_FN bool skipping() const noexcept {
    return __atomic_load_n(&cancelled_, __ATOMIC_RELAXED) != 0 || __atomic_load_n(&failed_, __ATOMIC_RELAXED) != 0;
  }

  // Only the worker sets failed_, and only a host that has seen the worker idle clears it.
  HEDDLE_FN void fail(std::exception_ptr const& why, std::uint64_t sequence) noexcept {
    if (__atomic_exchange_n(&failed_, 1, __ATOMIC_RELAXED) == 0) state_->set_failure(why, sequence, UINT64_MAX);
  }

  HEDDLE_FN void pass(foreign_event const& e) noexcept {
    e.state->wait(e.sequence);
    if (std::exception_ptr const why = e.state->failure_before(e.sequence)) fail(why, state_->completed + 1);
    e.state->release();
  }

  E inner_;
  arena scratch_;
  detail::queue_state* state_;
  slot* ring_;
  std::uint64_t submitted_;
  park_word bell_;  ///< rung after `submitted_` has grown
  int stopping_, cancelled_, failed_;
  detail::os_thread worker_;
};

}  // namespace heddle
