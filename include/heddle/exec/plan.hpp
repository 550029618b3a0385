// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/exec/executor.hpp>

namespace heddle {

/// What `submit()` would take and do on an executor, without running anything: every operation that it submits is
/// asked for its scratch, flops and bytes, and its work is dropped. The figures are those that an observer of the same
/// calls sees; see `span` for what they count.
///
/// Pre: the executor has no open scratch frame; views may point nowhere, since no element is touched.
/// Post: the executor is as it was; nothing was allocated.
/// Complexity: that of submission.
template <executor E, class Submit>
HEDDLE_FN work_plan plan(E& exec, Submit&& submit) {
  struct restore {
    arena* scratch;
    HEDDLE_FN ~restore() { scratch->record_plan(nullptr); }
  };
  HEDDLE_EXPECTS(exec.scratch().top() == 0, "plan before any scratch frame is open", exec.scratch().top());
  work_plan result{};
  exec.scratch().record_plan(&result);
  restore const at_end{&exec.scratch()};
  submit();
  return result;
}

}  // namespace heddle
