// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/attention/forward.hpp>
#include <heddle/backend/cpu/detail/lane_softmax.hpp>

namespace heddle {
namespace attention::detail {

/// Lane tiles that share one walk over the keys.
inline constexpr index_t tiles_per_task = 2;
inline constexpr index_t rows_per_task = tiles_per_task * lanes;

/// Where a worker keeps what belongs to one task. Sizes in numbers.
template <class Work>
struct forward_scratch {
  using T = typename Work::number;
  index_t dk, dv;
  bool panel;  ///< whether scores or weights are changed pair by pair

  HEDDLE_SHIM index_t tile_size() const noexcept { return (dk + padded(dv) + 3) * lanes; }
  HEDDLE_SHIM index_t scores_size() const noexcept { return (block_columns > dk ? block_columns : dk) * lanes; }
  HEDDLE_SHIM index_t panel_size() const noexcept { return panel ? block_columns * lanes : 0; }
  HEDDLE_SHIM bool stages() const noexcept {
    return !std::is_same_v<typename Work::key_rows, head_rows<T const>> || padded(dk) != dk || padded(dv) != dv;
  }
  HEDDLE_SHIM index_t staging() const noexcept { return stages() ? block_columns * (padded(dk) + padded(dv)) : 0; }
  HEDDLE_SHIM index_t size() const noexcept {
    return tiles_per_task * tile_size() + scores_size() + panel_size() + staging();
  }
};

/// One lane tile's operands and state in scratch.
template <class T>
struct forward_state {
  T *q, *acc, *max, *sum, *factor;

  HEDDLE_SHIM forward_state(T* at, index_t dk, index_t dv)
      : q(at), acc(q + dk * lanes), max(acc + padded(dv) * lanes), sum(max + lanes), factor(sum + lanes) {}
};

/// What one step over a block of keys reads.
template <class T>
struct key_block {
  staged<T> k, v;
  index_t first;  ///< key of column 0
};

struct forward_body {
  template <class Isa, class Work>
  HEDDLE_SHIM void operator()(Isa, Work const& w, any_rules<typename Work::number> const& rules, query_tile const& task,
                              typename Work::number* const& memory) const {
    using T = typename Work::number;
    geometry const& g = w.rules.sizes;
    forward_scratch<Work> const room{g.dk, g.dv, rules.bias != nullptr || w.rules.drop.active()};
    T* const scores = memory + tiles_per_task * room.tile_size();
    T* const staging = scores + room.scores_size() + room.panel_size();
    index_t const tiles = (task.rows + lanes - 1) / lanes;
    for (index_t t = 0; t < tiles; ++t) start<Isa>(w, part(task, t), memory + t * room.tile_size(), scores);
    static_assert(tiles_per_task == 2);
    key_columns queries[] = {key_columns(part(task, 0)), key_columns(part(task, tiles - 1))};
    block const all = clamp(rules.range(rules.mask, task.positions()), task.seg.k_length);
    block const keys{all.begin > task.part.begin ? all.begin : task.part.begin,
                     all.end < task.part.end ? all.end : task.part.end};
    visibility seen;
    for (index_t first = keys.begin / block_columns * block_columns; first < keys.end; first += block_columns) {
      index_t const token = task.seg.k_begin + first, left = task.seg.k_length - first;
      index_t const n = left < block_columns ? left : block_columns;
      key_block<T> keys_here{{}, {}, -1};
      for (index_t t = 0; t < tiles; ++t) {
        queries[t].first = first;
        if (!rules.see_keys(rules.mask, queries[t], n, seen)) continue;
        if (keys_here.first < 0)  // a block that no tile sees is not read
          keys_here = {stage_rows<Isa>(w.k, token, task.kv_head, n, g.dk, staging),
                       stage_rows<Isa>(w.v, token, task.kv_head, n, g.dv, staging + block_columns * padded(g.dk)),
                       first};
        forward_state<T> const state(memory + t * room.tile_size(), g.dk, g.dv);
        block_of<Isa>(w, rules, state, keys_here, scores, scores + room.scores_size(), seen, queries[t], part(task, t));
      }
    }
    for (index_t t = 0; t < tiles; ++t) finish<Isa>(w, part(task, t), memory + t * room.tile_size());
  }

 private:
  /// Up to so many lanes, values are gathered lane by lane: a decoding step reads keys and values once and is done.
  static constexpr index_t few = 8;

  // One block of keys for one lane tile.
  template <class Isa, class Work, class T>
  static HEDDLE_SHIM void block_of(Work const& w, any_rules<T> const& rules, forward_state<T> const& state,
                                   key_block<T> const& keys, T* scores, T* panel, visibility& seen,
                                   key_columns const& queries, query_tile const& tile) {
    constexpr int vectors = lane_blocking<Isa, T>::vectors;
    geometry const& g = w.rules.sizes;
    index_t const lo = seen.run.lo, hi = seen.run.hi, rows = tile.rows;
    T* const out = scores + lo * lanes;
    T const* const from = keys.k.data + lo * keys.k.stride;
    if (rows <= few)
      row_product<Isa, 1>(out, from, keys.k.stride, hi - lo, state.q, g.dk, rows);
    else
      row_product<Isa, vectors>(out, from, keys.k.stride, hi - lo, state.q, g.dk, lanes);
    if (w.rules.rule.cap != T(0)) cap_scores<Isa>(scores, w.rules.rule.cap, seen.run);
    if (rules.bias) {
      bias_panel<Isa>(rules, queries, seen, panel);
      add_panel<Isa>(scores, panel, seen.run);
    }
    // Where the values behind partly visible columns are finite, a weight of 0 excludes them without masks.
    bool const plain =
        all_finite<Isa>(keys.v, lo, seen.run.full_begin, g.dv) && all_finite<Isa>(keys.v, seen.run.full_end, hi, g.dv);
    weigh_block<Isa>(scores, state.max, state.sum, state.factor, seen, plain ? T(0) : T(-1),
                     rows <= few ? rows : lanes);
    if (w.rules.drop.active()) {
      drop_panel(w.rules.drop, tile, keys.first, seen.run, panel);
      multiply_panel<Isa>(scores, panel, seen.run);
    }
    column_run const run = plain ? column_run{lo, lo, hi, hi} : seen.run;
    if (rows <= few)
      few_lanes_product<Isa>(state.acc, keys.v.data, keys.v.stride, g.dv, scores, run, state.factor, rows);
    else
      column_product<Isa>(state.acc, keys.v.data, keys.v.stride, g.dv, scores, scores, run,
                          add_to_scaled<T>{state.factor});
  }

  static HEDDLE_SHIM query_tile part(query_tile const& task, index_t t) {
    query_tile tile = task;
    tile.first += t * lanes;
    tile.rows = task.rows - t * lanes < lanes ? task.rows - t * lanes : lanes;
    return tile;
  }

  // Scaled queries with one lane each; lanes out of use are zero.
  template <class Isa, class Work>
  static HEDDLE_SHIM void start(Work const& w, query_tile const& tile, typename Work::number* memory,
                                typename Work::number* rows) {
    using T = typename Work::number;
    geometry const& g = w.rules.sizes;
    forward_state<T> const state(memory, g.dk, g.dv);
    pack_lanes<Isa>(state.q, rows, w.q, tile, g.dk, w.rules.rule.scale);
    for (index_t i = 0; i < padded(g.dv) * lanes; ++i) state.acc[i] = T(0);
    for (index_t lane = 0; lane < lanes; ++lane) {
      state.max[lane] = softmax_monoid<T>::lowest;
      state.sum[lane] = T(0);
    }
  }

  template <class Isa, class Work>
  static HEDDLE_SHIM void finish(Work const& w, query_tile const& tile, typename Work::number* memory) {
    using T = typename Work::number;
    using monoid = softmax_monoid<T>;
    geometry const& g = w.rules.sizes;
    sink_rule const& sinks = w.rules.sinks;
    forward_state<T> const state(memory, g.dk, g.dv);
    if (w.partial) return keep(w, tile, state);
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
    for (index_t lane = 0; lane < tile.rows; ++lane) {
      auto* const out = w.out.row(tile.token(lane), tile.head(lane));
      using element = std::remove_reference_t<decltype(*out)>;
      for (index_t d = 0; d < g.dv; ++d) out[d] = static_cast<element>(state.acc[d * lanes + lane]);
    }
  }

  // The states of a part of the keys, for a later pass to combine.
  template <class Work, class T>
  static HEDDLE_SHIM void keep(Work const& w, query_tile const& tile, forward_state<T> const& state) {
    geometry const& g = w.rules.sizes;
    for (index_t lane = 0; lane < tile.rows; ++lane) {
      T* const to = partial_row(w.partial, g, tile.slot, tile.seg.q_length, tile.query(lane), tile.head(lane));
      to[0] = state.max[lane];
      to[1] = state.sum[lane];
      for (index_t d = 0; d < g.dv; ++d) to[2 + d] = state.acc[d * lanes + lane];
    }
  }
};

/// Slack rows, a chunk of tokens each: what no sequence owns is still written.
inline constexpr index_t tokens_per_slack_task = 256;

template <class Work>
HEDDLE_FN void clear_slack(Work const& w, index_t chunk) {
  using T = typename Work::number;
  geometry const& g = w.rules.sizes;
  index_t const begin = chunk * tokens_per_slack_task, owned = g.end_q();
  for (index_t token = begin > owned ? begin : owned; token < begin + tokens_per_slack_task && token < g.tokens_q;
       ++token)
    for (index_t head = 0; head < g.heads_q; ++head) {
      auto* const out = w.out.row(token, head);
      for (index_t d = 0; d < g.dv; ++d) out[d] = std::remove_reference_t<decltype(*out)>(T(0));
      *w.lse.row(token, head) = softmax_monoid<T>::lowest;
    }
}

template <class Work>
HEDDLE_FN forward_scratch<Work> forward_room(Work const& w) {
  return {w.rules.sizes.dk, w.rules.sizes.dv, Work::biased || w.rules.drop.active()};
}

/// Runs one task with the best instruction set.
template <class Work>
HEDDLE_FN void forward_rows(Work const& w, query_tile const& rows, typename Work::number* memory) {
  typename Work::operands const& o = w;
  auto const mask = mask_at(w.mask, place_of(w.rules.sizes, rows.seg, rows.kv_head));
  dispatch_isa(forward_body{}, o, erase_rules<typename Work::number>(mask, w.bias), rows, memory);
}

}  // namespace attention::detail

/// Attention forward on CPUs: queries in lanes, scores of 128 keys at a time in scratch, instruction set chosen at
/// run time. Gives the bits of the generic form.
template <>
struct kernel<attention::forward_fn, cpu_tag> {
  template <class Executor, class Work>
  HEDDLE_FN static void run(Executor& exec, Work const& work) {
    namespace in = attention::detail;
    using T = typename Work::number;
    in::geometry const& g = work.rules.sizes;
    scratch_frame frame(exec);
    T* const memory = frame.template take<T>(exec.concurrency() * in::forward_room(work).size());
    exec.for_each_tile(in::query_tasks(g, in::rows_per_task), [work, memory](index_t task, int worker) {
      in::geometry const& sizes = work.rules.sizes;
      index_t const tasks = in::query_tasks(sizes, in::rows_per_task);
      in::query_tile rows;
      if (in::find_query_task(sizes, in::interleave(task, tasks), in::rows_per_task, rows))
        in::forward_rows(work, rows, memory + worker * in::forward_room(work).size());
    });
    if (g.cu_q.size() == 0) return;
    constexpr index_t chunk = in::tokens_per_slack_task;
    exec.for_each_tile((g.tokens_q + chunk - 1) / chunk, [work](index_t i, int) { in::clear_slack(work, i); });
  }
};

}  // namespace heddle
