// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/attention/detail/gradient.hpp>
#include <heddle/core/overlap.hpp>
#include <heddle/exec/executor.hpp>

namespace heddle {
namespace attention {

namespace detail {

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
  s.flops = g.heads_q * (8 * g.dk + 6 * g.dv) * g.tokens_q * g.share_k();
  return s;
}

}  // namespace detail

struct backward_fn {
  /// Gradients of attention. Overwrites dq, dk, dv, and dsinks where it is given.
  ///
  /// Shapes: as in forward; dout like out, dq, dk, dv like q, k, v, dlse like lse, dsinks one number per query head.
  /// `out` and `lse` are what forward wrote for the same operands and options; `dlse`, where given, is the gradient of
  /// the log-sum-exp. Calls are (..., dout, [dlse,] dq, dk, dv, [dsinks,] options).
  /// Types: as in forward; dq, dk, dv have the inputs' type and are rounded once; dsinks that of lse.
  /// Pre: outputs overlap nothing (refused where a few comparisons tell); dsinks is given only with `sinks`. Post:
  /// every element of the gradients is written; rows without a visible pair and slack rows are 0, whatever dout and
  /// dlse hold there. With a sink, a row without a visible key has the sink's weight: dsinks takes its <dout, out> -
  /// dlse as that of any row, so a NaN there is seen. Errors: as in forward. Complexity: 8 dk + 6 dv flops per head and
  /// visible pair (7 products): scores are made twice. Sync: submits. Determinism: as in forward: one pass owns keys,
  /// one owns queries, nothing is added atomically. Memory: two numbers per head and query token (four where dlse
  /// leaves out sinks), and scratch per worker. Numerics: dk and dv sum query heads of a group ascending, inside a head
  /// blocks of 128 queries ascending; dq sums blocks of 128 keys ascending; dsinks blocks of 128 queries ascending;
  /// each block is a chain. Biases get none. Source: arXiv 2205.14135, appendix B.4, with the gradient of the
  /// log-sum-exp folded into delta.
  template <executor Executor, any_view Q, any_view K, any_view V, any_view Out, any_view Lse, any_view DOut,
            writable_view DQ, writable_view DK, writable_view DV, mask Mask = causal, bias Bias = no_bias>
    requires(DQ::rank() == 3 && DV::rank() == 3)
  HEDDLE_FN void operator()(Executor& exec, Q const& q, K const& k, V const& v, Out const& out, Lse const& lse,
                            DOut const& dout, DQ const& dq, DK const& dk, DV const& dv,
                            options<Mask, Bias> const& o = {}) const {
    submit(exec, q, k, v, out, lse, dout, none<Q>(), dq, dk, dv, none<Q>(), o);
  }
  template <executor Executor, any_view Q, any_view K, any_view V, any_view Out, any_view Lse, any_view DOut,
            any_view DLse, writable_view DQ, writable_view DK, writable_view DV, mask Mask = causal,
            bias Bias = no_bias>
    requires(DLse::rank() == 2 && DV::rank() == 3)
  HEDDLE_FN void operator()(Executor& exec, Q const& q, K const& k, V const& v, Out const& out, Lse const& lse,
                            DOut const& dout, DLse const& dlse, DQ const& dq, DK const& dk, DV const& dv,
                            options<Mask, Bias> const& o = {}) const {
    expect_dlse(dlse, lse);
    submit(exec, q, k, v, out, lse, dout, dlse, dq, dk, dv, none<Q>(), o);
  }
  template <executor Executor, any_view Q, any_view K, any_view V, any_view Out, any_view Lse, any_view DOut,
            writable_view DQ, writable_view DK, writable_view DV, writable_view DSinks, mask Mask = causal,
            bias Bias = no_bias>
    requires(DQ::rank() == 3 && DSinks::rank() == 1)
  HEDDLE_FN void operator()(Executor& exec, Q const& q, K const& k, V const& v, Out const& out, Lse const& lse,
                            DOut const& dout, DQ const& dq, DK const& dk, DV const& dv, DSinks const& dsinks,
                            options<Mask, Bias> const& o) const {
    submit(exec, q, k, v, out, lse, dout, none<Q>(), dq, dk, dv, dsinks, o);
  }
  template <executor Executor, any_view Q, any_view K, any_view V, any_view Out, any_view Lse, any_view DOut,
            any_view DLse, writable_view DQ, writable_view DK, writable_view DV, writable_view DSinks,
            mask Mask = causal, bias Bias = no_bias>
    requires(DLse::rank() == 2 && DSinks::rank() == 1)
  HEDDLE_FN void operator()(Executor& exec, Q const& q, K const& k, V const& v, Out const& out, Lse const& lse,
                            DOut const& dout, DLse const& dlse, DQ const& dq, DK const& dk, DV const& dv,
                            DSinks const& dsinks, options<Mask, Bias> const& o) const {
    expect_dlse(dlse, lse);
    submit(exec, q, k, v, out, lse, dout, dlse, dq, dk, dv, dsinks, o);
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
    exec.for_each_tile(g.tokens_k * g.heads_kv, [work, dk = to.dk, dv = to.dv, sums](index_t tile, int worker) {
      detail::geometry const& sizes = work.rules.sizes;
      number* const sum = sums + worker * 2 * (sizes.dk + sizes.dv);
      index_t const key = tile / sizes.heads_kv, head = tile % sizes.heads_kv;
      detail::key_row(work, key, head, sum, sum + sizes.dk + sizes.dv);
      for (index_t d = 0; d < sizes.dk; ++d) dk.row(key, head)[d] = static_cast<element>(sum[d] + number(0));
      for (index_t d = 0; d < sizes.dv; ++d) dv.row(key, head)[d] = static_cast<element>(sum[sizes.dk + d] + number(0));
    });
    exec.for_each_tile(g.tokens_q * g.heads_q, [work, dq = to.dq, sums](index_t tile, int worker) {
      detail::geometry const& sizes = work.rules.sizes;
      number* const sum = sums + worker * 2 * (sizes.dk + sizes.dv);
      index_t const query = tile / sizes.heads_q, head = tile % sizes.heads_q;
      detail::query_row(work, query, head, sum, sum + sizes.dk);
      for (index_t d = 0; d < sizes.dk; ++d)
        dq.row(query, head)[d] = static_cast<element>(heddle::mul(work.rules.rule.scale, sum[d]) + number(0));
    });
  }

 private:
  template <class Q>
  HEDDLE_FN static auto none() {
    return view<accumulator_t<typename Q::value_type>, 2, typename Q::space>();
  }
  template <class DLse, class Lse>
  HEDDLE_FN static void expect_dlse(DLse const& dlse, Lse const& lse) {
    HEDDLE_EXPECTS(dlse.extent(0) == lse.extent(0) && dlse.extent(1) == lse.extent(1), "dlse has the shape of lse",
                   dlse.extent(0), dlse.extent(1));
  }

  template <class Executor, class Q, class K, class V, class Out, class Lse, class DOut, class DLse, class DQ, class DK,
            class DV, class DSinks, class Mask, class Bias>
  HEDDLE_FN static void submit(Executor& exec, Q const& q, K const& k, V const& v, Out const& out, Lse const& lse,
                               DOut const& dout, DLse const& dlse, DQ const& dq, DK const& dk, DV const& dv,
                               DSinks const& dsinks, options<Mask, Bias> const& o) {
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
    detail::expect_numbers(lse, g.tokens_q, g.heads_q, "lse");
    auto const expect_own = [&](auto const& to, auto const&... others) {
      expect_apart("attention.backward", to, q, k, v, out, lse, dout, dlse, others...);
    };
    expect_own(dq, dk, dv, dsinks);
    expect_own(dk, dv, dsinks);
    expect_own(dv, dsinks);
    if constexpr (DSinks::rank() == 1) expect_own(dsinks);
    observed_span<Executor> const scope(exec, [&] { return detail::backward_span<in>(rules); });
    detail::submit_list_check(exec, rules, o.mask);
    scratch_frame frame(exec);
    bool const apart = rules.sinks.given() && !o.sinks_in_lse && dlse.size() != 0;
    index_t const size = detail::row_numbers<number>::planes(apart) * g.heads_q * g.tokens_q;
    detail::row_numbers<number> const numbers{frame.template take<number>(size), apart};
    using numbers_work = detail::row_numbers_work<in, typename Out::value_type, number>;
    exec.for_each_tile(
        (g.tokens_q + numbers_work::queries - 1) / numbers_work::queries,
        numbers_work{g, rules.sinks, detail::rows_of(canonical_input(out)), detail::rows_of(canonical_input(dout)),
                     detail::numbers_of(canonical_input(lse)), detail::numbers_of(canonical_input(dlse)), numbers});
    if constexpr (DSinks::rank() == 1) submit_sinks(exec, rules, numbers, dsinks);
    detail::backward_work<in, number, std::remove_cv_t<Mask>, std::remove_cv_t<Bias>> const work(
        {rules, detail::rows_of(canonical_input(q)), detail::rows_of(canonical_input(k)),
         detail::rows_of(canonical_input(v)), detail::rows_of(canonical_input(dout)), numbers},
        o.mask, o.bias);
    run_kernel<backward_fn>(exec, work,
                            detail::gradients<in>{detail::rows_of(dq), detail::rows_of(dk), detail::rows_of(dv)});
  }

  template <class Executor, class T, class DSinks>
  HEDDLE_FN static void submit_sinks(Executor& exec, detail::setup<T> const& rules,
                                     detail::row_numbers<T> const& numbers, DSinks const& dsinks) {
    static_assert(std::is_same_v<typename DSinks::value_type, T>, "dsinks is float, or double for double inputs");
    HEDDLE_EXPECTS(rules.sinks.given() && dsinks.size() == rules.sizes.heads_q,
                   "dsinks holds one number per query head, and options.sinks the logits", dsinks.size(),
                   rules.sinks.logits.size(), rules.sizes.heads_q);
    HEDDLE_EXPECTS(dsinks.has_distinct_elements(), "no element of an output may stand twice", dsinks.stride(0));
    exec.for_each_tile(rules.sizes.heads_q,
                       [rules, numbers, to = dsinks.data(), step = dsinks.stride(0)](index_t head, int) {
                         to[head * step] = detail::sink_gradient(rules, numbers, head);
                       });
  }
};

/// Attention, backward. See backward_fn.
inline constexpr backward_fn backward{};

}  // namespace attention
}  // namespace heddle
