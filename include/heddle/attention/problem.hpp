// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/attention/options.hpp>
#include <heddle/core/arith.hpp>
#include <heddle/core/scalar.hpp>

#include <limits>

namespace heddle::attention {

namespace detail {

/// Rows [token, head, column] with unit stride along the column: a view without its extents, small enough to queue.
template <class T>
struct head_rows {
  T* data;
  index_t token_stride;
  index_t head_stride;

  HEDDLE_TILE T* row(index_t token, index_t head) const noexcept {
    return data + token * token_stride + head * head_stride;
  }
};

template <any_view V>
HEDDLE_FN auto rows_of(V const& v) {
  return head_rows<typename V::element_type>{v.data(), v.stride(0), v.stride(1)};
}
/// One number per head and token, laid out [head, token].
template <any_view V>
HEDDLE_FN auto numbers_of(V const& v) {
  return head_rows<typename V::element_type>{v.data(), v.stride(1), v.stride(0)};
}

/// One sequence: where its queries and keys lie, and the position of query 0 in key coordinates.
struct segment {
  index_t q_begin, q_length, k_begin, k_length, offset;
};

/// The sizes of a problem and how its tokens are cut into sequences.
struct geometry {
  index_t tokens_q, tokens_k, heads_q, heads_kv, dk, dv, sequences;
  integer_list cu_q, cu_k, offsets;
  setting<index_t> offset;

  HEDDLE_TILE index_t group() const noexcept { return heads_q / heads_kv; }

  /// Reads the lists, so only work may call it. Errors: contract_error where the lists fall or leave the tokens.
  HEDDLE_FN segment at(index_t s) const {
    segment g;
    bounds(cu_q, tokens_q, s, g.q_begin, g.q_length);
    bounds(cu_k, tokens_k, s, g.k_begin, g.k_length);
    g.offset = offsets.size() ? offsets[s] : offset.value_or(g.k_length - g.q_length);
    HEDDLE_EXPECTS(g.offset > -no_bound / 4 && g.offset < no_bound / 4, "a query offset lies within 2^60", s, g.offset);
    return g;
  }
  /// The first token that no sequence owns.
  HEDDLE_FN index_t end_q() const { return cu_q.size() ? cu_q[sequences] : tokens_q; }
  HEDDLE_FN index_t end_k() const { return cu_k.size() ? cu_k[sequences] : tokens_k; }

 private:
  HEDDLE_FN void bounds(integer_list const& cu, index_t tokens, index_t s, index_t& begin, index_t& length) const {
    if (cu.size() == 0) {
      length = tokens / sequences;
      begin = s * length;
      return;
    }
    begin = cu[s];
    length = cu[s + 1] - begin;
    HEDDLE_EXPECTS(s > 0 || begin == 0, "the first sequence starts at token 0", begin);
    HEDDLE_EXPECTS(begin >= 0 && length >= 0, "cu_seqlens must not fall", s, begin, cu[s + 1]);
    HEDDLE_EXPECTS(begin + length <= tokens, "cu_seqlens must stay inside the tokens", s, begin + length, tokens);
  }
};

/// Submits the check of the lists, so that no operand is read where they are wrong.
template <class Executor>
HEDDLE_FN void submit_list_check(Executor& exec, geometry const& g) {
  if (g.cu_q.size() == 0 && g.offsets.size() == 0) return;
  exec.for_each_tile(1, [g](index_t, int) {
    for (index_t s = 0; s < g.sequences; ++s) g.at(s);
  });
}

/// The sequence of one query token or, with Keys, of one key token; false in slack rows.
template <bool Keys>
HEDDLE_FN bool find_segment(geometry const& g, index_t token, segment& found) {
  for (index_t s = 0; s < g.sequences; ++s) {
    found = g.at(s);
    if (token < (Keys ? found.k_begin + found.k_length : found.q_begin + found.q_length)) return true;
  }
  return false;
}

/// The part of a block that lies in [0, length).
HEDDLE_TILE block clamp(block b, index_t length) noexcept {
  return {b.begin < 0 ? 0 : b.begin, b.end > length ? length : b.end};
}

/// How a score is made from a dot product.
template <class T>
struct score_rule {
  T scale;
  T cap;  ///< 0 for none
};

/// A problem without its operands and its mask. T is the accumulator.
template <class T>
struct setup {
  geometry sizes;
  score_rule<T> rule;
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
HEDDLE_FN void expect_numbers(V const& v, geometry const& g, char const* name) {
  HEDDLE_EXPECTS(v.extent(0) == g.heads_q && v.extent(1) == g.tokens_q, "one number per query head and token", name,
                 v.extent(0), v.extent(1), "instead of", g.heads_q, g.tokens_q);
}

HEDDLE_FN void check_sequences(geometry const& g) {
  HEDDLE_EXPECTS(g.sequences >= 1, "there is at least one sequence", g.sequences);
  HEDDLE_EXPECTS((g.cu_q.size() == 0) == (g.cu_k.size() == 0), "cu_q and cu_k are given together", g.cu_q.size(),
                 g.cu_k.size());
  HEDDLE_EXPECTS(g.cu_q.size() == g.cu_k.size(), "cu_q and cu_k have one length", g.cu_q.size(), g.cu_k.size());
  HEDDLE_EXPECTS(g.cu_q.size() != 1, "cu_seqlens holds sequences + 1 numbers", g.cu_q.size());
  if (g.cu_q.size() == 0)
    HEDDLE_EXPECTS(g.tokens_q % g.sequences == 0 && g.tokens_k % g.sequences == 0,
                   "tokens must divide into sequences of equal length", g.tokens_q, g.tokens_k, g.sequences);
  HEDDLE_EXPECTS(g.offsets.size() == 0 || g.offsets.size() == g.sequences, "one query offset per sequence",
                 g.offsets.size(), g.sequences);
  HEDDLE_EXPECTS(g.offsets.size() == 0 || !g.offset.given(), "query_offset or query_offsets, not both");
}

/// Checks everything that is known at submission and gathers it.
template <any_view Q, any_view K, any_view V, class Mask>
HEDDLE_FN auto make_setup(Q const& q, K const& k, V const& v, options<Mask> const& o) {
  using number = accumulator_t<typename Q::value_type>;
  geometry g{q.extent(0), k.extent(0), q.extent(1), k.extent(1), q.extent(2), v.extent(2),
             o.cu_q.size() > 1 ? o.cu_q.size() - 1 : o.sequences, o.cu_q, o.cu_k, o.query_offsets, o.query_offset};
  HEDDLE_EXPECTS(g.dk >= 1, "a head has at least one column", g.dk);
  expect_unit_columns(q, "q");
  expect_shape(k, g.tokens_k, g.heads_kv, g.dk, "k");
  expect_shape(v, g.tokens_k, g.heads_kv, g.dv, "v");
  HEDDLE_EXPECTS(g.heads_kv >= 1 && g.heads_q % g.heads_kv == 0, "query heads must be a multiple of key heads",
                 g.heads_q, g.heads_kv);
  HEDDLE_EXPECTS(o.cu_q.size() == 0 || o.sequences == 1 || o.sequences == g.sequences,
                 "sequences and cu_q must agree", o.sequences, g.sequences);
  check_sequences(g);
  double const scale = o.scale.given() ? o.scale.value_or(0) : 1 / heddle::sqrt(static_cast<double>(g.dk));
  // What counts is what the scores are computed with: 1e300 is no float, and 1e-60 is none but 0.
  number const number_scale = static_cast<number>(scale);
  HEDDLE_EXPECTS(is_finite(number_scale), "the scale must be finite in the type of the scores", scale);
  double const cap = o.softcap.value_or(0);
  number const number_cap = static_cast<number>(cap);
  HEDDLE_EXPECTS(!o.softcap.given() || (number_cap > 0 && is_finite(number_cap)),
                 "a soft cap must be positive and finite in the type of the scores", cap);
  return setup<number>{g, {number_scale, number_cap}};
}

}  // namespace detail
}  // namespace heddle::attention
