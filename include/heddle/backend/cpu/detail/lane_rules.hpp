// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/attention/bias.hpp>
#include <heddle/attention/mask.hpp>
#include <heddle/backend/cpu/detail/lane_tile.hpp>

namespace heddle::attention::detail {

/// Which lanes see which columns of a block.
struct visibility {
  column_run run;                     ///< columns, counted from the block's first
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
  index_t position[lanes], head[lanes];

  HEDDLE_SHIM explicit key_columns(query_tile const& tile, std::uint32_t living = ~std::uint32_t{0})
      : first(0), all(tile.positions()), rows(tile.rows), alive(living) {
    for (index_t lane = 0; lane < rows; ++lane) {
      position[lane] = tile.query(lane) + tile.seg.offset;
      head[lane] = tile.head(lane);
    }
  }
  HEDDLE_SHIM index_t used() const noexcept { return rows; }
  template <class Mask>
  HEDDLE_SHIM block_kind kind(Mask const& mask, index_t begin, index_t end) const {
    block_kind const k = mask.kind(all, {first + begin, first + end});
    return k == block_kind::full && alive != ~std::uint32_t{0} ? block_kind::partial : k;
  }
  template <class Mask>
  HEDDLE_SHIM std::uint32_t bits(Mask const& mask, index_t c) const {
    std::uint32_t seen = 0;
    if constexpr (std::is_same_v<Mask, causal>) {
      // Positions ascend, so that the lanes that see a key are the last ones.
      index_t lane = 0;
      for (index_t step = lanes; step > 0; step /= 2)
        if (lane + step <= rows && position[lane + step - 1] < first + c) lane += step;
      seen = static_cast<std::uint32_t>(~std::uint64_t{0} << lane);
    } else {
      for (index_t lane = 0; lane < rows; ++lane)
        seen |= std::uint32_t{mask.visible(position[lane], first + c)} << lane;
    }
    return seen & alive;
  }
};

/// Queries as columns, keys as lanes.
struct query_columns {
  index_t first;  ///< position of column 0
  block keys;
  index_t head;
  bool alive[block_columns];  ///< of each column: whether its query sees anything at all

  HEDDLE_SHIM index_t used() const noexcept { return keys.end - keys.begin; }
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
    if constexpr (std::is_same_v<Mask, causal>) {
      index_t const count = first + c + 1 - keys.begin;
      if (alive[c] && count > 0)
        seen = static_cast<std::uint32_t>((std::uint64_t{1} << (count < lanes ? count : lanes)) - 1);
    } else if (alive[c]) {
      for (index_t lane = 0; lane < keys.end - keys.begin; ++lane)
        seen |= std::uint32_t{mask.visible(first + c, keys.begin + lane)} << lane;
    }
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

/// A mask and a bias behind function pointers, so that the large kernels exist once for all of them.
template <class T>
struct any_rules {
  void const* mask;
  void const* bias;  ///< null for none
  block (*range)(void const* mask, block queries);
  bool (*see_keys)(void const* mask, key_columns const&, index_t n, visibility&);
  bool (*see_queries)(void const* mask, query_columns const&, index_t n, visibility&);
  double (*slope)(void const* bias, index_t head);  ///< null where the bias is not linear
  void (*bias_keys)(void const* bias, key_columns const&, visibility&, T* panel);
  void (*bias_queries)(void const* bias, query_columns const&, visibility&, T* panel);
};

/// A pair as masks and biases take it.
struct pair_place {
  index_t head, query, key;
};
HEDDLE_SHIM pair_place pair_at(key_columns const& k, index_t c, index_t lane) {
  return {k.head[lane], k.position[lane], k.first + c};
}
HEDDLE_SHIM pair_place pair_at(query_columns const& q, index_t c, index_t lane) {
  return {q.head, q.first + c, q.keys.begin + lane};
}

/// Biases of the visible pairs of a block, 0 elsewhere; a bias of -inf hides its pair.
template <class Bias, class Columns, class T>
HEDDLE_FN void fill_bias(Bias const& bias, Columns const& columns, visibility& seen, T* panel) {
  bool hides = false;
  for (index_t c = seen.run.lo; c < seen.run.hi; ++c) {
    std::uint32_t visible = 0;
    for (index_t lane = 0; lane < lanes; ++lane) {
      T added = T(0);
      // Bits of lanes out of use may be set.
      if (seen.bits[c] >> lane & 1 && lane < columns.used()) {
        pair_place const p = pair_at(columns, c, lane);
        added = bias_of<T>(bias, p.head, p.query, p.key);
      }
      bool const hidden = added == softmax_monoid<T>::lowest;
      hides = hides || hidden;
      visible |= std::uint32_t{!hidden} << lane;
      panel[c * lanes + lane] = hidden ? T(0) : added;
    }
    seen.bits[c] &= visible;
  }
  if (hides) seen.run.full_begin = seen.run.full_end = seen.run.hi;
}

/// Pre: mask and bias outlive the result.
template <class T, class Mask, class Bias>
HEDDLE_FN any_rules<T> erase_rules(Mask const& mask, Bias const& bias) {
  any_rules<T> r{&mask,
                 nullptr,
                 [](void const* m, block queries) { return static_cast<Mask const*>(m)->kv_range(queries); },
                 [](void const* m, key_columns const& columns, index_t n, visibility& seen) {
                   return see_columns(*static_cast<Mask const*>(m), columns, n, seen);
                 },
                 [](void const* m, query_columns const& columns, index_t n, visibility& seen) {
                   return see_columns(*static_cast<Mask const*>(m), columns, n, seen);
                 },
                 nullptr,
                 nullptr,
                 nullptr};
  if constexpr (has_bias<Bias>) {
    r.bias = &bias;
    if constexpr (linear_bias<Bias>) {
      r.slope = [](void const* b, index_t head) {
        return static_cast<double>(static_cast<Bias const*>(b)->slope(head));
      };
    } else {
      r.bias_keys = [](void const* b, key_columns const& columns, visibility& seen, T* panel) {
        fill_bias(*static_cast<Bias const*>(b), columns, seen, panel);
      };
      r.bias_queries = [](void const* b, query_columns const& columns, visibility& seen, T* panel) {
        fill_bias(*static_cast<Bias const*>(b), columns, seen, panel);
      };
    }
  }
  return r;
}

}  // namespace heddle::attention::detail
