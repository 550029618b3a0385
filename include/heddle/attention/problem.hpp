// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/attention/detail/geometry.hpp>
#include <heddle/attention/detail/rows.hpp>
#include <heddle/attention/options.hpp>
#include <heddle/core/arith.hpp>
#include <heddle/core/bf16.hpp>
#include <heddle/core/scalar.hpp>

#include <limits>

namespace heddle::attention {

namespace detail {

/// How a score is made from a dot product.
template <class T>
struct score_rule {
  T scale;
  T cap;  ///< 0 for none
};

/// A logit per query head that has no value; an empty list is none.
struct sink_rule {
  number_list logits;
  bool in_lse = true;

  HEDDLE_TILE constexpr sink_rule(number_list const& l, bool counted) noexcept : logits(l), in_lse(counted) {}

  HEDDLE_TILE bool given() const noexcept { return logits.size() != 0; }
};

/// Input types that forward multiplies in pairs (linalg/pair_dot.hpp) unless told otherwise.
template <class In>
inline constexpr bool has_pair_form = std::is_same_v<In, bf16>;

/// A problem without its operands, its mask and its bias. T is the accumulator.
template <class T>
struct setup {
  geometry sizes;
  [[no_unique_address]] sink_rule sinks;
  bool pairs;  ///< whether operands are multiplied in pairs (has_pair_form)
  score_rule<T> rule;
  dropout_rule<T> drop;
};

template <any_view V>
HEDDLE_FN void expect_unit_columns(V const& v, char const* name) {
  HEDDLE_EXPECTS(v.extent(2) <= 1 || v.stride(2) == 1, "columns must lie side by side", name, v.stride(2));
}

template <any_view V>
HEDDLE_FN void expect_shape(V const& v, index_t a, index_t b, index_t c, char const* name) {
  HEDDLE_EXPECTS(v.extent(0) == a && v.extent(1) == b && v.extent(2) == c, "an operand has the wrong shape", name,
                 v.extent(0), v.extent(1), v.extent(2), "instead of", a, b, c);
  expect_unit_columns(v, name);
}

template <any_view V>
HEDDLE_FN void expect_output(V const& v, index_t a, index_t b, index_t c, char const* name) {
  expect_shape(v, a, b, c, name);
  HEDDLE_EXPECTS(v.has_distinct_elements(), "no element of an output may stand twice", name, v.stride(0), v.stride(1));
}

template <any_view V>
HEDDLE_FN void expect_numbers(V const& v, index_t tokens, index_t heads, char const* name) {
  HEDDLE_EXPECTS(v.extent(0) == heads && v.extent(1) == tokens, "one number per query head and token", name,
                 v.extent(0), v.extent(1), "instead of", heads, tokens);
}

HEDDLE_FN void check_sequences(geometry const& g) {
  HEDDLE_EXPECTS(g.sequences >= 0, "the number of sequences is not negative", g.sequences);
  HEDDLE_EXPECTS(g.cu_q.size() == 0 || g.cu_q.size() == g.sequences + 1, "cu_seqlens holds sequences + 1 numbers",
                 g.cu_q.size(), g.sequences);
  HEDDLE_EXPECTS(g.cu_k.size() == 0 || g.cu_k.size() == g.sequences + (g.paged ? 0 : 1),
                 "cu_seqlens holds sequences + 1 numbers, used lengths one per sequence", g.cu_k.size(), g.sequences);
  HEDDLE_EXPECTS(g.paged || g.cu_q.size() == 0 || g.cu_k.size() != 0, "with cu_q, cu_k must be given", g.cu_q.size());
  HEDDLE_EXPECTS(g.cu_q.size() != 0 || g.share_q() * g.sequences == g.tokens_q,
                 "tokens must divide into sequences of equal length", g.tokens_q, g.sequences);
  HEDDLE_EXPECTS(g.cu_k.size() != 0 || g.share_k() * g.sequences == g.tokens_k,
                 "tokens must divide into sequences of equal length", g.tokens_k, g.sequences);
  HEDDLE_EXPECTS(g.offsets.size() == 0 || g.offsets.size() == g.sequences, "one query offset per sequence",
                 g.offsets.size(), g.sequences);
  HEDDLE_EXPECTS(g.offsets.size() == 0 || !g.offset.given(), "query_offset or query_offsets, not both");
}

/// Submits the checks of what only work may read: the lists of sequences, and those of the mask. So no operand is read
/// where they are wrong.
template <class Executor, class T, class Mask>
HEDDLE_FN void submit_list_check(Executor& exec, setup<T> const& rules, Mask const& mask) {
  if (!rules.sizes.has_lists() && !checked_mask<Mask>) return;
  exec.for_each_tile(1, [g = rules.sizes, drop = rules.drop, mask](index_t, int) {
    for (index_t s = 0; s < g.sequences; ++s) {
      segment const seg = g.at(s);
      HEDDLE_EXPECTS(!drop.active() || (seg.q_length <= drop.most_queries() && seg.k_length <= drop.most_keys()),
                     "a sequence must lie inside the extents that dropout numbers: raise dropout.queries and keys", s,
                     seg.q_length, seg.k_length, drop.most_queries(), drop.most_keys());
      for (index_t head = 0; head < g.heads_kv; ++head) check_mask(mask, place_of(g, seg, head));
    }
  });
}

/// Checks the rules of scores, and gathers everything that is known at submission. T is the accumulator.
template <class T, class Mask, class Bias>
HEDDLE_FN setup<T> make_rules(geometry const& g, options<Mask, Bias> const& o) {
  HEDDLE_EXPECTS(g.dk >= 1, "a head has at least one column", g.dk);
  HEDDLE_EXPECTS(g.heads_kv >= 1 && g.heads_q % g.heads_kv == 0, "query heads must be a multiple of key heads",
                 g.heads_q, g.heads_kv);
  check_sequences(g);
  double const scale = o.scale.given() ? o.scale.value_or(0) : 1 / heddle::sqrt(static_cast<double>(g.dk));
  // What counts is what the scores are computed with: 1e300 is no float, and 1e-60 is none but 0.
  T const number_scale = static_cast<T>(scale);
  HEDDLE_EXPECTS(is_finite(number_scale), "the scale must be finite in the type of the scores", scale);
  double const cap = o.softcap.value_or(0);
  T const number_cap = static_cast<T>(cap);
  HEDDLE_EXPECTS(!o.softcap.given() || (number_cap > 0 && is_finite(number_cap)),
                 "a soft cap must be positive and finite in the type of the scores", cap);
  HEDDLE_EXPECTS(o.sinks.size() == 0 || o.sinks.size() == g.heads_q, "one sink logit per query head", o.sinks.size(),
                 g.heads_q);
  check_bias(o.bias, g.heads_q);
  return {g,
          {o.sinks, o.sinks_in_lse},
          false,
          {number_scale, number_cap},
          make_dropout<T>(o.drop, g.heads_q, g.share_q(), g.share_k(),
                          g.cu_q.size() != 0 || g.cu_k.size() != 0, g.sequences)};
}

/// The same for an input type.
template <class In, class Mask, class Bias>
HEDDLE_FN auto make_rules_of(geometry const& g, options<Mask, Bias> const& o) {
  auto rules = make_rules<accumulator_t<In>>(g, o);
  rules.pairs = has_pair_form<In> && !o.strict;
  return rules;
}

/// The number of sequences that the options name: by a list, or by itself.
template <class Mask, class Bias>
HEDDLE_FN index_t sequences_of(options<Mask, Bias> const& o) {
  index_t const listed = o.cu_q.size() ? o.cu_q.size() - 1 : o.cu_k.size() ? o.cu_k.size() - 1 : o.sequences;
  HEDDLE_EXPECTS(o.sequences == 1 || o.sequences == listed, "sequences and cu_q must agree", o.sequences, listed);
  return listed;
}

/// The setup of q against k and v.
template <any_view Q, any_view K, any_view V, class Mask, class Bias>
HEDDLE_FN auto make_setup(Q const& q, K const& k, V const& v, options<Mask, Bias> const& o) {
  geometry const g{q.extent(0),     k.extent(0), q.extent(1), k.extent(1),     q.extent(2),   v.extent(2),
                   sequences_of(o), o.cu_q,      o.cu_k,      o.query_offsets, o.query_offset};
  expect_unit_columns(q, "q");
  expect_shape(k, g.tokens_k, g.heads_kv, g.dk, "k");
  expect_shape(v, g.tokens_k, g.heads_kv, g.dv, "v");
  return make_rules_of<typename Q::value_type>(g, o);
}

}  // namespace detail
}  // namespace heddle::attention
