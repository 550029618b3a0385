// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/attention/forward.hpp>

namespace heddle {
namespace attention {

/// decode cuts the keys of a sequence into parts of this many, whatever the executor: part of the definition of its
/// bits.
inline constexpr index_t keys_per_split = 1024;

namespace detail {

/// One part of the keys of one sequence, and the place of its results.
struct key_split {
  segment seg;
  block part;
  index_t slot;
};

/// Parts of sequence s have the slots from here on.
HEDDLE_TILE index_t first_slot(segment const& s) noexcept { return first_slot(s.number, s.k_begin, keys_per_split); }
HEDDLE_TILE index_t splits_of(segment const& s) noexcept { return (s.k_length + keys_per_split - 1) / keys_per_split; }
/// Enough slots for any cut of the keys into sequences.
HEDDLE_TILE index_t slots_of(geometry const& g) noexcept { return slots_for(g, g.tokens_k, keys_per_split); }

/// The part that a slot holds; false where it holds none.
HEDDLE_FN bool find_split(geometry const& g, index_t slot, key_split& found) {
  index_t n = 0;
  segment const seg = slot_owner(g, slot, keys_per_split, n, [&](index_t s) { return g.begin_k(s); });
  found = {seg, {n * keys_per_split, (n + 1) * keys_per_split}, slot};
  return n < splits_of(seg);
}

/// Joins the parts of one row in ascending order, and ends the row.
template <class Work>
HEDDLE_FN void join_splits(Work const& w, index_t token, index_t head) {
  using T = typename Work::number;
  using monoid = softmax_monoid<T>;
  geometry const& g = w.rules.sizes;
  segment seg;
  if (!find_segment<false>(g, token, seg)) return;
  index_t const query = token - seg.q_begin, first = first_slot(seg), count = splits_of(seg);
  // Sequences without keys own one slot that no part uses.
  T* const into = partial_row(w.partial, g, first, seg.q_length, query, head);
  softmax_row<T> state{into[0], into[1], into + 2, g.dv};
  if (count == 0) monoid::identity(state);
  for (index_t n = 1; n < count; ++n) {
    T* const from = partial_row(w.partial, g, first + n, seg.q_length, query, head);
    monoid::combine(state, softmax_row<T>{from[0], from[1], from + 2, g.dv});
  }
  w.write(token, head, state);
}

}  // namespace detail

/// Attention of few queries over many keys, whose cost is reading K and V: the keys are cut into parts of 1024, each
/// part is attended to on its own, and the results are joined in ascending order.
///
/// Shapes, types, options, Pre, Post and Errors: those of forward, for views or a paged cache; queries are cut
/// equally into the sequences (no cu_q).
/// Complexity: as forward; every row of K and V that some query sees is read once per 64 rows of queries and heads.
/// Sync: submits.
/// Determinism: same bits for any thread count and instruction set; they are forward's where a sequence has at most
/// 1024 keys. The cut depends on lengths alone.
/// Memory: scratch of dv + 2 numbers for each query, head and part.
struct decode_fn : detail::forward_calls<decode_fn> {
  static constexpr char const* name = "attention.decode";

  /// Plain loops: the states of all parts, one row at a time.
  template <class Executor, class Work>
  HEDDLE_FN static void generic(Executor& exec, Work const& work) {
    detail::geometry const& g = work.rules.sizes;
    exec.for_each_tile(detail::slots_of(g) * g.heads_q, [work](index_t tile, int) {
      using number = typename Work::number;
      detail::geometry const& sizes = work.rules.sizes;
      index_t const head = tile % sizes.heads_q;
      detail::key_split split;
      if (!detail::find_split(sizes, tile / sizes.heads_q, split)) return;
      for (index_t i = 0; i < split.seg.q_length; ++i) {
        number* const to = detail::partial_row(work.partial, sizes, split.slot, split.seg.q_length, i, head);
        softmax_row<number> state{number(0), number(0), to + 2, sizes.dv};
        softmax_monoid<number>::identity(state);
        work.keys(split.seg, split.seg.q_begin + i, head, split.part, state);
        to[0] = state.max;
        to[1] = state.sum;
      }
    });
  }

  template <class Executor, class Work>
  HEDDLE_FN static void submit(Executor& exec, Work work) {
    detail::geometry const& g = work.rules.sizes;
    HEDDLE_EXPECTS(g.cu_q.size() == 0, "decode cuts queries equally: use forward with cu_q", g.cu_q.size());
    observed_span<Executor> const scope(
        exec, [&] { return detail::forward_span<typename Work::input, typename Work::output>(name, work.rules); });
    detail::submit_list_check(exec, work.rules, work.mask);
    scratch_frame frame(exec);
    index_t const rows = detail::slots_of(g) * g.share_q() * g.heads_q;
    work.partial = frame.template take<typename Work::number>(rows * (g.dv + 2));
    run_kernel<decode_fn>(exec, work);
    exec.for_each_tile(g.tokens_q * g.heads_q, [work](index_t tile, int) {
      index_t const heads = work.rules.sizes.heads_q;
      detail::join_splits(work, tile / heads, tile % heads);
    });
  }
};

/// Attention of few queries over many keys. See decode_fn.
inline constexpr decode_fn decode{};

}  // namespace attention
}  // namespace heddle
