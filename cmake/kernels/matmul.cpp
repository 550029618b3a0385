// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/backend/cpu/matmul.hpp>

#if !defined(HEDDLE_KERNELS)
#error "a file of the target heddle::kernels"
#endif
namespace heddle {
static_assert(detail::has_own_tag(HEDDLE_KERNELS),
              "the flags of heddle::kernels were changed after its tags were taken (cmake/kernels.cmake)");
HEDDLE_MATMUL_KERNELS(HEDDLE_DEFINED_KERNEL)
}  // namespace heddle
