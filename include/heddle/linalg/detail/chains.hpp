// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/tree.hpp>
#include <heddle/tile/operand.hpp>

namespace heddle::linalg::detail {

/// The chains that a sum over k is cut into; they are added along T(count()). Without leaves k is cut at the
/// blocks of canonical reductions, otherwise into that many parts, the larger ones first.
struct chain_cuts {
  static constexpr index_t depth = tile::block_elements;
  index_t k, leaves;

  HEDDLE_HD_FN constexpr index_t count() const { return leaves > 0 ? leaves : k > depth ? (k + depth - 1) / depth : 1; }
  HEDDLE_HD_FN constexpr part at(index_t i) const {
    if (leaves > 0) return balanced_part(k, leaves, i);
    return {i * depth, k - i * depth < depth ? k - i * depth : depth};
  }
  HEDDLE_HD_FN constexpr index_t longest() const {
    return leaves > 0 ? (k + leaves - 1) / leaves : k < depth ? k : depth;
  }
};

}  // namespace heddle::linalg::detail
