// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/attention/detail/score.hpp>
#include <heddle/attention/softmax_monoid.hpp>
#include <heddle/tile/targets.hpp>

/// @file
/// Gradients of attention row by row, in plain loops: the definition of their order of operations.

namespace heddle::attention {

/// In the gradients of K and V queries are taken in blocks of this many, counted from the start of their sequence.
inline constexpr index_t queries_per_block = 128;

namespace detail {

/// What the backward pass knows of each row, one plane of [head, token] after the other. The last two are there only
/// where sinks have a part in the softmax but none in the log-sum-exp whose gradient is given.
enum class row_number { lse, delta, keys_lse, dlse };

template <class T>
struct row_numbers {
  T* data;
  bool apart;  ///< whether keys_lse and dlse are there

  HEDDLE_FN static constexpr index_t planes(bool apart) noexcept { return apart ? 4 : 2; }
  HEDDLE_TILE T& at(row_number n, geometry const& g, index_t token, index_t head) const noexcept {
    return data[(static_cast<index_t>(n) * g.heads_q + head) * g.tokens_q + token];
  }
};

/// What one visible pair contributes: its weight after dropout, and the gradient of its score before the cap.
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
  row_numbers<T> numbers;

  /// Pre: the pair is visible and the query's lse is not -inf. i and j count in their sequence.
  HEDDLE_FN pair_gradient<T> pair(segment const& seg, index_t i, index_t head, index_t j, T const* added) const {
    geometry const& g = rules.sizes;
    index_t const kv_head = head / g.group(), query = seg.q_begin + i, key = seg.k_begin + j;
    T slope = T(1);
    T s = detail::score(rules.rule, g.dk, q.row(query, head), k.row(key, kv_head), &slope);
    if (added) s += *added;
    T weight = score_weight(s - of(row_number::lse, query, head));
    T dp = dot<T>(g.dv, dout.row(query, head), v.row(key, kv_head));
    T factor = T(1);
    if (rules.drop.active()) {
      factor = rules.drop.factor(rules.drop.row(seg.number, head, i) + static_cast<std::uint64_t>(j));
      dp = heddle::mul(dp, factor);
    }
    T ds = heddle::mul(weight, dp - of(row_number::delta, query, head));
    if (numbers.apart)
      ds += heddle::mul(score_weight(s - of(row_number::keys_lse, query, head)), of(row_number::dlse, query, head));
    if (rules.drop.active()) weight = heddle::mul(weight, factor);
    return {weight, heddle::mul(ds, slope)};
  }
  HEDDLE_FN T of(row_number n, index_t query, index_t head) const { return numbers.at(n, rules.sizes, query, head); }
  HEDDLE_FN bool empty_row(index_t query, index_t head) const {
    return of(row_number::lse, query, head) == softmax_monoid<T>::lowest;
  }
};

template <class In, class T, class Mask, class Bias>
struct backward_work : backward_operands<In, T> {
  using operands = backward_operands<In, T>;
  static constexpr bool biased = has_bias<Bias>;
  [[no_unique_address]] Mask mask;
  [[no_unique_address]] Bias bias;

  HEDDLE_FN backward_work(operands const& o, Mask const& m, Bias const& b) : operands(o), mask(m), bias(b) {}

  /// False where the pair contributes nothing. `seen` is the mask of its sequence and key head.
  template <class Seen>
  HEDDLE_FN bool grade(Seen const& seen, segment const& seg, index_t i, index_t head, index_t j,
                       pair_gradient<T>& pair) const {
    if (!seen.visible(i + seg.offset, j) || this->empty_row(seg.q_begin + i, head)) return false;
    T const added = bias_of<T>(bias, head, i + seg.offset, j);
    if (added == softmax_monoid<T>::lowest) return false;
    pair = this->pair(seg, i, head, j, has_bias<Bias> ? &added : nullptr);
    return true;
  }
};

/// One row of dK and dV: query heads of the group ascending, then blocks of queries ascending.
/// `sum` and `part` have room for dk + dv numbers each.
template <class Work, class T>
HEDDLE_FN void key_row(Work const& w, index_t key, index_t kv_head, T* sum, T* part) {
  geometry const& g = w.rules.sizes;
  for (index_t d = 0; d < g.dk + g.dv; ++d) sum[d] = T(0);
  segment seg;
  if (!find_segment<true>(g, key, seg)) return;
  auto const seen = mask_at(w.mask, place_of(g, seg, kv_head));
  pair_gradient<T> pair;
  for (index_t head = kv_head * g.group(); head < (kv_head + 1) * g.group(); ++head)
    for (index_t first = 0; first < seg.q_length; first += queries_per_block) {
      for (index_t d = 0; d < g.dk + g.dv; ++d) part[d] = T(0);
      for (index_t i = first; i < first + queries_per_block && i < seg.q_length; ++i) {
        index_t const query = seg.q_begin + i;
        if (!w.grade(seen, seg, i, head, key - seg.k_begin, pair)) continue;
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
  index_t const i = query - seg.q_begin, at = i + seg.offset;
  auto const seen = mask_at(w.mask, place_of(g, seg, head / g.group()));
  pair_gradient<T> pair;
  block const keys = clamp(seen.kv_range({at, at + 1}), seg.k_length);
  for (index_t first = keys.begin / keys_per_block * keys_per_block; first < keys.end; first += keys_per_block) {
    for (index_t d = 0; d < g.dk; ++d) part[d] = T(0);
    for (index_t j = first; j < first + keys_per_block && j < seg.k_length; ++j) {
      if (!w.grade(seen, seg, i, head, j, pair)) continue;
      for (index_t d = 0; d < g.dk; ++d)
        part[d] = heddle::fma(pair.score, static_cast<T>(w.k.row(seg.k_begin + j, head / g.group())[d]), part[d]);
    }
    for (index_t d = 0; d < g.dk; ++d) sum[d] += part[d];
  }
}

/// Rows whose products with `out` are summed side by side: each is a chain, and one chain alone waits for itself.
template <class In, class Out, class T>
struct delta_rows {
  static constexpr int most = 8;
  In const* dout[most];
  Out const* out[most];
  T* to[most];
  int count;

  HEDDLE_FN delta_rows() noexcept : dout{}, out{}, to{}, count(0) {}
};
struct delta_body {
  template <class Isa, class In, class Out, class T>
  HEDDLE_SHIM void operator()(Isa, delta_rows<In, Out, T> const& x, index_t const& columns) const {
    constexpr int most = delta_rows<In, Out, T>::most;
    sum(std::make_integer_sequence<int, most>{}, x, columns);
  }

 private:
  template <class In, class Out, class T, int... R>
  static HEDDLE_SHIM void sum(std::integer_sequence<int, R...>, delta_rows<In, Out, T> const& x, index_t columns) {
    // Rows that are not there repeat the first one.
    In const* const dout[] = {x.dout[R < x.count ? R : 0]...};
    Out const* const out[] = {x.out[R < x.count ? R : 0]...};
    T sums[] = {(static_cast<void>(R), T(0))...};
    for (index_t d = 0; d < columns; ++d)
      ((sums[R] = heddle::fma(static_cast<T>(dout[R][d]), static_cast<T>(out[R][d]), sums[R])), ...);
    ((R < x.count ? void(*x.to[R] += sums[R]) : void()), ...);
  }
};

/// The row numbers: the log-sum-exp that weights are relative to, and delta = <dout, out> - dlse of every row that has
/// a weight, 0 elsewhere: what lies there is not read.
template <class In, class Out, class T>
struct row_numbers_work {
  geometry sizes;
  sink_rule sinks;
  head_rows<Out const> out;
  head_rows<In const> dout;
  head_rows<T const> lse, dlse;  ///< dlse may be null
  row_numbers<T> to;

  using rows = delta_rows<In, Out, T>;
  static constexpr index_t queries = rows::most;  ///< of one task

  HEDDLE_FN void operator()(index_t task, int) const {
    index_t const begin = task * queries, end = begin + queries < sizes.tokens_q ? begin + queries : sizes.tokens_q;
    index_t const owned = sizes.end_q();
    for (index_t head = 0; head < sizes.heads_q; ++head) {
      rows together;
      for (index_t query = begin; query < end; ++query) row(query, head, query < owned, together);
      if (together.count > 0) dispatch_isa(delta_body{}, together, sizes.dv);
    }
  }

 private:
  HEDDLE_FN void row(index_t query, index_t head, bool owned, rows& together) const {
    using monoid = softmax_monoid<T>;
    T const keys = *lse.row(query, head);
    T whole = keys;
    if (owned && sinks.given() && !sinks.in_lse) {
      softmax_row<T> both{keys, T(1), nullptr, 0};
      monoid::push_sink(both, static_cast<T>(sinks.logits[head]));
      whole = monoid::log_sum_exp(both);
    }
    bool const empty = !owned || whole == monoid::lowest;
    T* const delta = &to.at(row_number::delta, sizes, query, head);
    *delta = !empty && dlse.data && !to.apart ? -*dlse.row(query, head) : T(0);
    if (!empty) {
      together.dout[together.count] = dout.row(query, head);
      together.out[together.count] = out.row(query, head);
      together.to[together.count++] = delta;
    }
    to.at(row_number::lse, sizes, query, head) = owned ? whole : monoid::lowest;
    if (!to.apart) return;
    bool const none = empty || keys == monoid::lowest;
    to.at(row_number::keys_lse, sizes, query, head) = none ? T(0) : keys;
    to.at(row_number::dlse, sizes, query, head) = none ? T(0) : *dlse.row(query, head);
  }
};

/// The gradient of one head's sink logit: -sum of its weight times delta, sequences and in each blocks of 128 queries
/// ascending, each block a chain.
template <class T>
HEDDLE_FN T sink_gradient(setup<T> const& rules, row_numbers<T> const& numbers, index_t head) {
  geometry const& g = rules.sizes;
  T const logit = static_cast<T>(rules.sinks.logits[head]);
  T sum = T(0);
  for (index_t s = 0; s < g.sequences; ++s) {
    segment const seg = g.at(s);
    for (index_t first = 0; first < seg.q_length; first += queries_per_block) {
      T part = T(0);
      for (index_t i = first; i < first + queries_per_block && i < seg.q_length; ++i) {
        T const lse = numbers.at(row_number::lse, g, seg.q_begin + i, head);
        if (lse == softmax_monoid<T>::lowest) continue;
        part = heddle::fma(score_weight(logit - lse), numbers.at(row_number::delta, g, seg.q_begin + i, head), part);
      }
      sum -= part;
    }
  }
  return sum + T(0);
}

}  // namespace detail
}  // namespace heddle::attention
