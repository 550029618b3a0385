// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/backend/cpu/attention_forward_pairs.hpp>
#include <heddle/backend/cpu/detail/lane_few.hpp>
#include <heddle/backend/cpu/detail/lane_forward.hpp>

namespace heddle {
namespace attention::detail {

/// Where a worker keeps what belongs to one task. Sizes in numbers.
template <class Work>
struct forward_scratch {
  using T = typename Work::number;
  index_t dk, dv;
  bool panel;  ///< whether scores or weights are changed pair by pair

  HEDDLE_SHIM index_t tile_size() const noexcept { return forward_state<T>::size(dk, dv); }
  HEDDLE_SHIM index_t scores_size() const noexcept {
    index_t const rows = block_columns > dk ? block_columns : dk;
    return (rows > padded(dv) ? rows : padded(dv)) * lanes;
  }
  HEDDLE_SHIM index_t panel_size() const noexcept { return panel ? block_columns * lanes : 0; }
  HEDDLE_SHIM bool stages() const noexcept {
    return !std::is_same_v<typename Work::key_rows, head_rows<T const>> || padded(dk) != dk || padded(dv) != dv;
  }
  HEDDLE_SHIM index_t staging() const noexcept { return stages() ? block_columns * (padded(dk) + padded(dv)) : 0; }
  HEDDLE_SHIM index_t size() const noexcept {
    return tiles_per_task * tile_size() + scores_size() + panel_size() + staging();
  }
};

/// Operands as numbers: widened where they are narrow.
template <class Work>
struct wide_form {
  using T = typename Work::number;
  Work const& w;
  T* memory;
  forward_scratch<Work> room;
  T *scores, *panel, *staging;
  staged<T> k, v;
  typename Work::input const* next;  ///< keys of the block behind, and how many
  index_t coming;

  HEDDLE_SHIM wide_form(Work const& work, T* at, forward_scratch<Work> const& r)
      : w(work),
        memory(at),
        room(r),
        scores(memory + tiles_per_task * room.tile_size()),
        panel(scores + room.scores_size()),
        staging(panel + room.panel_size()),
        k{},
        v{},
        next(nullptr),
        coming(0) {}

  HEDDLE_SHIM forward_state<T> state(index_t t) const { return {memory + t * room.tile_size(), room.dk, room.dv}; }

  /// Scaled queries with one lane each; lanes out of use are zero.
  template <class Isa>
  HEDDLE_SHIM void start(query_tile const& tile, index_t t) const {
    pack_lanes<Isa>(state(t).q, scores, w.q, tile, room.dk, w.rules.rule.scale);
    state(t).clear(room.dv);
  }
  template <class Isa>
  HEDDLE_SHIM void stage(index_t token, index_t head, index_t n, index_t ahead) {
    k = stage_rows<Isa>(w.k, token, head, n, room.dk, staging);
    v = stage_rows<Isa>(w.v, token, head, n, room.dv, staging + block_columns * padded(room.dk));
    next = ahead > 0 ? w.k.row(token + n, head) : nullptr;
    coming = ahead < block_columns ? ahead : block_columns;
  }
  /// One block of keys for one lane tile.
  template <class Isa>
  HEDDLE_SHIM void take(any_rules<T> const& rules, index_t t, visibility& seen, key_columns const& queries,
                        query_tile const& tile) const {
    forward_state<T> const s = state(t);
    index_t const lo = seen.run.lo, hi = seen.run.hi, rows = tile.rows;
    if (rows <= few_lanes)
      few_products<Isa>(s, lo, hi, rows);
    else
      row_product<Isa, lane_blocking<Isa, T>::vectors>(scores + lo * lanes, k.data + lo * k.stride, k.stride, hi - lo,
                                                       s.q, room.dk, lanes);
    change_scores<Isa>(w, rules, scores, panel, seen, queries);
    // Where the values behind partly visible columns are finite, a weight of 0 excludes them without masks.
    bool const plain =
        all_finite<Isa>(v, lo, seen.run.full_begin, room.dv) && all_finite<Isa>(v, seen.run.full_end, hi, room.dv);
    weigh_block<Isa>(scores, s.max, s.sum, s.factor, seen, plain ? T(0) : T(-1), rows <= few_lanes ? rows : lanes);
    if (w.rules.drop.active()) {
      drop_panel(w.rules.drop, tile, queries.first, seen.run, panel);
      multiply_panel<Isa>(scores, panel, seen.run);
    }
    column_run const run = plain ? column_run{lo, lo, hi, hi} : seen.run;
    if (rows <= few_lanes)
      few_sums<Isa>(s, run, plain, rows);
    else
      column_product<Isa>(s.acc, v.data, v.stride, room.dv, scores, scores, run, add_to_scaled<T>{s.factor});
  }
  template <class Isa>
  HEDDLE_SHIM void end(index_t t, index_t rows) const {
    if (rows <= few_lanes) rows_into_panel(state(t).acc, scores, padded(room.dv), room.dv, rows);
  }

 private:
  template <class Isa>
  HEDDLE_SHIM void few_products(forward_state<T> const& s, index_t lo, index_t hi, index_t rows) const {
    using P = number_vector<Isa, T>;
    constexpr index_t width = P::V::width;
    T* const out = scores + lo * lanes;
    T const* const from = k.data + lo * k.stride;
    // Values are asked for while keys are multiplied.
    row_requests values(v.data + lo * v.stride, v.stride, room.dv, hi - lo);
    index_t const lines = width * width * static_cast<index_t>(sizeof(T)) / 64 * room.dv / room.dk + 1;
    index_t const done = few_scores<P>(out, from, k.stride, hi - lo, s.q, room.dk, rows, values, lines, unchanged{});
    if (done < hi - lo)
      row_product<Isa, 1>(out + done * lanes, from + done * k.stride, k.stride, hi - lo - done, s.q, room.dk, rows);
  }
  template <class Isa>
  HEDDLE_SHIM void few_sums(forward_state<T> const& s, column_run const& run, bool plain, index_t rows) const {
    using F = few_numbers<Isa, T>;
    row_requests keys(next, w.k.token_stride, room.dk, next ? coming : 0);
    if (plain && room.dv % F::V::width == 0)
      few_values<F>(s.acc, padded(room.dv), v.data, v.stride, room.dv, scores, run.lo, run.hi, s.factor, rows, keys);
    else
      few_lanes_product<Isa>(s.acc, padded(room.dv), v.data, v.stride, room.dv, scores, run, s.factor, rows);
  }
};

struct forward_body {
  template <class Isa, class Work>
  HEDDLE_SHIM void operator()(Isa, Work const& w, any_rules<typename Work::number> const& rules, query_tile const& task,
                              typename Work::number* const& memory) const {
    geometry const& g = w.rules.sizes;
    wide_form<Work> form(w, memory, {g.dk, g.dv, rules.bias != nullptr || w.rules.drop.active()});
    forward_task<Isa>(w, rules, task, form);
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

/// Numbers that a worker needs.
template <class Work>
HEDDLE_FN index_t forward_room(Work const& w) {
  geometry const& g = w.rules.sizes;
  bool const panel = Work::biased || w.rules.drop.active();
  if constexpr (has_pair_form<typename Work::input>)
    if (w.rules.pairs) return pair_scratch{g.dk, g.dv, panel}.size();
  return forward_scratch<Work>{g.dk, g.dv, panel}.size();
}

/// Runs one task with the best instruction set.
template <class Work>
HEDDLE_FN void forward_rows(Work const& w, query_tile const& rows, typename Work::number* memory) {
  typename Work::operands const& o = w;
  auto const mask = mask_at(w.mask, place_of(w.rules.sizes, rows.seg, rows.kv_head));
  auto const rules = erase_rules<typename Work::number>(mask, w.bias);
  if constexpr (has_pair_form<typename Work::input>)
    if (w.rules.pairs) return dispatch_isa(forward_pairs_body{}, o, rules, rows, memory);
  dispatch_isa(forward_body{}, o, rules, rows, memory);
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
    T* const memory = frame.template take<T>(exec.concurrency() * in::forward_room(work));
    exec.for_each_tile(in::query_tasks(g, in::rows_per_task), [work, memory](index_t task, int worker) {
      in::geometry const& sizes = work.rules.sizes;
      index_t const tasks = in::query_tasks(sizes, in::rows_per_task);
      in::query_tile rows;
      if (in::find_query_task(sizes, in::interleave(task, tasks), in::rows_per_task, rows))
        in::forward_rows(work, rows, memory + worker * in::forward_room(work));
    });
    if (g.cu_q.size() == 0) return;
    constexpr index_t chunk = in::tokens_per_slack_task;
    exec.for_each_tile((g.tokens_q + chunk - 1) / chunk, [work](index_t i, int) { in::clear_slack(work, i); });
  }
};

}  // namespace heddle
