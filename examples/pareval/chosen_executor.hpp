// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// An executor that is picked at run time. Every problem is compiled once per backend, whatever runs the tiles.

#include <heddle/exec/executor.hpp>

namespace pareval {

/// Hands its tiles to another executor of the same backend, known by two pointers.
template <class Backend>
class chosen_executor {
 public:
  using backend = Backend;
  using space = heddle::host_space;
  using event = heddle::done_event;

  template <heddle::immediate_executor E>
    requires std::same_as<typename E::backend, Backend>
  explicit chosen_executor(E& exec)
      : exec_(&exec), scratch_(&exec.scratch()), concurrency_(exec.concurrency()), run_(&run_tiles<E>) {}

  int concurrency() const { return concurrency_; }
  template <class F>
  void for_each_tile(heddle::index_t n, F const& f) {
    run_(exec_, n, task{&f, [](void const* call, heddle::index_t tile, int worker) {
                          (*static_cast<F const*>(call))(tile, worker);
                        }});
  }
  event record() { return {}; }
  void wait(event const&) {}
  void synchronize() {}
  heddle::arena& scratch() { return *scratch_; }
  heddle::null_observer& observer() { return observer_; }

 private:
  struct task {
    void const* call;
    void (*body)(void const*, heddle::index_t, int);
    void operator()(heddle::index_t tile, int worker) const { body(call, tile, worker); }
  };
  template <class E>
  static void run_tiles(void* exec, heddle::index_t n, task const& t) {
    static_cast<E*>(exec)->for_each_tile(n, t);
  }

  void* exec_;
  heddle::arena* scratch_;
  int concurrency_;
  void (*run_)(void*, heddle::index_t, task const&);
  heddle::null_observer observer_;
};

}  // namespace pareval
