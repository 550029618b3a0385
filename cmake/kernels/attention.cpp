// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/backend/cpu/attention_backward.hpp>
#include <heddle/backend/cpu/attention_forward.hpp>

#include "own_flags.hpp"

namespace heddle {
HEDDLE_ATTENTION_KERNELS(HEDDLE_DEFINED_KERNEL)
HEDDLE_ATTENTION_DOT_KERNELS(HEDDLE_DEFINED_DOT_KERNEL)
}  // namespace heddle
