// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/exec/executor.hpp>
#include <heddle/simt/sim_block.hpp>

namespace heddle {

/// Runs device kernels on the CPU, one thread block after the other, the threads of a block as fibers.
///
/// Host tasks (`for_each_tile`) run as loops, kernels by `launch`. Errors: contract_error where threads of a block or
/// warp disagree about a barrier or leave copies in flight; what a kernel throws. Sync: work is over when the call
/// returns. Determinism: results depend on the options only if the kernel is wrong.
class sim_executor {
 public:
  using backend = sim_tag;
  using space = host_space;
  using event = done_event;

  HEDDLE_FN explicit sim_executor(simt::sim_options const& options = {}, host_space& memory = default_host_space)
      : scratch_(memory), block_(options) {}
  sim_executor(sim_executor const&) = delete;
  sim_executor& operator=(sim_executor const&) = delete;
  HEDDLE_FN ~sim_executor() {}

  HEDDLE_FN int concurrency() const noexcept { return 1; }

  template <class F>
  HEDDLE_FN void for_each_tile(index_t n, F const& f) {
    if (this->scratch().planning()) return;
    for (index_t i = 0; i < n; ++i) f(block_.options.threads == simt::turn::forward ? i : n - 1 - i, 0);
  }

  /// Runs kernel(block context) in every thread of every block. The shared memory of each block starts poisoned.
  /// Memory: scratch of shared_bytes.
  /// Pre: threads is a multiple of 32, at most 1024.
  template <class Kernel>
  HEDDLE_FN void launch(index_t blocks, int threads, index_t shared_bytes, Kernel const& kernel) {
    HEDDLE_EXPECTS(threads > 0 && threads <= 1024 && threads % simt::warp_size == 0, "a block has 1 to 32 whole warps",
                   threads);
    scratch_frame<sim_executor> frame(*this);
    std::byte* const shared = frame.template take<std::byte>(shared_bytes);
    if (this->scratch().planning()) return;
    block_.shared = shared;
    for (index_t i = 0; i < blocks; ++i) {
      if (shared_bytes > 0) std::memset(shared, 0xFF, static_cast<std::size_t>(shared_bytes));
      block_.run(block_.options.threads == simt::turn::forward ? i : blocks - 1 - i, threads, &kernel, &enter<Kernel>);
    }
  }

  HEDDLE_FN event record() noexcept { return {}; }
  HEDDLE_FN void wait(event const&) noexcept {}
  /// Waits, on the host, for another queue.
  template <class Event>
    requires requires(Event const& e) { e.block(); }
  HEDDLE_FN void wait(Event const& e) { e.block(); }
  HEDDLE_FN void synchronize() noexcept {}
  HEDDLE_FN arena& scratch() noexcept { return scratch_; }
  HEDDLE_FN null_observer& observer() noexcept { return observer_; }

 private:
  template <class Kernel>
  static HEDDLE_FN void enter(void const* kernel, simt::detail::sim_thread& thread) {
    simt::sim_block_context context(thread);
    (*static_cast<Kernel const*>(kernel))(context);
  }

  arena scratch_;
  simt::detail::sim_block block_;
  [[no_unique_address]] null_observer observer_;
};

static_assert(immediate_executor<sim_executor>);

}  // namespace heddle
