// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/attention/forward.hpp>
#include <heddle/backend/cpu/detail/lane_softmax.hpp>

namespace heddle {
namespace attention::detail {

/// Lane tiles that share one walk over the keys.
inline constexpr index_t tiles_per_task = 2;
inline constexpr index_t rows_per_task = tiles_per_task * lanes;

/// Where a worker keeps what belongs to one task. Sizes in numbers of T.
template <class In, class T>
struct forward_scratch {
  index_t dk, dv;

  HEDDLE_SHIM index_t tile_size() const noexcept { return (dk + padded(dv) + 3) * lanes; }
  HEDDLE_SHIM index_t scores_size() const noexcept { return (block_columns > dk ? block_columns : dk) * lanes; }
  HEDDLE_SHIM bool stages() const noexcept {
    return !std::is_same_v<In, T> || padded(dk) != dk || padded(dv) != dv;
  }
  HEDDLE_SHIM index_t staging() const noexcept { return stages() ? block_columns * (padded(dk) + padded(dv)) : 0; }
  HEDDLE_SHIM index_t size() const noexcept {
    return tiles_per_task * tile_size() + scores_size() + staging();
  }
};

/// One lane tile's operands and state in scratch.
template <class T>
struct forward_state {
  T *q, *acc, *max, *sum, *factor;

  HEDDLE_SHIM forward_state(T* at, index_t dk, index_t dv)
      : q(at), acc(q + dk * lanes), max(acc + padded(dv) * lanes), sum(max + lanes), factor(sum + lanes) {}
};

struct forward_body {
  template <class Isa, class Work>
  HEDDLE_SHIM void operator()(Isa, Work const& w, any_mask const& mask, query_tile const& task,
                              typename Work::number* const& memory) const {
    using T = typename Work::number;
    using In = typename Work::input;
    geometry const& g = w.rules.sizes;
    forward_scratch<In, T> const room{g.dk, g.dv};
    T* const scores = memory + tiles_per_task * room.tile_size();
    T* const staging = scores + room.scores_size();
    index_t const tiles = (task.rows + lanes - 1) / lanes;
    for (index_t t = 0; t < tiles; ++t) start<Isa>(w, part(task, t), memory + t * room.tile_size(), scores);
    static_assert(tiles_per_task == 2);
    key_columns queries[] = {key_columns(part(task, 0)), key_columns(part(task, tiles - 1))};
    block const keys = clamp(mask.range(mask.mask, task.positions()), task.seg.k_length);
    visibility seen;
    for (index_t first = keys.begin / block_columns * block_columns; first < keys.end; first += block_columns) {
      index_t const token = task.seg.k_begin + first, left = task.seg.k_length - first;
      index_t const n = left < block_columns ? left : block_columns;
      staged<T> const k = stage_rows<Isa>(w.k, token, task.kv_head, n, g.dk, staging);
      staged<T> const v = stage_rows<Isa>(w.v, token, task.kv_head, n, g.dv, staging + block_columns * padded(g.dk));
      for (index_t t = 0; t < tiles; ++t) {
        queries[t].first = first;
        if (!mask.see_keys(mask.mask, queries[t], n, seen)) continue;
        forward_state<T> const state(memory + t * room.tile_size(), g.dk, g.dv);
        block_of<Isa>(w, state, k, v, scores, seen, part(task, t).rows);
      }
    }
    for (index_t t = 0; t < tiles; ++t) finish<Isa>(w, part(task, t), memory + t * room.tile_size());
  }

 private:
  /// Up to so many lanes, values are gathered lane by lane: a decoding step reads keys and values once and is done.
  static constexpr index_t few = 8;

  // One block of keys for one lane tile.
  template <class Isa, class Work, class T>
  static HEDDLE_SHIM void block_of(Work const& w, forward_state<T> const& state, staged<T> const& k,
                                   staged<T> const& v, T* scores, visibility const& seen, index_t rows) {
    constexpr int vectors = lane_blocking<Isa, T>::vectors;
    geometry const& g = w.rules.sizes;
    index_t const lo = seen.run.lo, hi = seen.run.hi;
    T* const out = scores + lo * lanes;
    T const* const from = k.data + lo * k.stride;
    if (rows <= few)
      row_product<Isa, 1>(out, from, k.stride, hi - lo, state.q, g.dk, rows);
    else
      row_product<Isa, vectors>(out, from, k.stride, hi - lo, state.q, g.dk, lanes);
    if (w.rules.rule.cap != T(0)) cap_scores<Isa>(scores, w.rules.rule.cap, seen.run);
    // Where the values behind partly visible columns are finite, a weight of 0 excludes them without masks.
    bool const plain = all_finite<Isa>(v, lo, seen.run.full_begin, g.dv) &&
                       all_finite<Isa>(v, seen.run.full_end, hi, g.dv);
    weigh_block<Isa>(scores, state.max, state.sum, state.factor, seen, plain ? T(0) : T(-1),
                     rows <= few ? rows : lanes);
    column_run const run = plain ? column_run{lo, lo, hi, hi} : seen.run;
    if (rows <= few)
      few_lanes_product<Isa>(state.acc, v.data, v.stride, g.dv, scores, run, state.factor, rows);
    else
      column_product<Isa>(state.acc, v.data, v.stride, g.dv, scores, scores, run, add_to_scaled<T>{state.factor});
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
    geometry const& g = w.rules.sizes;
    forward_state<T> const state(memory, g.dk, g.dv);
    divide_lanes<Isa>(state.acc, state.sum, g.dv);
    for (index_t lane = 0; lane < tile.rows; ++lane) {
      auto* const out = w.out.row(tile.token(lane), tile.head(lane));
      using element = std::remove_reference_t<decltype(*out)>;
      for (index_t d = 0; d < g.dv; ++d) out[d] = static_cast<element>(state.acc[d * lanes + lane]);
      softmax_row<T> const row{state.max[lane], state.sum[lane], nullptr, 0};
      *w.lse.row(tile.token(lane), tile.head(lane)) = softmax_monoid<T>::log_sum_exp(row);
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

}  // namespace attention::detail

/// Attention forward on CPUs: queries in lanes, scores of 128 keys at a time in scratch, instruction set chosen at
/// run time. Gives the bits of the generic form.
template <>
struct kernel<attention::forward_fn, cpu_tag> {
  template <class Executor, class Work>
  HEDDLE_FN static void run(Executor& exec, Work const& work) {
    using T = typename Work::number;
    using operands = attention::detail::forward_operands<typename Work::input, typename Work::output, T>;
    attention::detail::geometry const& g = work.rules.sizes;
    attention::detail::forward_scratch<typename Work::input, T> const room{g.dk, g.dv};
    scratch_frame frame(exec);
    T* const memory = frame.template take<T>(exec.concurrency() * room.size());
    index_t const tasks = attention::detail::query_tasks(g, attention::detail::rows_per_task);
    exec.for_each_tile(tasks, [work, memory, tasks, size = room.size()](index_t task, int worker) {
      attention::detail::query_tile rows;
      if (!attention::detail::find_query_task(work.rules.sizes, attention::detail::interleave(task, tasks),
                                              attention::detail::rows_per_task, rows))
        return;
      T* const mine = memory + worker * size;
      operands const& o = work;
      dispatch_isa(attention::detail::forward_body{}, o, attention::detail::erase_mask(work.mask), rows, mine);
    });
    if (g.cu_q.size() == 0) return;
    constexpr index_t chunk = attention::detail::tokens_per_slack_task;
    exec.for_each_tile((g.tokens_q + chunk - 1) / chunk,
                       [work](index_t i, int) { attention::detail::clear_slack(work, i); });
  }
};

}  // namespace heddle
