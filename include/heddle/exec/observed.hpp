// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/exec/executor.hpp>

namespace heddle {

/// An executor that is watched: the same queue, memory and kernels, with another observer.
///
/// Memory: refers to both; they outlive it, and it outlives the tensors made with it.
template <executor E, observer_type Observer>
class observed {
 public:
  using backend = typename E::backend;
  using space = typename E::space;
  using event = typename E::event;

  HEDDLE_FN observed(E& exec, Observer& observer) noexcept : exec_(&exec), observer_(&observer) {}

  HEDDLE_FN int concurrency() const noexcept { return exec_->concurrency(); }
  template <class F>
  HEDDLE_FN void for_each_tile(index_t n, F const& f) {
    exec_->for_each_tile(n, f);
  }
  template <class F>
    requires requires(E& e, F const& f) { e.submit_cleanup(f); }
  HEDDLE_FN void submit_cleanup(F const& f) {
    exec_->submit_cleanup(f);
  }
  /// Runs a host task in the queue, where the wrapped executor runs tiles elsewhere.
  template <class F>
    requires requires(E& e, F const& f) { e.submit_host(f); }
  HEDDLE_FN void submit_host(F const& f) { exec_->submit_host(f); }
  /// Runs a device kernel, where the wrapped executor does (simt/block_context.hpp).
  template <class Kernel>
    requires requires(E& e, Kernel const& k) { e.launch(index_t{}, 0, index_t{}, k); }
  HEDDLE_FN void launch(index_t blocks, int threads, index_t shared_bytes, Kernel const& kernel) {
    exec_->launch(blocks, threads, shared_bytes, kernel);
  }
  HEDDLE_FN event record() { return exec_->record(); }
  template <class Event>
    requires requires(E& e, Event const& ev) { e.wait(ev); }
  HEDDLE_FN void wait(Event const& e) {
    exec_->wait(e);
  }
  HEDDLE_FN void synchronize() { exec_->synchronize(); }
  HEDDLE_FN void drain() noexcept
    requires requires(E& e) { e.drain(); }
  {
    exec_->drain();
  }
  HEDDLE_FN void cancel() noexcept
    requires requires(E& e) { e.cancel(); }
  {
    exec_->cancel();
  }
  HEDDLE_FN arena& scratch() noexcept { return exec_->scratch(); }
  HEDDLE_FN Observer& observer() noexcept { return *observer_; }
  HEDDLE_FN E& inner() noexcept { return *exec_; }

 private:
  E* exec_;
  Observer* observer_;
};

}  // namespace heddle
