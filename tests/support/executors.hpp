// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// The executors that every operation's test body runs on. Scratch is poisoned as soon as the contract allows, and a
/// write past its end fails the test.
/// A body calls `exec.synchronize()` before it reads results.

#include <heddle/backend/cpu/tile_context.hpp>
#include <heddle/backend/reference/tile_context.hpp>
#include <heddle/backend/sim/tile_context.hpp>
#include <heddle/exec/openmp_executor.hpp>
#include <heddle/exec/queued.hpp>
#include <heddle/exec/reference_executor.hpp>
#include <heddle/exec/serial_executor.hpp>
#include <heddle/exec/threads_executor.hpp>

#include <support/catch.hpp>

#include <tuple>

namespace heddle::test {

template <class Executor>
void watch_scratch(Executor& exec) {
  exec.scratch().poison(true);
  exec.scratch().guard(true);
}
/// Fails the test where an operation wrote past the end of its scratch.
template <class Executor>
void check_scratch(Executor& exec) noexcept {
  try {
    exec.synchronize();
  } catch (...) {  // a failure that the test wanted
  }
  if (exec.scratch().overruns() != 0) FAIL_CHECK("an operation wrote past the end of its scratch");
}

template <class Executor, int... Arguments>
struct executor_case {
  Executor exec{Arguments...};
  executor_case() { watch_scratch(exec); }
  ~executor_case() { check_scratch(exec); }
};

using reference_case = executor_case<reference_executor>;
using serial_case = executor_case<serial_executor>;
template <int Threads>
using threads_case = executor_case<threads_executor, Threads>;
using queued_serial_case = executor_case<queued<serial_executor>>;
using queued_threads_case = executor_case<queued<threads_executor>, 2>;
#if defined(_OPENMP)
using openmp_case = executor_case<openmp_executor, 2>;
#endif

/// Copies that land late and threads in ascending turns; and the opposite of both.
template <simt::landing Landing, simt::turn Turn>
struct sim_case {
  sim_executor exec{simt::sim_options{Landing, Turn}};
  sim_case() { watch_scratch(exec); }
  ~sim_case() { check_scratch(exec); }
};
using sim_late_case = sim_case<simt::landing::late, simt::turn::forward>;
using sim_early_case = sim_case<simt::landing::early, simt::turn::reverse>;

/// For TEMPLATE_LIST_TEST_CASE: `TestType setup; auto& exec = setup.exec;`
using executor_cases = std::tuple<reference_case, serial_case, threads_case<1>, threads_case<2>, threads_case<3>,
#if defined(_OPENMP)
                                  openmp_case,
#endif
                                  queued_serial_case, queued_threads_case>;

/// The same and the simulator, for operations that are tile programs.
using tile_cases = std::tuple<reference_case, serial_case, threads_case<1>, threads_case<2>, threads_case<3>,
#if defined(_OPENMP)
                              openmp_case,
#endif
                              queued_serial_case, queued_threads_case, sim_late_case, sim_early_case>;

}  // namespace heddle::test
