// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/comm/communicator.hpp>

#include <exception>

namespace heddle {

/// Fails a communicator when an exception leaves the scope, before what was declared earlier is destroyed: declared
/// after the queues of a rank, it wakes the peers before the queues are drained and anything is freed.
/// Memory: refers to the communicator, which outlives it.
template <failable_communicator C>
class failure_guard {
 public:
  HEDDLE_FN explicit failure_guard(C& comm) noexcept : comm_(comm), before_(std::uncaught_exceptions()) {}
  failure_guard(failure_guard const&) = delete;
  failure_guard& operator=(failure_guard const&) = delete;
  HEDDLE_FN ~failure_guard() {
    if (std::uncaught_exceptions() > before_) comm_.fail("an exception left its scope");
  }

 private:
  C& comm_;
  int before_;
};

}  // namespace heddle
