// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/attention/problem.hpp>
#include <heddle/attention/softmax_monoid.hpp>
#include <heddle/backend/cpu/detail/lane_product.hpp>

namespace heddle::attention::detail {

/// Columns of a block of scores, whether they are keys or queries.
inline constexpr index_t block_columns = keys_per_block;

/// Lanes are the queries of one key head in one sequence: row r is query r / group of query head r % group, so that
/// a tile is filled by the heads of a group where there are few queries.
struct query_tile {
  segment seg;
  index_t kv_head, group;
  index_t first;  ///< row of lane 0
  index_t rows;   ///< lanes in use
  block part;     ///< keys that this tile is about
  index_t slot;   ///< where a partial result goes

  HEDDLE_SHIM index_t query(index_t lane) const noexcept { return group == 1 ? first + lane : (first + lane) / group; }
  HEDDLE_SHIM index_t token(index_t lane) const noexcept { return seg.q_begin + query(lane); }
  HEDDLE_SHIM index_t head(index_t lane) const noexcept {
    return group == 1 ? kv_head : kv_head * group + (first + lane) % group;
  }
  HEDDLE_SHIM block positions() const noexcept { return {query(0) + seg.offset, query(rows - 1) + 1 + seg.offset}; }
};

/// Enough tasks of `rows` rows for any cut of the queries into sequences, over all key heads.
HEDDLE_FN index_t query_tasks(geometry const& g, index_t rows) {
  return slots_for(g, g.tokens_q * g.group(), rows) * g.heads_kv;
}

/// Light and heavy tasks alternate: under a causal mask the work grows along the sequence.
HEDDLE_FN index_t interleave(index_t task, index_t tasks) noexcept {
  return task % 2 == 0 ? task / 2 : tasks - 1 - task / 2;
}

/// The rows of one task; false where there are none.
HEDDLE_FN bool find_query_task(geometry const& g, index_t task, index_t rows, query_tile& found) {
  index_t const group = g.group();
  index_t tile = 0;
  segment const seg =
      slot_owner(g, task / g.heads_kv, rows, tile, [&](index_t s) { return g.begin_q(s) * group; });
  index_t const first = tile * rows, left = seg.q_length * group - first;
  found = {seg, task % g.heads_kv, group, first, left < rows ? left : rows, {0, no_bound}, 0};
  return left > 0;
}

/// Lanes are neighbouring keys of one head in one sequence.
struct key_tile {
  segment seg;
  index_t kv_head, group;
  index_t first;  ///< key of lane 0
  index_t rows;

  HEDDLE_SHIM index_t token(index_t lane) const noexcept { return seg.k_begin + first + lane; }
  HEDDLE_SHIM index_t head(index_t) const noexcept { return kv_head; }
};

HEDDLE_FN index_t key_tasks(geometry const& g) {
  return slots_for(g, g.tokens_k, lanes) * g.heads_kv;
}

HEDDLE_FN bool find_key_task(geometry const& g, index_t task, key_tile& found) {
  index_t tile = 0;
  segment const seg = slot_owner(g, task / g.heads_kv, lanes, tile, [&](index_t s) { return g.begin_k(s); });
  index_t const first = tile * lanes, left = seg.k_length - first;
  found = {seg, task % g.heads_kv, g.group(), first, left < lanes ? left : lanes};
  return left > 0;
}

/// The lanes [lane, lane + width) of a set of lanes, as a mask of a vector.
template <class V>
HEDDLE_SHIM mask_t<V> lanes_in(std::uint32_t bits, index_t lane) {
  using M = mask_t<V>;
  using I = lane_t<M>;
  M bit;
  for (int i = 0; i < V::width; ++i) bit.lane[i] = I(1) << i;
  return (M::splat(static_cast<I>(bits >> lane)) & bit) != M::zero();
}

/// Rows of numbers with unit columns.
template <class T>
struct staged {
  T const* data;
  index_t stride;
};

/// Rows [token, token + rows) of one head as numbers, columns padded by zeros to whole blocks: in place where they
/// are such, else copied into `room`, which holds rows of padded(columns) numbers.
template <class Isa, class T, class Rows>
HEDDLE_SHIM staged<T> stage_rows(Rows const& from, index_t token, index_t head, index_t rows, index_t columns,
                                 T* room) {
  using V = typename lane_blocking<Isa, T>::vector;
  using In = std::remove_cvref_t<decltype(*from.row(token, head))>;
  index_t const wide = padded(columns);
  if constexpr (std::is_same_v<In, T>)
    if (wide == columns && from.run(token, rows) == rows) return {from.row(token, head), from.token_stride};
  for (index_t r = 0; r < rows; ++r) {
    In const* const row = from.row(token + r, head);
    T* const copy = room + r * wide;
    index_t d = 0;
    for (; d + V::width <= columns; d += V::width) load_as<V>(row + d).store(copy + d);
    for (; d < wide; ++d) copy[d] = d < columns ? static_cast<T>(row[d]) : T(0);
  }
  return {room, wide};
}

}  // namespace heddle::attention::detail
