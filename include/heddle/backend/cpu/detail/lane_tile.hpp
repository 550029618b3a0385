// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/attention/problem.hpp>
#include <heddle/attention/softmax_monoid.hpp>
#include <heddle/backend/cpu/detail/lane_product.hpp>

namespace heddle::attention::detail {

/// Lanes are the queries of one key head in one sequence: row r is query r / group of query head r % group, so that
/// a tile is filled by the heads of a group where there are few queries.
struct query_tile {
  segment seg;
  index_t kv_head, group;
  index_t first;  ///< row of lane 0
  index_t rows;   ///< lanes in use

  HEDDLE_TILE index_t query(index_t lane) const noexcept { return (first + lane) / group; }
  HEDDLE_TILE index_t token(index_t lane) const noexcept { return seg.q_begin + query(lane); }
  HEDDLE_TILE index_t head(index_t lane) const noexcept { return kv_head * group + (first + lane) % group; }
  HEDDLE_TILE block positions() const noexcept { return {query(0) + seg.offset, query(rows - 1) + 1 + seg.offset}; }
};

/// Where the queries of one lane tile stand in key coordinates.
struct lane_positions {
  block all;
  index_t rows;
  index_t of[lanes];

  HEDDLE_TILE explicit lane_positions(query_tile const& tile) noexcept : all(tile.positions()), rows(tile.rows) {
    for (index_t lane = 0; lane < rows; ++lane) of[lane] = tile.query(lane) + tile.seg.offset;
  }
};

/// Enough tasks of `rows` rows for any cut of the queries into sequences, over all key heads.
HEDDLE_FN index_t query_tasks(geometry const& g, index_t rows) {
  return (g.tokens_q * g.group() / rows + g.sequences) * g.heads_kv;
}

/// Light and heavy tasks alternate: under a causal mask the work grows along the sequence.
HEDDLE_FN index_t interleave(index_t task, index_t tasks) noexcept {
  return task % 2 == 0 ? task / 2 : tasks - 1 - task / 2;
}

/// The rows of one task; false where there are none.
HEDDLE_FN bool find_query_task(geometry const& g, index_t task, index_t rows, query_tile& found) {
  index_t const group = g.group();
  index_t tile = task / g.heads_kv;
  for (index_t s = 0; s < g.sequences; ++s) {
    segment const seg = g.at(s);
    index_t const all = seg.q_length * group, tiles = (all + rows - 1) / rows;
    if (tile < tiles) {
      index_t const first = tile * rows;
      found = {seg, task % g.heads_kv, group, first, all - first < rows ? all - first : rows};
      return true;
    }
    tile -= tiles;
  }
  return false;
}

/// Which lanes see which keys of a block of at most 128 keys.
struct key_visibility {
  column_run run;                        ///< columns are keys, counted from the block's first
  std::uint32_t bits[keys_per_block];  ///< lanes that see a key; set outside the full part of the run
};

/// Keys whose kind is asked for at once.
inline constexpr index_t keys_per_kind = 16;

/// Pre: the block is not empty and starts at a multiple of keys_per_block. Returns whether any key may be visible.
template <class Mask>
HEDDLE_TILE bool see_keys(Mask const& mask, lane_positions const& queries, block keys, key_visibility& seen) {
  index_t const none = -1;
  index_t lo = none, hi = 0, full_begin = none, full_end = none;
  for (index_t begin = keys.begin; begin < keys.end; begin += keys_per_kind) {
    block const part{begin, begin + keys_per_kind < keys.end ? begin + keys_per_kind : keys.end};
    index_t const at = begin - keys.begin, end = part.end - keys.begin;
    block_kind const kind = mask.kind(queries.all, part);
    if (kind != block_kind::skip) {
      if (lo == none) lo = at;
      hi = end;
    }
    if (kind == block_kind::full && (full_begin == none || full_end == at)) {
      if (full_begin == none) full_begin = at;
      full_end = end;
      continue;
    }
    for (index_t c = at; c < end; ++c) {
      std::uint32_t bits = kind == block_kind::full ? ~std::uint32_t{0} : 0;
      if (kind == block_kind::partial)
        for (index_t lane = 0; lane < queries.rows; ++lane)
          bits |= std::uint32_t{mask.visible(queries.of[lane], keys.begin + c)} << lane;
      seen.bits[c] = bits;
    }
  }
  if (full_begin == none) full_begin = full_end = hi;
  seen.run = {lo, full_begin, full_end, hi};
  return lo != none;
}

/// The lanes [lane, lane + width) of a set of lanes, as a mask of a vector.
template <class V>
HEDDLE_TILE mask_t<V> lanes_in(std::uint32_t bits, index_t lane) {
  using M = mask_t<V>;
  using I = lane_t<M>;
  M bit;
  for (int i = 0; i < V::width; ++i) bit.lane[i] = I(1) << i;
  return (M::splat(static_cast<I>(bits >> lane)) & bit) != M::zero();
}

/// Rows [token, head, column] as numbers side by side: in place where they are, else converted into `room`.
template <class In, class T>
struct staged_rows {
  T const* data;
  index_t stride;

  HEDDLE_TILE staged_rows(head_rows<In const> const& from, index_t token, index_t head, index_t rows, index_t columns,
                          T* room) {
    if constexpr (std::is_same_v<In, T>) {
      data = from.row(token, head);
      stride = from.token_stride;
    } else {
      for (index_t r = 0; r < rows; ++r)
        for (index_t d = 0; d < columns; ++d) room[r * columns + d] = static_cast<T>(from.row(token + r, head)[d]);
      data = room;
      stride = columns;
    }
  }
};

}  // namespace heddle::attention::detail
