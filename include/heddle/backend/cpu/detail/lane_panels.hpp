// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/attention/dropout.hpp>
#include <heddle/backend/cpu/detail/lane_rules.hpp>

/// @file
/// What changes scores and weights pair by pair, as panels of 32 lanes: biases, and factors of dropout.

namespace heddle::attention::detail {

/// panel[c][lane] = -slope[lane] |lane_at[lane] - (first + c)|.
template <class Isa, class T>
HEDDLE_SHIM void slope_panel(T* panel, T const* slope, T const* lane_at, index_t first, column_run const& run) {
  using V = typename lane_blocking<Isa, T>::vector;
  for (index_t lane = 0; lane < lanes; lane += V::width) {
    V const minus = -V::load(slope + lane), at = V::load(lane_at + lane);
    for (index_t c = run.lo; c < run.hi; ++c) {
      V const d = at - V::splat(static_cast<T>(first + c));
      mul(minus, select(d < T(0), -d, d)).store(panel + c * lanes + lane);
    }
  }
}

/// Biases of a block of keys for lanes of queries. Pre: there is a bias.
template <class Isa, class T>
HEDDLE_SHIM void bias_panel(any_rules<T> const& rules, key_columns const& keys, visibility& seen, T* panel) {
  if (!rules.slope) return rules.bias_keys(rules.bias, keys, seen, panel);
  T slope[lanes] = {}, at[lanes] = {};
  for (index_t lane = 0; lane < keys.rows; ++lane) {
    bool const same = lane > 0 && keys.head[lane] == keys.head[lane - 1];
    slope[lane] = same ? slope[lane - 1] : static_cast<T>(rules.slope(rules.bias, keys.head[lane]));
    at[lane] = static_cast<T>(keys.position[lane] - keys.first);
  }
  slope_panel<Isa>(panel, slope, at, 0, seen.run);
}
/// Biases of a block of queries for lanes of keys. Pre: there is a bias.
template <class Isa, class T>
HEDDLE_SHIM void bias_panel(any_rules<T> const& rules, query_columns const& queries, visibility& seen, T* panel) {
  if (!rules.slope) return rules.bias_queries(rules.bias, queries, seen, panel);
  index_t const first = queries.keys.begin / keys_per_block * keys_per_block;
  T slope[lanes], at[lanes];
  for (index_t lane = 0; lane < lanes; ++lane) {
    slope[lane] = lane > 0 ? slope[0] : static_cast<T>(rules.slope(rules.bias, queries.head));
    at[lane] = static_cast<T>(queries.keys.begin + lane - first);
  }
  slope_panel<Isa>(panel, slope, at, queries.first - first, seen.run);
}

/// scores += panel.
template <class Isa, class T>
HEDDLE_SHIM void add_panel(T* scores, T const* panel, column_run const& run) {
  using V = typename lane_blocking<Isa, T>::vector;
  for (index_t i = run.lo * lanes; i < run.hi * lanes; i += V::width)
    (V::load(scores + i) + V::load(panel + i)).store(scores + i);
}

/// Weights are multiplied by the panel; those below 0 mark excluded pairs and stay.
template <class Isa, class T>
HEDDLE_SHIM void multiply_panel(T* weights, T const* panel, column_run const& run) {
  using V = typename lane_blocking<Isa, T>::vector;
  for (index_t i = run.lo * lanes; i < run.hi * lanes; i += V::width) {
    V const w = V::load(weights + i);
    select(w < T(0), w, mul(w, V::load(panel + i))).store(weights + i);
  }
}

/// Factors of dropout of a block of keys from `first` on, for lanes of queries; 0 in lanes out of use.
template <class T>
HEDDLE_FN void drop_panel(dropout_rule<T> const& drop, query_tile const& tile, index_t first, column_run const& run,
                          T* panel) {
  for (index_t i = run.lo * lanes; i < run.hi * lanes; ++i) panel[i] = T(0);
  for (index_t lane = 0; lane < tile.rows; ++lane)
    drop.factors(
        drop.row(tile.seg.number, tile.head(lane), tile.query(lane)) + static_cast<std::uint64_t>(first + run.lo),
        run.hi - run.lo, panel + run.lo * lanes + lane, lanes);
}
/// Factors of dropout of a block of queries from query `first` of the sequence on, for lanes of keys.
template <class T>
HEDDLE_FN void drop_panel(dropout_rule<T> const& drop, key_tile const& tile, index_t head, index_t first,
                          column_run const& run, T* panel) {
  for (index_t i = run.lo * lanes; i < run.hi * lanes; ++i) panel[i] = T(0);
  for (index_t c = run.lo; c < run.hi; ++c)
    drop.factors(drop.row(tile.seg.number, head, first + c) + static_cast<std::uint64_t>(tile.first), tile.rows,
                 panel + c * lanes, 1);
}

}  // namespace heddle::attention::detail
