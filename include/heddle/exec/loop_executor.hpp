// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/exec/executor.hpp>

namespace heddle {
namespace detail {

/// Runs every tile in ascending order in the calling thread. The backend alone tells its two users apart.
template <class Backend>
class loop_executor {
 public:
  using backend = Backend;
  using space = host_space;
  using event = done_event;

  HEDDLE_FN explicit loop_executor(host_space& memory = default_host_space) noexcept : scratch_(memory) {}
  loop_executor(loop_executor const&) = delete;
  loop_executor& operator=(loop_executor const&) = delete;
  HEDDLE_FN ~loop_executor() {}

  HEDDLE_FN int concurrency() const noexcept { return 1; }

  template <class F>
  HEDDLE_FN void for_each_tile(index_t n, F const& f) {
    for (index_t tile = 0; tile < n; ++tile) f(tile, 0);
  }

  HEDDLE_FN event record() noexcept { return {}; }
  HEDDLE_FN void wait(event const&) noexcept {}
  /// Waits, on the host, for another queue.
  template <class Event>
    requires requires(Event const& e) { e.block(); }
  HEDDLE_FN void wait(Event const& e) {
    e.block();
  }
  HEDDLE_FN void synchronize() noexcept {}
  HEDDLE_FN arena& scratch() noexcept { return scratch_; }
  HEDDLE_FN null_observer& observer() noexcept { return observer_; }

 private:
  arena scratch_;
  [[no_unique_address]] null_observer observer_;
};

}  // namespace detail
}  // namespace heddle
