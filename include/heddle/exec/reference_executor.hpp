// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/exec/loop_executor.hpp>

namespace heddle {

/// The oracle: every operation as a plain loop over elements, in one thread. Slow, and meant to be read.
using reference_executor = detail::loop_executor<reference_tag>;

static_assert(immediate_executor<reference_executor>);

}  // namespace heddle
