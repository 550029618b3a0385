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

#include "own_flags.hpp"

namespace heddle {
HEDDLE_NN_KERNELS(HEDDLE_DEFINED_KERNEL)
}  // namespace heddle
