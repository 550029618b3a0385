// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/attention/detail/score.hpp>
#include <heddle/attention/softmax_monoid.hpp>
#include <heddle/exec/executor.hpp>

namespace heddle {
namespace attention {

namespace detail {

/// Operands of the forward pass as queued work carries them.
template <class In, class Out, class T>
struct forward_operands {
  using input = In;
  using output = Out;
  using number = T;
  setup<T> rules;
  head_rows<In const> q, k, v;
  head_rows<Out> out;
  head_rows<T> lse;
};

template <class In, class Out, class T, class Mask>
struct forward_work : forward_operands<In, Out, T> {
  Mask mask;

  HEDDLE_FN forward_work(forward_operands<In, Out, T> const& o, Mask const& m)
      : forward_operands<In, Out, T>(o), mask(m) {}

  /// One query row of one head: blocks of keys in ascending order into the softmax state.
  HEDDLE_FN void row(index_t token, index_t head, T* acc) const {
    geometry const& g = this->rules.sizes;
    softmax_row<T> state{T(0), T(0), acc, g.dv};
    softmax_monoid<T>::identity(state);
    segment seg;
    if (find_segment<false>(g, token, seg)) {
      index_t const i = token - seg.q_begin + seg.offset, kv_head = head / g.group();
      block const keys = clamp(mask.kv_range({i, i + 1}), seg.k_length);
      T scores[keys_per_block];
      index_t rows[keys_per_block];
      for (index_t first = keys.begin / keys_per_block * keys_per_block; first < keys.end; first += keys_per_block) {
        index_t n = 0;
        for (index_t j = first; j < first + keys_per_block && j < seg.k_length; ++j) {
          if (!mask.visible(i, j)) continue;
          rows[n] = seg.k_begin + j;
          scores[n++] = score(this->rules.rule, g.dk, this->q.row(token, head), this->k.row(seg.k_begin + j, kv_head));
        }
        softmax_monoid<T>::push_block(state, n, scores,
                                      [&](index_t c, index_t d) { return this->v.row(rows[c], kv_head)[d]; });
      }
    }
    for (index_t d = 0; d < g.dv; ++d)
      this->out.row(token, head)[d] = static_cast<Out>(softmax_monoid<T>::output(state, d));
    *this->lse.row(token, head) = softmax_monoid<T>::log_sum_exp(state);
  }
};

template <class In, class Out>
HEDDLE_FN span forward_span(setup<accumulator_t<In>> const& rules) {
  geometry const& g = rules.sizes;
  index_t const q_bytes = g.tokens_q * g.heads_q * static_cast<index_t>(g.dk * sizeof(In) + g.dv * sizeof(Out));
  index_t const kv_bytes = g.tokens_k * g.heads_kv * (g.dk + g.dv) * static_cast<index_t>(sizeof(In));
  span s{};
  s.operation = "attention.forward";
  s.shape[0] = g.tokens_q, s.shape[1] = g.tokens_k, s.shape[2] = g.heads_q, s.shape[3] = g.dk;
  s.bytes = q_bytes + kv_bytes;
  s.flops = 2 * g.heads_q * (g.dk + g.dv) * g.tokens_q * (g.tokens_k / g.sequences);
  return s;
}

}  // namespace detail

struct forward_fn {
  /// Attends: out = softmax(mask(cap(scale * q k^T))) v for every sequence and head, and the log-sum-exp of its scores.
  ///
  /// Shapes: q [tokens_q, Hq, dk], k [tokens_k, Hkv, dk], v [tokens_k, Hkv, dv], out [tokens_q, Hq, dv],
  /// lse [Hq, tokens_q]; strides are free except that columns lie side by side; v may alias k. Query head h reads
  /// key head h / (Hq / Hkv).
  /// Types: one input type for q, k, v; scores, sums and lse are double for double, else float; out is rounded once.
  /// Pre: Hq is a multiple of Hkv; outputs overlap nothing. Post: every element of out and lse is written; rows without
  /// a visible key and slack rows are 0 and -inf. What lies behind the mask is never multiplied.
  /// Errors: contract_error for shapes at the call, for `cu_q`, `cu_k` and offsets when the work runs.
  /// Complexity: 2 (dk + dv) flops per head and visible pair; blocks that the mask hides are skipped; the scores are
  /// never stored whole. Sync: submits; reads the lists of options as part of the work.
  /// Determinism: same bits for any thread count, instruction set and cut into sequences of one length or by lists.
  /// Memory: scratch per worker, independent of the number of keys.
  /// Numerics: scores are chains over dk of scaled queries; keys come in blocks of 128 from the start of the sequence,
  /// each block a chain, blocks joined in ascending order by the softmax monoid.
  /// Source: arXiv 2205.14135, algorithm 1; arXiv 2307.08691.
  template <executor Executor, any_view Q, any_view K, any_view V, writable_view Out, writable_view Lse,
            mask Mask = causal>
    requires(Q::rank() == 3 && K::rank() == 3 && V::rank() == 3 && Out::rank() == 3 && Lse::rank() == 2)
  HEDDLE_FN void operator()(Executor& exec, Q const& q, K const& k, V const& v, Out const& out, Lse const& lse,
                            options<Mask> const& o = {}) const {
    using in = typename Q::value_type;
    using number = accumulator_t<in>;
    static_assert(std::is_same_v<in, typename K::value_type> && std::is_same_v<in, typename V::value_type>,
                  "q, k and v have one element type");
    static_assert(std::is_same_v<typename Lse::value_type, number>, "lse is float, or double for double inputs");
    auto const rules = detail::make_setup(q, k, v, o);
    detail::geometry const& g = rules.sizes;
    detail::expect_output(out, g.tokens_q, g.heads_q, g.dv, "out");
    detail::expect_numbers(lse, g, "lse");
    observed_span<Executor> const scope(exec,
                                        [&] { return detail::forward_span<in, typename Out::value_type>(rules); });
    detail::forward_work<in, typename Out::value_type, number, std::remove_cv_t<Mask>> const work(
        {rules, detail::rows_of(canonical_input(q)), detail::rows_of(canonical_input(k)),
         detail::rows_of(canonical_input(v)), detail::rows_of(out), detail::numbers_of(lse)},
        o.mask);
    static_assert(queueable_task<decltype(work)>, "this mask is too large to be queued");
    detail::submit_list_check(exec, g);
    run_kernel<forward_fn>(exec, work);
  }

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
};

/// Attention, forward. See forward_fn.
inline constexpr forward_fn forward{};

}  // namespace attention
}  // namespace heddle
