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

  HEDDLE_SHIM index_t query(index_t lane) const noexcept { return (first + lane) / group; }
  HEDDLE_SHIM index_t token(index_t lane) const noexcept { return seg.q_begin + query(lane); }
  HEDDLE_SHIM index_t head(index_t lane) const noexcept { return kv_head * group + (first + lane) % group; }
  HEDDLE_SHIM block positions() const noexcept { return {query(0) + seg.offset, query(rows - 1) + 1 + seg.offset}; }
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
  return (g.tokens_k / lanes + g.sequences) * g.heads_kv;
}

HEDDLE_FN bool find_key_task(geometry const& g, index_t task, key_tile& found) {
  index_t tile = task / g.heads_kv;
  for (index_t s = 0; s < g.sequences; ++s) {
    segment const seg = g.at(s);
    index_t const tiles = (seg.k_length + lanes - 1) / lanes;
    if (tile < tiles) {
      index_t const first = tile * lanes, left = seg.k_length - first;
      found = {seg, task % g.heads_kv, g.group(), first, left < lanes ? left : lanes};
      return true;
    }
    tile -= tiles;
  }
  return false;
}

/// Which lanes see which columns of a block.
struct visibility {
  column_run run;                    ///< columns, counted from the block's first
  std::uint32_t bits[block_columns];  ///< lanes that see a column
};

/// Columns whose kind is asked for at once.
inline constexpr index_t columns_per_kind = 16;

/// Keys as columns, queries as lanes.
struct key_columns {
  index_t first;        ///< key of column 0
  block all;            ///< positions of the queries
  index_t rows;         ///< lanes in use
  std::uint32_t alive;  ///< lanes whose queries see anything at all
  index_t position[lanes];

  HEDDLE_SHIM explicit key_columns(query_tile const& tile, std::uint32_t living = ~std::uint32_t{0})
      : first(0), all(tile.positions()), rows(tile.rows), alive(living) {
    for (index_t lane = 0; lane < rows; ++lane) position[lane] = tile.query(lane) + tile.seg.offset;
  }
  template <class Mask>
  HEDDLE_SHIM block_kind kind(Mask const& mask, index_t begin, index_t end) const {
    block_kind const k = mask.kind(all, {first + begin, first + end});
    return k == block_kind::full && alive != ~std::uint32_t{0} ? block_kind::partial : k;
  }
  template <class Mask>
  HEDDLE_SHIM std::uint32_t bits(Mask const& mask, index_t c) const {
    std::uint32_t seen = 0;
    for (index_t lane = 0; lane < rows; ++lane)
      seen |= std::uint32_t{mask.visible(position[lane], first + c)} << lane;
    return seen & alive;
  }
};

/// Queries as columns, keys as lanes.
struct query_columns {
  index_t first;  ///< position of column 0
  block keys;
  bool alive[block_columns];  ///< of each column: whether its query sees anything at all

  template <class Mask>
  HEDDLE_SHIM block_kind kind(Mask const& mask, index_t begin, index_t end) const {
    block_kind const k = mask.kind({first + begin, first + end}, keys);
    bool all = true;
    for (index_t c = begin; c < end; ++c) all = all && alive[c];
    return k == block_kind::full && !all ? block_kind::partial : k;
  }
  template <class Mask>
  HEDDLE_SHIM std::uint32_t bits(Mask const& mask, index_t c) const {
    std::uint32_t seen = 0;
    if (alive[c])
      for (index_t lane = 0; lane < keys.end - keys.begin; ++lane)
        seen |= std::uint32_t{mask.visible(first + c, keys.begin + lane)} << lane;
    return seen;
  }
};

/// Finds the columns in [0, n) that some lane may see, and the first run of them that all see. Returns whether there
/// are any. Pre: n <= block_columns.
template <class Mask, class Columns>
HEDDLE_FN bool see_columns(Mask const& mask, Columns const& columns, index_t n, visibility& seen) {
  index_t const none = -1;
  index_t lo = none, hi = 0, full_begin = none, full_end = none;
  for (index_t begin = 0; begin < n; begin += columns_per_kind) {
    index_t const end = begin + columns_per_kind < n ? begin + columns_per_kind : n;
    block_kind const kind = columns.kind(mask, begin, end);
    if (kind != block_kind::skip) {
      if (lo == none) lo = begin;
      hi = end;
    }
    if (kind == block_kind::full && (full_begin == none || full_end == begin)) {
      if (full_begin == none) full_begin = begin;
      full_end = end;
    }
    for (index_t c = begin; c < end; ++c)
      seen.bits[c] = kind == block_kind::full   ? ~std::uint32_t{0}
                     : kind == block_kind::skip ? 0
                                                : columns.bits(mask, c);
  }
  if (full_begin == none) full_begin = full_end = hi;
  seen.run = {lo, full_begin, full_end, hi};
  return lo != none;
}

/// A mask behind function pointers, so that the large kernels exist once for all masks.
struct any_mask {
  void const* mask;
  block (*range)(void const* mask, block queries);
  bool (*see_keys)(void const* mask, key_columns const&, index_t n, visibility&);
  bool (*see_queries)(void const* mask, query_columns const&, index_t n, visibility&);
};

/// Pre: the mask outlives the result.
template <class Mask>
HEDDLE_FN any_mask erase_mask(Mask const& mask) {
  return {&mask, [](void const* m, block queries) { return static_cast<Mask const*>(m)->kv_range(queries); },
          [](void const* m, key_columns const& columns, index_t n, visibility& seen) {
            return see_columns(*static_cast<Mask const*>(m), columns, n, seen);
          },
          [](void const* m, query_columns const& columns, index_t n, visibility& seen) {
            return see_columns(*static_cast<Mask const*>(m), columns, n, seen);
          }};
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
template <class Isa, class T, class In>
HEDDLE_SHIM staged<T> stage_rows(head_rows<In const> const& from, index_t token, index_t head, index_t rows,
                                 index_t columns, T* room) {
  using V = typename lane_blocking<Isa, T>::vector;
  index_t const wide = padded(columns);
  if constexpr (std::is_same_v<In, T>)
    if (wide == columns) return {from.row(token, head), from.token_stride};
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
