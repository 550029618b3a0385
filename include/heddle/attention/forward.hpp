// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/attention/detail/score.hpp>
#include <heddle/attention/paged_cache.hpp>
#include <heddle/attention/softmax_monoid.hpp>
#include <heddle/core/overlap.hpp>
#include <heddle/exec/executor.hpp>

namespace heddle {
namespace attention {

namespace detail {

/// Operands of the forward pass as queued work carries them. Rows: how keys and values lie.
template <class In, class Out, class T, class Rows = head_rows<In const>>
struct forward_operands {
  using input = In;
  using output = Out;
  using number = T;
  using key_rows = Rows;
  setup<T> rules;
  head_rows<In const> q;
  Rows k, v;
  head_rows<Out> out;
  head_rows<T> lse;
  T* partial = nullptr;  ///< where given, states of parts of the keys go there, and out and lse are left alone
};

/// The state of one part of one row: its maximum, its sum, and dv accumulated values. `queries`: of its sequence.
template <class T>
HEDDLE_TILE T* partial_row(T* partial, geometry const& g, index_t slot, index_t queries, index_t query, index_t head) {
  return partial + ((slot * queries + query) * g.heads_q + head) * (g.dv + 2);
}

template <class Operands, class Mask, class Bias>
struct forward_work : Operands {
  using operands = Operands;
  using typename Operands::number;
  static constexpr bool biased = has_bias<Bias>;
  [[no_unique_address]] Mask mask;
  [[no_unique_address]] Bias bias;

  HEDDLE_FN forward_work(Operands const& o, Mask const& m, Bias const& b) : Operands(o), mask(m), bias(b) {}

  /// One query row of one head: blocks of keys in ascending order into the softmax state, then the sink.
  HEDDLE_FN void row(index_t token, index_t head, number* acc) const {
    geometry const& g = this->rules.sizes;
    softmax_row<number> state{number(0), number(0), acc, g.dv};
    softmax_monoid<number>::identity(state);
    segment seg;
    if (find_segment<false>(g, token, seg)) {
      keys(seg, token, head, {0, no_bound}, state);
      write(token, head, state);
    } else {
      for (index_t d = 0; d < g.dv; ++d) this->out.row(token, head)[d] = typename Operands::output(number(0));
      *this->lse.row(token, head) = softmax_monoid<number>::lowest;
    }
  }

  /// Takes the keys of one query that lie in `part`. Pre: part begins at a block of keys.
  HEDDLE_FN void keys(segment const& seg, index_t token, index_t head, block part, softmax_row<number>& state) const {
    geometry const& g = this->rules.sizes;
    index_t const i = token - seg.q_begin + seg.offset, kv_head = head / g.group();
    auto const seen = mask_at(mask, place_of(g, seg, kv_head));
    block const all = clamp(seen.kv_range({i, i + 1}), part.end < seg.k_length ? part.end : seg.k_length);
    index_t const begin = all.begin > part.begin ? all.begin : part.begin;
    number scores[keys_per_block];
    index_t rows[keys_per_block];
    for (index_t first = begin / keys_per_block * keys_per_block; first < all.end; first += keys_per_block) {
      index_t n = 0;
      for (index_t j = first; j < first + keys_per_block && j < seg.k_length; ++j) {
        if (!seen.visible(i, j)) continue;
        number const added = bias_of<number>(bias, head, i, j);
        if (added == softmax_monoid<number>::lowest) continue;
        rows[n] = j;
        scores[n] = score_of(this->q.row(token, head), this->k.row(seg.k_begin + j, kv_head));
        if constexpr (has_bias<Bias>) scores[n] += added;
        ++n;
      }
      auto const drop = [&](number* weights) {
        dropout_rule<number> const& d = this->rules.drop;
        if (!d.active()) return;
        std::uint64_t const row = d.row(seg.number, head, token - seg.q_begin);
        for (index_t c = 0; c < n; ++c)
          weights[c] = heddle::mul(weights[c], d.factor(row + static_cast<std::uint64_t>(rows[c])));
      };
      auto const value = [&](index_t c, index_t d) { return this->v.row(seg.k_begin + rows[c], kv_head)[d]; };
      if constexpr (has_pair_form<typename Operands::input>)
        if (this->rules.pairs) {
          softmax_monoid<number>::push_sums(state, n, scores, drop, [&](number const* weights, index_t d) {
            return pair_sum(n, rows, weights, [&](index_t c) { return value(c, d); });
          });
          continue;
        }
      softmax_monoid<number>::push_block(state, n, scores, value, drop);
    }
  }
  HEDDLE_FN number score_of(typename Operands::input const* query, typename Operands::input const* key) const {
    setup<number> const& r = this->rules;
    if constexpr (has_pair_form<typename Operands::input>)
      if (r.pairs) return pair_score(r.rule, r.sizes.dk, query, key);
    return score(r.rule, r.sizes.dk, query, key);
  }

  /// Ends a row of a sequence.
  HEDDLE_FN void write(index_t token, index_t head, softmax_row<number>& state) const {
    using monoid = softmax_monoid<number>;
    sink_rule const& sinks = this->rules.sinks;
    number logarithm = monoid::log_sum_exp(state);
    if (sinks.given()) {
      number const shrink = monoid::push_sink(state, static_cast<number>(sinks.logits[head]));
      for (index_t d = 0; d < state.width(); ++d) state.acc[d] = heddle::mul(state.acc[d], shrink);
      if (sinks.in_lse) logarithm = monoid::log_sum_exp(state);
    }
    for (index_t d = 0; d < state.width(); ++d)
      this->out.row(token, head)[d] = static_cast<typename Operands::output>(monoid::output(state, d));
    *this->lse.row(token, head) = logarithm;
  }
};

/// The setup of q against a paged cache.
template <any_view Q, class Cache, class Mask, class Bias>
HEDDLE_FN auto make_paged_setup(Q const& q, Cache const& c, options<Mask, Bias> const& o) {
  expect_cache(c);
  HEDDLE_EXPECTS(o.cu_k.size() == 0, "a paged cache has lengths of its own: leave cu_k empty", o.cu_k.size());
  HEDDLE_EXPECTS(o.sequences == 1 || o.sequences == c.sequences(), "the sequences are those of the cache", o.sequences,
                 c.sequences());
  HEDDLE_EXPECTS(c.k.extent(3) == q.extent(2), "q and the cached keys have the same columns", q.extent(2),
                 c.k.extent(3));
  expect_unit_columns(q, "q");
  geometry const g{q.extent(0),    c.sequences() * c.capacity(),
                   q.extent(1),    c.k.extent(2),
                   q.extent(2),    c.v.extent(3),
                   c.sequences(),  o.cu_q,
                   c.lengths,      o.query_offsets,
                   o.query_offset, true};
  return make_rules_of<typename Q::value_type>(g, o);
}

/// Checks the outputs and gathers the work of the forward pass.
template <class T, class Q, class Rows, class Out, class Lse, class Mask, class Bias>
HEDDLE_FN auto make_forward(setup<T> const& rules, Q const& q, Rows const& k, Rows const& v, Out const& out,
                            Lse const& lse, options<Mask, Bias> const& o) {
  static_assert(std::is_same_v<typename Lse::value_type, T>, "lse is float, or double for double inputs");
  expect_output(out, rules.sizes.tokens_q, rules.sizes.heads_q, rules.sizes.dv, "out");
  expect_numbers(lse, rules.sizes.tokens_q, rules.sizes.heads_q, "lse");
  using operands = forward_operands<typename Q::value_type, typename Out::value_type, T, Rows>;
  using work = forward_work<operands, std::remove_cv_t<Mask>, std::remove_cv_t<Bias>>;
  static_assert(queueable_task<work>, "this mask is too large to be queued");
  return work(operands{rules, rows_of(canonical_input(q)), k, v, rows_of(out), numbers_of(lse)}, o.mask, o.bias);
}

template <class In, class Out>
HEDDLE_FN span forward_span(char const* operation, setup<accumulator_t<In>> const& rules) {
  geometry const& g = rules.sizes;
  index_t const q_bytes =
      g.tokens_q * g.heads_q * (g.dk * static_cast<index_t>(sizeof(In)) + g.dv * static_cast<index_t>(sizeof(Out)));
  index_t const kv_bytes = g.tokens_k * g.heads_kv * (g.dk + g.dv) * static_cast<index_t>(sizeof(In));
  span s{};
  s.operation = operation;
  s.shape[0] = g.tokens_q, s.shape[1] = g.tokens_k, s.shape[2] = g.heads_q, s.shape[3] = g.dk;
  s.bytes = q_bytes + kv_bytes;
  s.flops = 2 * g.heads_q * (g.dk + g.dv) * g.tokens_q * g.share_k();
  return s;
}

/// The calls of forward and of decode, which differ in `name` and in `submit(exec, work)`.
template <class Derived>
struct forward_calls {
  template <executor Executor, any_view Q, any_view K, any_view V, writable_view Out, writable_view Lse,
            mask Mask = causal, bias Bias = no_bias>
    requires(Q::rank() == 3 && K::rank() == 3 && V::rank() == 3 && Out::rank() == 3 && Lse::rank() == 2)
  HEDDLE_FN void operator()(Executor& exec, Q const& q, K const& k, V const& v, Out const& out, Lse const& lse,
                            options<Mask, Bias> const& o = {}) const {
    using in = typename Q::value_type;
    static_assert(std::is_same_v<in, typename K::value_type> && std::is_same_v<in, typename V::value_type>,
                  "q, k and v have one element type");
    auto const work =
        make_forward(make_setup(q, k, v, o), q, rows_of(canonical_input(k)), rows_of(canonical_input(v)), out, lse, o);
    expect_apart(Derived::name, out, q, k, v, lse);
    expect_apart(Derived::name, lse, q, k, v);
    Derived::submit(exec, work);
  }
  template <executor Executor, any_view Q, any_paged_cache Cache, writable_view Out, writable_view Lse,
            mask Mask = causal, bias Bias = no_bias>
    requires(Q::rank() == 3 && Out::rank() == 3 && Lse::rank() == 2)
  HEDDLE_FN void operator()(Executor& exec, Q const& q, Cache const& cache, Out const& out, Lse const& lse,
                            options<Mask, Bias> const& o = {}) const {
    using in = typename Q::value_type;
    static_assert(std::is_same_v<in, typename Cache::value_type>, "q and the cache have one element type");
    auto const work = make_forward(make_paged_setup(q, cache, o), q, paged_rows_of<in const>(cache.k, cache.table),
                                   paged_rows_of<in const>(cache.v, cache.table), out, lse, o);
    expect_apart(Derived::name, out, q, cache.k, cache.v, cache.table, cache.lengths, lse);
    expect_apart(Derived::name, lse, q, cache.k, cache.v, cache.table, cache.lengths);
    submit_page_check(exec, work.rules.sizes, work.k, cache.k.extent(0));
    Derived::submit(exec, work);
  }
};

}  // namespace detail

/// Attends: out = softmax(mask(cap(scale * q k^T) + bias)) v for every sequence and head, and the log-sum-exp of its
/// scores.
///
/// Shapes: q [tokens_q, Hq, dk], k [tokens_k, Hkv, dk], v [tokens_k, Hkv, dv], out [tokens_q, Hq, dv],
/// lse [Hq, tokens_q]; strides are free except that columns lie side by side; v may alias k. Query head h reads
/// key head h / (Hq / Hkv).
/// Keys and values may lie in a paged cache, `forward(exec, q, cache, out, lse, options)`: sequence s has
/// `cache.lengths[s]` keys, queries are cut equally or by `cu_q`, and bits are those of the same rows without pages.
/// Types: one input type for q, k, v; scores, sums and lse are double for double, else float; out is rounded once.
/// bf16 is multiplied in pairs (linalg/pair_dot.hpp) and weights are rounded to it, unless `strict` says otherwise.
/// Pre: Hq is a multiple of Hkv; outputs overlap nothing (refused where a few comparisons tell). Post: every element
/// of out and lse is written; rows without a visible key and slack rows are 0 and -inf, with a sink logit 0 and the
/// logit. What lies behind the mask is never multiplied.
/// Errors: contract_error for shapes at the call, for `cu_q`, `cu_k`, offsets and lists of masks when the work runs.
/// Complexity: 2 (dk + dv) flops per head and visible pair; blocks that the mask hides are skipped; the scores are
/// never stored whole; the sequence of a row is found in log2(sequences) steps. Sync: submits; reads the lists of
/// options as part of the work.
/// Determinism: same bits for any thread count, instruction set and cut into sequences of one length or by lists.
/// Memory: scratch per worker, independent of the number of keys.
/// Numerics: scores are chains over dk of scaled queries; keys come in blocks of 128 from the start of the sequence,
/// each block a chain, blocks joined in ascending order by the softmax monoid, then the sink logit. bf16: chains over
/// pairs of columns, scaled at their end, and over pairs of keys 2 i and 2 i + 1; an excluded key counts as zeros.
/// Source: arXiv 2205.14135, algorithm 1; arXiv 2307.08691.
struct forward_fn : detail::forward_calls<forward_fn> {
  static constexpr char const* name = "attention.forward";

  /// Plain loops, one row at a time: the definition of the order of operations.
  template <class Executor, class Work>
  HEDDLE_FN static void generic(Executor& exec, Work const& work) {
    detail::geometry const& g = work.rules.sizes;
    scratch_frame frame(exec);
    auto* const acc = frame.template take<typename Work::number>(exec.concurrency() * g.dv);
    exec.for_each_tile(g.tokens_q * g.heads_q, [work, acc](index_t tile, int worker) {
      detail::geometry const& sizes = work.rules.sizes;
      work.row(tile / sizes.heads_q, tile % sizes.heads_q, acc + worker * sizes.dv);
    });
  }

  template <class Executor, class Work>
  HEDDLE_FN static void submit(Executor& exec, Work const& work) {
    observed_span<Executor> const scope(
        exec, [&] { return detail::forward_span<typename Work::input, typename Work::output>(name, work.rules); });
    detail::submit_list_check(exec, work.rules, work.mask);
    run_kernel<forward_fn>(exec, work);
  }
};

/// Attention, forward. See forward_fn.
inline constexpr forward_fn forward{};

}  // namespace attention
}  // namespace heddle
