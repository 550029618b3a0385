// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/backend/cpu/tile_operands.hpp>
#include <heddle/tile/canonical.hpp>

#include <utility>

/// @file
/// The canonical reduction of tile/canonical.hpp in vectors: the 64 lanes of a block are 64 / W accumulators.

namespace heddle {
namespace tile {
namespace detail {

// T(64) over the accumulators, which hold the lanes in order.
template <class V, int... U, class Op>
HEDDLE_SHIM lane_t<V> combine_accumulators(std::integer_sequence<int, U...>, V const* acc, Op const& op) {
  vec<lane_t<V>, lane_count, V::register_lanes> lanes;
  (acc[U].store(lanes.lane + U * V::width), ...);
  return heddle::tree_reduce(lanes, op);
}

// Folds, not loops: an array that is indexed by a variable would stay in memory.
template <class V, int... U>
HEDDLE_SHIM void fill_accumulators(std::integer_sequence<int, U...>, V* acc, V const& value) {
  ((acc[U] = value), ...);
}
template <class V, int... U, class Op, class Chunk>
HEDDLE_SHIM void add_chunks(std::integer_sequence<int, U...>, V* acc, Op const& op, Chunk const& chunk) {
  ((acc[U] = op(acc[U], chunk(index_t{U} * V::width))), ...);
}

// Lanes at and behind n keep what they have. By way of memory: comparisons of lanes to make a mask would cost more.
template <class V>
HEDDLE_SHIM V keep_behind(V const& now, V const& before, index_t n) {
  V r = before;
  now.store(r.lane, n);
  return r;
}

template <class V, int... U, class Op>
HEDDLE_SHIM void add_last(std::integer_sequence<int, U...>, V* acc, V const* last, index_t n, Op const& op) {
  auto const one = [&](V& a, V const& value, index_t left) HEDDLE_LAMBDA {
    if (left > 0) a = keep_behind(op(a, value), a, left < V::width ? left : index_t{V::width});
  };
  (one(acc[U], last[U], n - index_t{U} * V::width), ...);
}

/// One block of n <= 4096 elements. `chunk(c)` gives W of them from c on, `part(c, n)` at most n. The callables stand
/// once or at most eight times in the code, however many accumulators there are.
template <class V, class Op, class Chunk, class Part>
HEDDLE_SHIM lane_t<V> reduce_block_lanes(index_t n, lane_t<V> identity, Op const& op, Chunk const& chunk,
                                         Part const& part) {
  constexpr int count = lane_count / V::width;
  constexpr bool in_registers = count <= 8;
  using accumulators = std::make_integer_sequence<int, count>;
  V acc[count];
  fill_accumulators(accumulators{}, acc, V::splat(identity));
  index_t c = 0;
  for (; c + lane_count <= n; c += lane_count) {
    if constexpr (in_registers)
      add_chunks<V>(accumulators{}, acc, op, [&](index_t u) HEDDLE_LAMBDA { return chunk(c + u); });
    else
      for (int u = 0; u < count; ++u) acc[u] = op(acc[u], chunk(c + u * V::width));
  }
  if (c < n) {
    V last[count];
    for (V& v : last) v = V::zero();
    for (int u = 0; u < count && c + u * V::width < n; ++u) last[u] = part(c + u * V::width, n - c - u * V::width);
    add_last<V>(accumulators{}, acc, last, n - c, op);
  }
  return combine_accumulators<V>(accumulators{}, acc, op);
}

/// A row of any length.
template <class V, class Op, class Chunk, class Part>
HEDDLE_SHIM lane_t<V> reduce_row_lanes(index_t n, lane_t<V> identity, Op const& op, Chunk const& chunk,
                                       Part const& part) {
  index_t const blocks = HEDDLE_LIKELY(n <= block_elements) ? 1 : ceil_div(n, block_elements);
  return stream_tree<lane_t<V>>(blocks, op, [&](index_t block) HEDDLE_LAMBDA {
    index_t const first = block * block_elements;
    index_t const count = n - first < block_elements ? n - first : index_t{block_elements};
    return reduce_block_lanes<V>(
        count, identity, op, [&](index_t c) HEDDLE_LAMBDA { return chunk(first + c); },
        [&](index_t c, index_t left) HEDDLE_LAMBDA { return part(first + c, left); });
  });
}

}  // namespace detail
}  // namespace tile
}  // namespace heddle
