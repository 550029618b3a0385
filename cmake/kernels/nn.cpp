// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/algorithm/copy.hpp>
#include <heddle/backend/cpu/tile_context.hpp>
#include <heddle/nn/activation.hpp>
#include <heddle/nn/column_sum.hpp>
#include <heddle/nn/cross_entropy.hpp>
#include <heddle/nn/elementwise.hpp>
#include <heddle/nn/embedding.hpp>
#include <heddle/nn/layer_norm.hpp>
#include <heddle/nn/rms_norm.hpp>
#include <heddle/nn/rope.hpp>
#include <heddle/nn/softmax.hpp>
#include <heddle/optim/adam.hpp>

#if !defined(HEDDLE_KERNELS)
#error "a file of the target heddle::kernels"
#endif
namespace heddle {
static_assert(detail::has_own_tag(HEDDLE_KERNELS),
              "the flags of heddle::kernels were changed after its tags were taken (cmake/kernels.cmake)");
HEDDLE_NN_KERNELS(HEDDLE_DEFINED_KERNEL)
}  // namespace heddle
