// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/attention/forward.hpp>
#include <heddle/backend/cpu/detail/lane_softmax.hpp>

/// @file
/// What the forms of attention forward share on CPUs: the state of a tile of queries, its walk over the keys, its end.

namespace heddle::attention::detail {

/// Lane tiles that share one walk over the keys.
inline constexpr index_t tiles_per_task = 2;
inline constexpr index_t rows_per_task = tiles_per_task * lanes;

/// One lane tile's operands and state in scratch. `q` has `steps` rows of lanes.
template <class T>
struct forward_state {
  T *q, *acc, *max, *sum, *factor;

  HEDDLE_SHIM forward_state(T* at, index_t steps, index_t dv)
      : q(at), acc(q + steps * lanes), max(acc + padded(dv) * lanes), sum(max + lanes), factor(sum + lanes) {}
  static HEDDLE_SHIM index_t size(index_t steps, index_t dv) noexcept { return (steps + padded(dv) + 3) * lanes; }

  HEDDLE_SHIM void clear(index_t dv) const {
    for (index_t i = 0; i < padded(dv) * lanes; ++i) acc[i] = T(0);
    for (index_t lane = 0; lane < lanes; ++lane) {
      max[lane] = softmax_monoid<T>::lowest;
      sum[lane] = T(0);
    }
  }
};

HEDDLE_SHIM query_tile part_of(query_tile const& task, index_t t) {
  query_tile tile = task;
  tile.first += t * lanes;
  tile.rows = task.rows - t * lanes < lanes ? task.rows - t * lanes : lanes;
  return tile;
}

/// The states of a part of the keys, for a later pass to combine.
template <class Work, class T>
HEDDLE_SHIM void keep_state(Work const& w, query_tile const& tile, forward_state<T> const& state) {
  geometry const& g = w.rules.sizes;
  for (index_t lane = 0; lane < tile.rows; ++lane) {
    T* const to = partial_row(w.partial, g, tile.slot, tile.seg.q_length, tile.query(lane), tile.head(lane));
    to[0] = state.max[lane];
    to[1] = state.sum[lane];
    for (index_t d = 0; d < g.dv; ++d) to[2 + d] = state.acc[d * lanes + lane];
  }
}

/// Ends the rows of one tile.
template <class Isa, class Work, class T>
HEDDLE_SHIM void finish_state(Work const& w, query_tile const& tile, forward_state<T> const& state) {
  using monoid = softmax_monoid<T>;
  geometry const& g = w.rules.sizes;
  sink_rule const& sinks = w.rules.sinks;
  if (w.partial) return keep_state(w, tile, state);
  for (index_t lane = 0; lane < tile.rows; ++lane) {
    softmax_row<T> row{state.max[lane], state.sum[lane], nullptr, 0};
    T lse = monoid::log_sum_exp(row);
    if (sinks.given()) {
      T const shrink = monoid::push_sink(row, static_cast<T>(sinks.logits[tile.head(lane)]));
      for (index_t d = 0; d < g.dv; ++d) state.acc[d * lanes + lane] = mul(state.acc[d * lanes + lane], shrink);
      state.sum[lane] = row.sum;
      if (sinks.in_lse) lse = monoid::log_sum_exp(row);
    }
    *w.lse.row(tile.token(lane), tile.head(lane)) = lse;
  }
  divide_lanes<Isa>(state.acc, state.sum, g.dv);
  write_rows<Isa>(w.out, tile, state.acc, g.dv, unchanged{});
}

/// One task: its queries meet their keys block by block. A form holds the scratch of a worker and knows how operands
/// are multiplied: `state(t)`, `start(tile, t)`, `stage(token, head, n, ahead)` with `ahead` keys to come,
/// `take(rules, t, seen, columns, tile)`, `end(t, rows)`.
template <class Isa, class Work, class Form>
HEDDLE_SHIM void forward_task(Work const& w, any_rules<typename Work::number> const& rules, query_tile const& task,
                              Form& form) {
  index_t const tiles = (task.rows + lanes - 1) / lanes;
  for (index_t t = 0; t < tiles; ++t) form.template start<Isa>(part_of(task, t), t);
  static_assert(tiles_per_task == 2);
  key_columns queries[] = {key_columns(part_of(task, 0)), key_columns(part_of(task, tiles - 1))};
  block const all = clamp(rules.range(rules.mask, task.positions()), task.seg.k_length);
  block const keys{all.begin > task.part.begin ? all.begin : task.part.begin,
                   all.end < task.part.end ? all.end : task.part.end};
  visibility seen;
  for (index_t first = keys.begin / block_columns * block_columns; first < keys.end; first += block_columns) {
    index_t const token = task.seg.k_begin + first, left = task.seg.k_length - first;
    index_t const n = left < block_columns ? left : block_columns;
    bool staged = false;
    for (index_t t = 0; t < tiles; ++t) {
      queries[t].first = first;
      if (!rules.see_keys(rules.mask, queries[t], n, seen)) continue;
      // A block that no tile sees is not read.
      if (!staged) form.template stage<Isa>(token, task.kv_head, n, keys.end - first - n);
      staged = true;
      form.template take<Isa>(rules, t, seen, queries[t], part_of(task, t));
    }
  }
  for (index_t t = 0; t < tiles; ++t) form.template end<Isa>(t, part_of(task, t).rows);
  for (index_t t = 0; t < tiles; ++t) finish_state<Isa>(w, part_of(task, t), form.state(t));
}

/// The cap and the biases of a block of scores. `panel` has room for the block where there is a bias.
template <class Isa, class Work, class T>
HEDDLE_SHIM void change_scores(Work const& w, any_rules<T> const& rules, T* scores, T* panel, visibility& seen,
                               key_columns const& queries) {
  if (w.rules.rule.cap != T(0)) cap_scores<Isa>(scores, w.rules.rule.cap, seen.run);
  if (!rules.bias) return;
  bias_panel<Isa>(rules, queries, seen, panel);
  add_panel<Isa>(scores, panel, seen.run);
}

}  // namespace heddle::attention::detail
