// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/attention/backward.hpp>
#include <heddle/backend/cpu/detail/lane_softmax.hpp>

namespace heddle {
namespace attention::detail {

static_assert(queries_per_block == block_columns, "both passes work on blocks of one size");

/// What a worker of the backward pass keeps for one tile. Sizes in numbers of T; the same for both passes.
template <class T>
struct backward_scratch {
  index_t dk, dv;
  bool biased, drops, apart;

  HEDDLE_SHIM index_t extra() const noexcept { return (biased ? 1 : 0) + (drops ? 1 : 0); }
  HEDDLE_SHIM index_t columns() const noexcept { return (apart ? 4 : 2) * block_columns; }
  HEDDLE_SHIM index_t wide_k() const noexcept { return padded(dk); }
  HEDDLE_SHIM index_t wide_v() const noexcept { return padded(dv); }
  HEDDLE_SHIM index_t panel() const noexcept {
    index_t const most = dk > dv ? dk : dv;
    return (block_columns > most ? block_columns : most) * lanes;
  }
  HEDDLE_SHIM index_t sums() const noexcept { return (wide_k() + wide_v()) * lanes; }
  HEDDLE_SHIM index_t size() const noexcept {
    return 2 * panel() + (dk + dv) * lanes + sums() + block_columns * (wide_k() + wide_v()) + columns() +
           extra() * block_columns * lanes;
  }
};

template <class T, class Work>
HEDDLE_SHIM backward_scratch<T> backward_room(Work const& w, bool biased) {
  return {w.rules.sizes.dk, w.rules.sizes.dv, biased, w.rules.drop.active(), w.numbers.apart};
}

template <class T>
struct backward_state {
  T *weights, *scores;        ///< panels: P and dS, made from the score and dP
  T *a, *b;                   ///< packed rows of the lanes: dk and dv numbers each
  T *sum_k, *sum_v;           ///< gradients, dk and dv rows
  T *rows_k, *rows_v;         ///< staging of the columns' rows
  T *lse, *delta;             ///< of the lanes, or of the columns
  T *keys_lse, *dlse;         ///< the same; null where the log-sum-exp is one
  T *bias, *factor;           ///< panels, or null

  HEDDLE_SHIM backward_state(T* at, backward_scratch<T> const& room)
      : weights(at),
        scores(weights + room.panel()),
        a(scores + room.panel()),
        b(a + room.dk * lanes),
        sum_k(b + room.dv * lanes),
        sum_v(sum_k + room.wide_k() * lanes),
        rows_k(sum_v + room.wide_v() * lanes),
        rows_v(rows_k + block_columns * room.wide_k()),
        lse(rows_v + block_columns * room.wide_v()),
        delta(lse + block_columns),
        keys_lse(room.apart ? delta + block_columns : nullptr),
        dlse(room.apart ? keys_lse + block_columns : nullptr),
        bias(room.biased ? lse + room.columns() : nullptr),
        factor(room.drops ? lse + room.columns() + (room.biased ? block_columns * lanes : 0) : nullptr) {}

  HEDDLE_SHIM void clear(backward_scratch<T> const& room) const {
    for (index_t i = 0; i < room.sums(); ++i) sum_k[i] = T(0);
  }
};

/// The numbers of a row statistic for one column: one per lane, or one for all lanes.
template <bool PerLane, class V, class T>
HEDDLE_SHIM V statistic(T const* numbers, index_t c, index_t lane) {
  return PerLane ? V::load(numbers + lane) : V::splat(numbers[c]);
}

/// Turns scores and dP of columns [begin, end) into weights (-1 where excluded) and gradients of scores.
template <bool PerLane, class V, class T>
HEDDLE_SHIM void grade_columns(backward_state<T> const& s, T cap, visibility const& seen, index_t lane) {
  for (index_t c = seen.run.lo; c < seen.run.hi; ++c) {
    index_t const cell = c * lanes + lane;
    T* const at = s.weights + cell;
    V score = V::load(at), slope = V::splat(T(1));
    if (cap != T(0)) {
      V const u = tanh(score / V::splat(cap));
      slope = fma(-u, u, V::splat(T(1)));
      score = mul(V::splat(cap), u);
    }
    if (s.bias) score = score + V::load(s.bias + cell);
    V weight = score_weight(score - statistic<PerLane, V>(s.lse, c, lane));
    V dp = V::load(s.scores + cell);
    if (s.factor) dp = mul(dp, V::load(s.factor + cell));
    V ds = mul(weight, dp - statistic<PerLane, V>(s.delta, c, lane));
    if (s.keys_lse)
      ds = ds + mul(score_weight(score - statistic<PerLane, V>(s.keys_lse, c, lane)),
                    statistic<PerLane, V>(s.dlse, c, lane));
    if (s.factor) weight = mul(weight, V::load(s.factor + cell));
    mul(ds, slope).store(s.scores + cell);
    select(lanes_in<V>(seen.bits[c], lane), weight, V::splat(T(-1))).store(at);
  }
}

/// Scores, dP, weights and score gradients of the visible columns, from rows of keys (or queries) against the lanes.
template <bool PerLane, class Isa, class T>
HEDDLE_SHIM void grade(backward_state<T> const& s, staged<T> const& scored, staged<T> const& valued, index_t dk,
                       index_t dv, T cap, visibility const& seen) {
  using V = typename lane_blocking<Isa, T>::vector;
  column_run const& run = seen.run;
  T* const panels[] = {s.weights, s.scores};
  T const* const packed[] = {s.a, s.b};
  staged<T> const* const rows[] = {&scored, &valued};
  index_t const columns[] = {dk, dv};
  for (int i = 0; i < 2; ++i)
    row_product<Isa, lane_blocking<Isa, T>::vectors>(panels[i] + run.lo * lanes,
                                                     rows[i]->data + run.lo * rows[i]->stride, rows[i]->stride,
                                                     run.hi - run.lo, packed[i], columns[i], lanes);
  for (index_t lane = 0; lane < lanes; lane += V::width) grade_columns<PerLane, V>(s, cap, seen, lane);
}

/// What is known of one row goes to place `at`.
template <class Work, class T>
HEDDLE_SHIM void load_numbers(Work const& w, backward_state<T> const& s, index_t at, index_t token, index_t head) {
  s.lse[at] = w.of(row_number::lse, token, head);
  s.delta[at] = w.of(row_number::delta, token, head);
  if (!s.keys_lse) return;
  s.keys_lse[at] = w.of(row_number::keys_lse, token, head);
  s.dlse[at] = w.of(row_number::dlse, token, head);
}

/// dQ of one tile of queries: keys are columns.
struct query_gradient_body {
  template <class Isa, class Work>
  HEDDLE_SHIM void operator()(Isa, Work const& w, gradients<typename Work::input> const& to,
                              any_rules<typename Work::number> const& rules, query_tile const& tile,
                              typename Work::number* const& memory) const {
    using T = typename Work::number;
    geometry const& g = w.rules.sizes;
    backward_scratch<T> const room = backward_room<T>(w, rules.bias != nullptr);
    backward_state<T> const s(memory, room);
    s.clear(room);
    std::uint32_t const alive = load_statistics(w, tile, s);
    pack_lanes<Isa>(s.a, s.weights, w.q, tile, g.dk, w.rules.rule.scale);
    pack_lanes<Isa>(s.b, s.weights, w.dout, tile, g.dv, T(1));
    key_columns source(tile, alive);
    block const keys = clamp(rules.range(rules.mask, tile.positions()), tile.seg.k_length);
    visibility seen;
    for (index_t first = keys.begin / block_columns * block_columns; first < keys.end; first += block_columns) {
      index_t const token = tile.seg.k_begin + first, left = tile.seg.k_length - first;
      index_t const n = left < block_columns ? left : block_columns;
      source.first = first;
      if (!rules.see_keys(rules.mask, source, n, seen)) continue;
      if (s.bias) bias_panel<Isa>(rules, source, seen, s.bias);
      if (s.factor) drop_panel(w.rules.drop, tile, first, seen.run, s.factor);
      staged<T> const k = stage_rows<Isa>(w.k, token, tile.kv_head, n, g.dk, s.rows_k);
      staged<T> const v = stage_rows<Isa>(w.v, token, tile.kv_head, n, g.dv, s.rows_v);
      grade<true, Isa>(s, k, v, g.dk, g.dv, w.rules.rule.cap, seen);
      column_product<Isa>(s.sum_k, k.data, k.stride, g.dk, s.scores, s.weights, seen.run, add_to{});
    }
    write_lanes<Isa>(to.dq, tile, s.sum_k, g.dk, w.rules.rule.scale);
  }

 private:
  // Lanes out of use get harmless numbers: nothing of them is stored.
  template <class Work, class T>
  static HEDDLE_SHIM std::uint32_t load_statistics(Work const& w, query_tile const& tile, backward_state<T> const& s) {
    std::uint32_t alive = ~std::uint32_t{0};
    for (index_t lane = 0; lane < lanes; ++lane) {
      if (lane < tile.rows)
        load_numbers(w, s, lane, tile.token(lane), tile.head(lane));
      else
        for (index_t at = lane; at < lane + block_columns * (s.keys_lse ? 4 : 2); at += block_columns) s.lse[at] = T(0);
      if (lane < tile.rows && s.lse[lane] == softmax_monoid<T>::lowest) alive &= ~(std::uint32_t{1} << lane);
    }
    return alive;
  }
};

/// dK and dV of one tile of keys: queries are columns, heads of the group one after the other.
struct key_gradient_body {
  template <class Isa, class Work>
  HEDDLE_SHIM void operator()(Isa, Work const& w, gradients<typename Work::input> const& to,
                              any_rules<typename Work::number> const& rules, key_tile const& tile,
                              typename Work::number* const& memory) const {
    using T = typename Work::number;
    geometry const& g = w.rules.sizes;
    backward_scratch<T> const room = backward_room<T>(w, rules.bias != nullptr);
    backward_state<T> const s(memory, room);
    s.clear(room);
    pack_lanes<Isa>(s.a, s.weights, w.k, tile, g.dk, T(1));
    pack_lanes<Isa>(s.b, s.weights, w.v, tile, g.dv, T(1));
    for (index_t head = tile.kv_head * tile.group; head < (tile.kv_head + 1) * tile.group; ++head)
      for (index_t first = 0; first < tile.seg.q_length; first += block_columns)
        block_of<Isa>(w, rules, tile, s, head, first);
    write_lanes<Isa>(to.dk, tile, s.sum_k, g.dk, T(1));
    write_lanes<Isa>(to.dv, tile, s.sum_v, g.dv, T(1));
  }

 private:
  template <class Isa, class Work, class T>
  static HEDDLE_SHIM void block_of(Work const& w, any_rules<T> const& rules, key_tile const& tile,
                                   backward_state<T> const& s, index_t head, index_t first) {
    using V = typename lane_blocking<Isa, T>::vector;
    geometry const& g = w.rules.sizes;
    index_t const token = tile.seg.q_begin + first, left = tile.seg.q_length - first;
    index_t const n = left < block_columns ? left : block_columns;
    query_columns queries;
    queries.first = first + tile.seg.offset;
    queries.keys = {tile.first, tile.first + tile.rows};
    queries.head = head;
    for (index_t c = 0; c < n; ++c) {
      load_numbers(w, s, c, token + c, head);
      queries.alive[c] = s.lse[c] != softmax_monoid<T>::lowest;
    }
    visibility seen;
    if (!rules.see_queries(rules.mask, queries, n, seen)) return;
    if (s.bias) bias_panel<Isa>(rules, queries, seen, s.bias);
    if (s.factor) drop_panel(w.rules.drop, tile, head, first, seen.run, s.factor);
    index_t const wide = padded(g.dk);
    for (index_t c = seen.run.lo; c < seen.run.hi; ++c)
      scale_row<V>(s.rows_k + c * wide, w.q.row(token + c, head), g.dk, w.rules.rule.scale);
    staged<T> const q{s.rows_k, wide};
    staged<T> const dout = stage_rows<Isa>(w.dout, token, head, n, g.dv, s.rows_v);
    grade<false, Isa>(s, q, dout, g.dk, g.dv, w.rules.rule.cap, seen);
    T* const sums[] = {s.sum_k, s.sum_v};
    T const* const panels[] = {s.scores, s.weights};
    staged<T> const* const rows[] = {&q, &dout};
    index_t const columns[] = {g.dk, g.dv};
    for (int i = 0; i < 2; ++i)
      column_product<Isa>(sums[i], rows[i]->data, rows[i]->stride, columns[i], panels[i], s.weights, seen.run,
                          add_to{});
  }
};

/// Gradients of rows that no sequence owns are 0.
template <class In>
HEDDLE_FN void clear_rows(head_rows<In> const& rows, index_t begin, index_t end, index_t heads, index_t columns) {
  for (index_t token = begin; token < end; ++token)
    for (index_t head = 0; head < heads; ++head)
      for (index_t d = 0; d < columns; ++d) rows.row(token, head)[d] = static_cast<In>(0.0f);
}

/// Runs one tile of one pass with the best instruction set.
template <class Body, class Work, class Tile>
HEDDLE_FN void run_gradient(Body body, Work const& w, gradients<typename Work::input> const& to, Tile const& tile,
                            typename Work::number* memory, int worker) {
  using T = typename Work::number;
  typename Work::operands const& o = w;
  T* const mine = memory + worker * backward_room<T>(w, Work::biased).size();
  auto const mask = mask_at(w.mask, place_of(w.rules.sizes, tile.seg, tile.kv_head));
  dispatch_isa(body, o, to, erase_rules<T>(mask, w.bias), tile, mine);
}

}  // namespace attention::detail

/// Attention backward on CPUs: one pass with keys in lanes for dK and dV, one with queries in lanes for dQ. Gives the
/// bits of the generic form.
template <>
struct kernel<attention::backward_fn, cpu_tag> {
  template <class Executor, class Work, class Gradients>
  HEDDLE_FN static void run(Executor& exec, Work const& work, Gradients const& to) {
    namespace in = attention::detail;
    using T = typename Work::number;
    in::geometry const& g = work.rules.sizes;
    index_t const size = in::backward_room<T>(work, Work::biased).size();
    scratch_frame frame(exec);
    T* const memory = frame.template take<T>(exec.concurrency() * size);
    // Each pass carries its own gradients only: work that is queued is small.
    exec.for_each_tile(in::key_tasks(g), [work, dk = to.dk, dv = to.dv, memory](index_t task, int worker) {
      in::key_tile tile;
      if (in::find_key_task(work.rules.sizes, task, tile))
        in::run_gradient(in::key_gradient_body{}, work, {{}, dk, dv}, tile, memory, worker);
    });
    exec.for_each_tile(in::query_tasks(g, in::lanes), [work, dq = to.dq, memory](index_t task, int worker) {
      in::geometry const& sizes = work.rules.sizes;
      in::query_tile tile;
      if (in::find_query_task(sizes, in::interleave(task, in::query_tasks(sizes, in::lanes)), in::lanes, tile))
        in::run_gradient(in::query_gradient_body{}, work, {dq, {}, {}}, tile, memory, worker);
    });
    if (g.cu_k.size() == 0) return;
    exec.for_each_tile(2, [g, to](index_t side, int) {
      if (side == 0) return in::clear_rows(to.dq, g.end_q(), g.tokens_q, g.heads_q, g.dk);
      in::clear_rows(to.dk, g.end_k(), g.tokens_k, g.heads_kv, g.dk);
      in::clear_rows(to.dv, g.end_k(), g.tokens_k, g.heads_kv, g.dv);
    });
  }
};

}  // namespace heddle
