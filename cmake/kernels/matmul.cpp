// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/backend/cpu/grouped_matmul.hpp>
#include <heddle/backend/cpu/matmul.hpp>

#include "own_flags.hpp"

namespace heddle {
HEDDLE_MATMUL_KERNELS(HEDDLE_DEFINED_KERNEL)
HEDDLE_MATMUL_DOT_KERNELS(HEDDLE_DEFINED_DOT_KERNEL)
}  // namespace heddle
