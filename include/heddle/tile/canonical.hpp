// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/tile/operand.hpp>

/// @file
/// The one order in which a reduction adds up, as a plain loop: blocks of 4096 elements, inside a block 64 lanes
/// (element mod 64, ascending from the identity) and the tree T(64), above the blocks the tree T. Every backend gives
/// these bits.

namespace heddle {
namespace tile {

inline constexpr int lane_count = 64;  ///< lanes inside a block

namespace detail {

/// Combines values[0, n) along T(n) in place and returns the result. Pre: n >= 1.
/// T(n): with q the largest power of two <= n, the first n - q leaves are pairs, then a perfect tree over q leaves.
template <class V, class Op>
HEDDLE_TILE V combine_tree(V* values, index_t n, Op const& op) {
  index_t q = 1;
  while (2 * q <= n) q *= 2;
  index_t const folded = n - q;
  for (index_t i = 0; i < folded; ++i) values[i] = op(values[2 * i], values[2 * i + 1]);
  for (index_t i = folded; i < q; ++i) values[i] = values[i + folded];
  for (q /= 2; q > 0; q /= 2)
    for (index_t i = 0; i < q; ++i) values[i] = op(values[2 * i], values[2 * i + 1]);
  return values[0];
}

/// The same tree over leaf(0) ... leaf(n - 1), made one at a time in ascending order, in O(log n) memory.
template <class V, class Op, class Leaf>
HEDDLE_TILE V stream_tree(index_t n, Op const& op, Leaf const& leaf) {
  index_t q = 1;
  while (2 * q <= n) q *= 2;
  index_t const folded = n - q;
  V stack[48];
  int depth = 0;
  for (index_t i = 0; i < n; ++i) {
    stack[depth++] = leaf(i);
    // In half leaves, of which the perfect tree has 2 q: a folded leaf takes one, the others take two. Every factor
    // of two in the end of what is there completes one node.
    bool const half = i < 2 * folded;
    index_t const end = half ? i + 1 : 2 * (i - folded + 1);
    for (index_t level = half ? end : end / 2; level % 2 == 0; level /= 2, --depth)
      stack[depth - 2] = op(stack[depth - 2], stack[depth - 1]);
  }
  return stack[0];
}

/// Elements [0, n) of one block, in lanes. `at(e)` gives element e. Pre: n <= 4096.
template <class V, class Op, class At>
HEDDLE_TILE V reduce_block(index_t n, V const& identity, Op const& op, At const& at) {
  V lanes[lane_count];
  for (int lane = 0; lane < lane_count; ++lane) lanes[lane] = identity;
  for (index_t e = 0; e < n; ++e) lanes[e % lane_count] = op(lanes[e % lane_count], at(e));
  return combine_tree(lanes, lane_count, op);
}

/// Elements [0, n) of a row of any length.
template <class V, class Op, class At>
HEDDLE_TILE V reduce_elements(index_t n, V const& identity, Op const& op, At const& at) {
  index_t const blocks = n <= block_elements ? 1 : ceil_div(n, block_elements);
  return stream_tree<V>(blocks, op, [&](index_t block) HEDDLE_LAMBDA {
    index_t const first = block * block_elements;
    index_t const count = n - first < block_elements ? n - first : index_t{block_elements};
    return reduce_block(count, identity, op, [&](index_t e) HEDDLE_LAMBDA { return at(first + e); });
  });
}

}  // namespace detail
}  // namespace tile
}  // namespace heddle
