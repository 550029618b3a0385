// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/exec/detail/chunk.hpp>
#include <heddle/exec/executor.hpp>

namespace heddle::detail {

/// What every executor shares whose work is over when the submitting call returns.
template <class Backend>
class immediate_base {
 public:
  using backend = Backend;
  using space = host_space;
  using event = done_event;

  immediate_base(immediate_base const&) = delete;
  immediate_base& operator=(immediate_base const&) = delete;

  HEDDLE_FN event record() noexcept { return {}; }
  HEDDLE_FN void wait(event const&) noexcept {}
  /// Blocks the host until another queue has passed the event, because here the host is the queue.
  template <class Event>
    requires requires(Event const& e) { e.block(); }
  HEDDLE_FN void wait(Event const& e) {
    e.block();
  }
  HEDDLE_FN void synchronize() noexcept {}
  HEDDLE_FN arena& scratch() noexcept { return scratch_; }
  HEDDLE_FN null_observer& observer() noexcept { return observer_; }

 protected:
  HEDDLE_FN explicit immediate_base(host_space& memory) noexcept : scratch_(memory), running_(0) {}
  HEDDLE_FN ~immediate_base() {}

  /// Refuses a tile that submits to the executor that runs it, and a second thread.
  class busy_scope {
   public:
    HEDDLE_FN explicit busy_scope(immediate_base& e) : running_(&e.running_) {
      HEDDLE_EXPECTS(__atomic_load_n(running_, __ATOMIC_RELAXED) == 0,
                     "a tile must not submit to the executor that runs it, nor two threads to one executor");
      __atomic_store_n(running_, 1, __ATOMIC_RELAXED);
    }
    busy_scope(busy_scope const&) = delete;
    busy_scope& operator=(busy_scope const&) = delete;
    HEDDLE_FN ~busy_scope() { __atomic_store_n(running_, 0, __ATOMIC_RELAXED); }

   private:
    int* running_;
  };

 private:
  arena scratch_;
  int running_;
  [[no_unique_address]] null_observer observer_;
};

}  // namespace heddle::detail
