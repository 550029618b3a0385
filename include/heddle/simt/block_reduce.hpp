// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/simt/block_context.hpp>
#include <heddle/tile/canonical.hpp>

/// @file
/// The canonical reduction of tile/canonical.hpp by one warp: lane l of the warp holds lanes l and l + 32 of the 64.

namespace heddle {
namespace simt {
namespace detail {

/// T(32) over one value per thread of a warp, neighbours first, the lower thread left. Every thread gets the result.
HEDDLE_DEVICE_PASS_QUIET
template <class V, class Block, class Op>
HEDDLE_HD_FN V combine_warp(Block& b, V value, Op const& op) {
  for (int mask = 1; mask < warp_size; mask *= 2) {
    V const other = b.shuffle_xor(value, mask);
    value = b.lane() & mask ? op(other, value) : op(value, other);
  }
  return value;
}

/// Elements [0, n) of one block, n <= 4096.
HEDDLE_DEVICE_PASS_QUIET
template <class V, class Block, class Op, class At>
HEDDLE_HD_FN V reduce_block_warp(Block& b, index_t n, V identity, Op const& op, At const& at) {
  V low = identity, high = identity;
  index_t e = b.lane();
  for (; e + warp_size < n; e += 2 * warp_size) {
    low = op(low, at(e));
    high = op(high, at(e + warp_size));
  }
  if (e < n) low = op(low, at(e));
  return op(combine_warp(b, low, op), combine_warp(b, high, op));
}

/// A row of any length. Every thread of the warp gets the result.
HEDDLE_DEVICE_PASS_QUIET
template <class V, class Block, class Op, class At>
HEDDLE_HD_FN V reduce_row_warp(Block& b, index_t n, V identity, Op const& op, At const& at) {
  constexpr index_t size = tile::block_elements;
  if (n <= size) return reduce_block_warp(b, n, identity, op, at);
  return tile::detail::stream_tree<V>(tile::ceil_div(n, size), op, [&](index_t block) {
    index_t const first = block * size;
    return reduce_block_warp(b, n - first < size ? n - first : size, identity, op,
                             [&](index_t e) { return at(first + e); });
  });
}

}  // namespace detail
}  // namespace simt
}  // namespace heddle
