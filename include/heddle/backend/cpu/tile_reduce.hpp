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

#if !defined(__CUDA_ARCH__)
// The even and the odd lanes of two vectors, one after the other.
template <int First, class T, int R, int... I>
HEDDLE_SHIM void pick_every_second(T* o, T const* a, T const* b, std::integer_sequence<int, I...>) {
  namespace r = heddle::detail::registers;
  r::reg<R>(o) = __builtin_shufflevector(r::reg<R>(a), r::reg<R>(b), (2 * I + First)...);
}
#endif

template <class V>
HEDDLE_SHIM V every_second(V const& a, V const& b, std::integral_constant<int, 0>) {
  V r;
#if !defined(__CUDA_ARCH__)
  pick_every_second<0, lane_t<V>, V::width>(r.lane, a.lane, b.lane, std::make_integer_sequence<int, V::width>{});
#endif
  return r;
}
template <class V>
HEDDLE_SHIM V every_second(V const& a, V const& b, std::integral_constant<int, 1>) {
  V r;
#if !defined(__CUDA_ARCH__)
  pick_every_second<1, lane_t<V>, V::width>(r.lane, a.lane, b.lane, std::make_integer_sequence<int, V::width>{});
#endif
  return r;
}
using even = std::integral_constant<int, 0>;
using odd = std::integral_constant<int, 1>;

/// Neighbours combined: the results of a, then those of b. Pre: V is one register.
template <class V, class Op>
HEDDLE_SHIM V combine_neighbours(V const& a, V const& b, Op const& op) {
  return op(every_second(a, b, even{}), every_second(a, b, odd{}));
}

// T(lanes of all accumulators): neighbours first, so every level halves the accumulators, then the lanes.
template <class V, int N, class Op, int... I>
HEDDLE_SHIM lane_t<V> combine_lanes(V const (&acc)[N], Op const& op, std::integer_sequence<int, I...>) {
  if constexpr (N > 1) {
    V const half[N / 2] = {combine_neighbours(acc[2 * I], acc[2 * I + 1], op)...};
    return combine_lanes<V, N / 2>(half, op, std::make_integer_sequence<int, (N / 2) / 2>{});
  } else {
    V v = acc[0];
    for (int n = V::width; n > 1; n /= 2) v = combine_neighbours(v, v, op);
    return v.lane[0];
  }
}

template <class V, int... U, class Op, class Chunk>
HEDDLE_SHIM void add_chunks(std::integer_sequence<int, U...>, V* acc, Op const& op, Chunk const& chunk) {
  ((acc[U] = op(acc[U], chunk(index_t{U} * V::width))), ...);
}

// Lanes at and behind n keep what they have.
template <class V>
HEDDLE_SHIM V keep_behind(V const& now, V const& before, index_t n) {
  using index_lanes = mask_t<V>;
  return select(index_lanes::iota() < static_cast<lane_t<index_lanes>>(n), now, before);
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
  for (V& a : acc) a = V::splat(identity);
  index_t c = 0;
  for (; c + lane_count <= n; c += lane_count) {
    if constexpr (in_registers)
      add_chunks<V>(accumulators{}, acc, op, [&](index_t u) HEDDLE_LAMBDA { return chunk(c + u); });
    else
      for (int u = 0; u < count; ++u) acc[u] = op(acc[u], chunk(c + u * V::width));
  }
  if (c < n) {
    V last[count];
    for (int u = 0; u < count && c + u * V::width < n; ++u) last[u] = part(c + u * V::width, n - c - u * V::width);
    add_last<V>(accumulators{}, acc, last, n - c, op);
  }
  return combine_lanes<V, count>(acc, op, std::make_integer_sequence<int, count / 2>{});
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
