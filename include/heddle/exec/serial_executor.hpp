// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/exec/loop_executor.hpp>

namespace heddle {

/// The tuned CPU kernels in the calling thread.
using serial_executor = detail::loop_executor<cpu_tag>;

static_assert(immediate_executor<serial_executor>);

}  // namespace heddle
