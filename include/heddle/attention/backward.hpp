// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/attention/detail/score.hpp>
#include <heddle/attention/softmax_monoid.hpp>
#include <heddle/exec/executor.hpp>

namespace heddle {
namespace attention {

/// In the gradients of K and V queries are taken in blocks of this many, counted from the start of their sequence.
inline constexpr index_t queries_per_block = 128;

namespace detail {

/// What one visible pair contributes: its weight, and the gradient of its score before the cap.
template <class T>
struct pair_gradient {
  T weight;
  T score;
};

/// Operands of the backward pass as queued work carries them.
template <class In, class T>
struct backward_operands {
  using input = In;
  using number = T;
  setup<T> rules;
  head_rows<In const> q, k, v, dout;
  head_rows<T const> lse;
  head_rows<T> delta;

  /// Pre: the pair is visible and the query's lse is not -inf. Tokens are absolute.
  HEDDLE_FN pair_gradient<T> pair(index_t query, index_t head, index_t key) const {
    geometry const& g = rules.sizes;
    index_t const kv_head = head / g.group();
    T slope = T(1);
    T const s = detail::score(rules.rule, g.dk, q.row(query, head), k.row(key, kv_head), &slope);
    T const p = score_weight(s - *lse.row(query, head));
    T const dp = dot<T>(g.dv, dout.row(query, head), v.row(key, kv_head));
    return {p, heddle::mul(heddle::mul(p, dp - *delta.row(query, head)), slope)};
  }
  HEDDLE_FN bool empty_row(index_t query, index_t head) const {
    return *lse.row(query, head) == softmax_monoid<T>::lowest;
  }
};

template <class In, class T, class Mask>
struct backward_work : backward_operands<In, T> {
  Mask mask;

  HEDDLE_FN backward_work(backward_operands<In, T> const& o, Mask const& m) : backward_operands<In, T>(o), mask(m) {}
};

/// One row of dK and dV: query heads of the group ascending, then blocks of queries ascending.
/// `sum` and `part` have room for dk + dv numbers each.
template <class Work, class T>
HEDDLE_FN void key_row(Work const& w, index_t key, index_t kv_head, T* sum, T* part) {
  geometry const& g = w.rules.sizes;
  for (index_t d = 0; d < g.dk + g.dv; ++d) sum[d] = T(0);
  segment seg;
  if (!find_segment<true>(g, key, seg)) return;
  index_t const j = key - seg.k_begin;
  for (index_t head = kv_head * g.group(); head < (kv_head + 1) * g.group(); ++head)
    for (index_t first = 0; first < seg.q_length; first += queries_per_block) {
      for (index_t d = 0; d < g.dk + g.dv; ++d) part[d] = T(0);
      for (index_t i = first; i < first + queries_per_block && i < seg.q_length; ++i) {
        index_t const query = seg.q_begin + i;
        if (!w.mask.visible(i + seg.offset, j) || w.empty_row(query, head)) continue;
        pair_gradient<T> const pair = w.pair(query, head, key);
        for (index_t d = 0; d < g.dk; ++d)
          part[d] = heddle::fma(pair.score, heddle::mul(w.rules.rule.scale, static_cast<T>(w.q.row(query, head)[d])),
                                part[d]);
        for (index_t d = 0; d < g.dv; ++d)
          part[g.dk + d] = heddle::fma(pair.weight, static_cast<T>(w.dout.row(query, head)[d]), part[g.dk + d]);
      }
      for (index_t d = 0; d < g.dk + g.dv; ++d) sum[d] += part[d];
    }
}

/// One row of dQ: blocks of keys ascending.
template <class Work, class T>
HEDDLE_FN void query_row(Work const& w, index_t query, index_t head, T* sum, T* part) {
  geometry const& g = w.rules.sizes;
  for (index_t d = 0; d < g.dk; ++d) sum[d] = T(0);
  segment seg;
  if (!find_segment<false>(g, query, seg) || w.empty_row(query, head)) return;
  index_t const i = query - seg.q_begin + seg.offset;
  block const keys = clamp(w.mask.kv_range({i, i + 1}), seg.k_length);
  for (index_t first = keys.begin / keys_per_block * keys_per_block; first < keys.end; first += keys_per_block) {
    for (index_t d = 0; d < g.dk; ++d) part[d] = T(0);
    for (index_t j = first; j < first + keys_per_block && j < seg.k_length; ++j) {
      if (!w.mask.visible(i, j)) continue;
      T const ds = w.pair(query, head, seg.k_begin + j).score;
      for (index_t d = 0; d < g.dk; ++d)
        part[d] = heddle::fma(ds, static_cast<T>(w.k.row(seg.k_begin + j, head / g.group())[d]), part[d]);
    }
    for (index_t d = 0; d < g.dk; ++d) sum[d] += part[d];
  }
}

/// delta = <dout, out> - dlse of every row that saw a key, 0 elsewhere: what lies there is not read.
template <class In, class Out, class T>
struct delta_work {
  geometry sizes;
  head_rows<Out const> out;
  head_rows<In const> dout;
  head_rows<T const> lse, dlse;  ///< dlse may be null
  head_rows<T> delta;

  HEDDLE_FN void operator()(index_t query, int) const {
    bool const owned = query < sizes.end_q();
    for (index_t head = 0; head < sizes.heads_q; ++head) {
      T sum = T(0);
      if (owned && *lse.row(query, head) != softmax_monoid<T>::lowest) {
        sum = dot<T>(sizes.dv, dout.row(query, head), out.row(query, head));
        if (dlse.data) sum -= *dlse.row(query, head);
      }
      *delta.row(query, head) = sum;
    }
  }
};

/// Where the gradients go.
template <class In>
struct gradients {
  head_rows<In> dq, dk, dv;
};

template <class In>
HEDDLE_FN span backward_span(setup<accumulator_t<In>> const& rules) {
  geometry const& g = rules.sizes;
  index_t const elements = 2 * (g.tokens_q * g.heads_q + g.tokens_k * g.heads_kv) * (g.dk + g.dv);
  span s{};
  s.operation = "attention.backward";
  s.shape[0] = g.tokens_q, s.shape[1] = g.tokens_k, s.shape[2] = g.heads_q, s.shape[3] = g.dk;
  s.bytes = elements * static_cast<index_t>(sizeof(In));
  s.flops = g.heads_q * (8 * g.dk + 6 * g.dv) * g.tokens_q * (g.tokens_k / g.sequences);
  return s;
}

}  // namespace detail

struct backward_fn {
  /// Gradients of attention. Overwrites dq, dk and dv.
  ///
  /// Shapes: as in forward; dout like out, dq, dk, dv like q, k, v, dlse like lse. `out` and `lse` are what forward
  /// wrote for the same operands and options; `dlse`, where given, is the gradient of the log-sum-exp.
  /// Types: as in forward; dq, dk, dv have the inputs' type and are rounded once.
  /// Pre: outputs overlap nothing. Post: every element of dq, dk and dv is written; rows without a visible pair and
  /// slack rows are 0, whatever dout and dlse hold there.
  /// Errors: as in forward. Complexity: 8 dk + 6 dv flops per head and visible pair (7 products): scores are made
  /// twice. Sync: submits.
  /// Determinism: as in forward: one pass owns keys, one owns queries, nothing is added atomically.
  /// Memory: one number per head and query token, and scratch per worker.
  /// Numerics: dk and dv sum query heads of a group ascending, inside a head blocks of 128 queries ascending; dq sums
  /// blocks of 128 keys ascending; each block is a chain.
  /// Source: arXiv 2205.14135, appendix B.4, with the gradient of the log-sum-exp folded into delta.
  template <executor Executor, any_view Q, any_view K, any_view V, any_view Out, any_view Lse, any_view DOut,
            writable_view DQ, writable_view DK, writable_view DV, mask Mask = causal>
  HEDDLE_FN void operator()(Executor& exec, Q const& q, K const& k, V const& v, Out const& out, Lse const& lse,
                            DOut const& dout, DQ const& dq, DK const& dk, DV const& dv,
                            options<Mask> const& o = {}) const {
    view<accumulator_t<typename Q::value_type>, 2, typename Q::space> const none;
    submit(exec, q, k, v, out, lse, dout, none, dq, dk, dv, o);
  }
  template <executor Executor, any_view Q, any_view K, any_view V, any_view Out, any_view Lse, any_view DOut,
            any_view DLse, writable_view DQ, writable_view DK, writable_view DV, mask Mask = causal>
  HEDDLE_FN void operator()(Executor& exec, Q const& q, K const& k, V const& v, Out const& out, Lse const& lse,
                            DOut const& dout, DLse const& dlse, DQ const& dq, DK const& dk, DV const& dv,
                            options<Mask> const& o = {}) const {
    HEDDLE_EXPECTS(dlse.extent(0) == lse.extent(0) && dlse.extent(1) == lse.extent(1), "dlse has the shape of lse",
                   dlse.extent(0), dlse.extent(1));
    submit(exec, q, k, v, out, lse, dout, dlse, dq, dk, dv, o);
  }

  /// Plain loops, one row at a time: the definition of the order of operations.
  template <class Executor, class Work, class Gradients>
  HEDDLE_FN static void generic(Executor& exec, Work const& work, Gradients const& to) {
    using number = typename Work::number;
    using element = std::remove_const_t<typename Work::input>;
    detail::geometry const& g = work.rules.sizes;
    index_t const room = 2 * (g.dk + g.dv);
    scratch_frame frame(exec);
    number* const sums = frame.template take<number>(exec.concurrency() * room);
    exec.for_each_tile(g.tokens_k * g.heads_kv, [work, to, sums, room](index_t tile, int worker) {
      detail::geometry const& sizes = work.rules.sizes;
      number* const sum = sums + worker * room;
      index_t const key = tile / sizes.heads_kv, head = tile % sizes.heads_kv;
      detail::key_row(work, key, head, sum, sum + sizes.dk + sizes.dv);
      for (index_t d = 0; d < sizes.dk; ++d) to.dk.row(key, head)[d] = static_cast<element>(sum[d] + number(0));
      for (index_t d = 0; d < sizes.dv; ++d)
        to.dv.row(key, head)[d] = static_cast<element>(sum[sizes.dk + d] + number(0));
    });
    exec.for_each_tile(g.tokens_q * g.heads_q, [work, to, sums, room](index_t tile, int worker) {
      detail::geometry const& sizes = work.rules.sizes;
      number* const sum = sums + worker * room;
      index_t const query = tile / sizes.heads_q, head = tile % sizes.heads_q;
      detail::query_row(work, query, head, sum, sum + sizes.dk);
      for (index_t d = 0; d < sizes.dk; ++d)
        to.dq.row(query, head)[d] = static_cast<element>(heddle::mul(work.rules.rule.scale, sum[d]) + number(0));
    });
  }

 private:
  template <class Executor, class Q, class K, class V, class Out, class Lse, class DOut, class DLse, class DQ, class DK,
            class DV, class Mask>
  HEDDLE_FN static void submit(Executor& exec, Q const& q, K const& k, V const& v, Out const& out, Lse const& lse,
                               DOut const& dout, DLse const& dlse, DQ const& dq, DK const& dk, DV const& dv,
                               options<Mask> const& o) {
    using in = typename Q::value_type;
    using number = accumulator_t<in>;
    static_assert(std::is_same_v<in, typename K::value_type> && std::is_same_v<in, typename V::value_type> &&
                      std::is_same_v<in, typename DOut::value_type>,
                  "q, k, v and dout have one element type");
    static_assert(std::is_same_v<in, typename DQ::value_type> && std::is_same_v<in, typename DK::value_type> &&
                      std::is_same_v<in, typename DV::value_type>,
                  "gradients have the element type of the inputs");
    static_assert(std::is_same_v<typename Lse::value_type, number> && std::is_same_v<typename DLse::value_type, number>,
                  "lse and dlse are float, or double for double inputs");
    auto const rules = detail::make_setup(q, k, v, o);
    detail::geometry const& g = rules.sizes;
    detail::expect_shape(out, g.tokens_q, g.heads_q, g.dv, "out");
    detail::expect_shape(dout, g.tokens_q, g.heads_q, g.dv, "dout");
    detail::expect_output(dq, g.tokens_q, g.heads_q, g.dk, "dq");
    detail::expect_output(dk, g.tokens_k, g.heads_kv, g.dk, "dk");
    detail::expect_output(dv, g.tokens_k, g.heads_kv, g.dv, "dv");
    detail::expect_numbers(lse, g, "lse");
    observed_span<Executor> const scope(exec, [&] { return detail::backward_span<in>(rules); });
    detail::submit_list_check(exec, g);
    scratch_frame frame(exec);
    number* const delta_data = frame.template take<number>(g.heads_q * g.tokens_q);
    detail::head_rows<number> const delta{delta_data, 1, g.tokens_q};
    auto const lse_rows = detail::numbers_of(canonical_input(lse));
    exec.for_each_tile(g.tokens_q, detail::delta_work<in, typename Out::value_type, number>{
                                       g, detail::rows_of(canonical_input(out)), detail::rows_of(canonical_input(dout)),
                                       lse_rows, detail::numbers_of(canonical_input(dlse)), delta});
    detail::backward_work<in, number, std::remove_cv_t<Mask>> const work(
        {rules, detail::rows_of(canonical_input(q)), detail::rows_of(canonical_input(k)),
         detail::rows_of(canonical_input(v)), detail::rows_of(canonical_input(dout)), lse_rows, delta},
        o.mask);
    run_kernel<backward_fn>(exec, work,
                            detail::gradients<in>{detail::rows_of(dq), detail::rows_of(dk), detail::rows_of(dv)});
  }
};

/// Attention, backward. See backward_fn.
inline constexpr backward_fn backward{};

}  // namespace attention
}  // namespace heddle
