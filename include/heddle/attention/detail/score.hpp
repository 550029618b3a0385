// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/attention/problem.hpp>
#include <heddle/core/math.hpp>
#include <heddle/linalg/pair_dot.hpp>

namespace heddle::attention::detail {

/// The cap of a score. `slope` receives its derivative.
template <class T>
HEDDLE_FN T capped(score_rule<T> const& rule, T s, T* slope = nullptr) {
  if (rule.cap == T(0)) return s;
  T const u = heddle::tanh(s / rule.cap);
  if (slope) *slope = heddle::fma(-u, u, T(1));
  return heddle::mul(rule.cap, u);
}

/// The score of one query and one key: the query is scaled first, then a chain over the columns, then the cap.
/// `slope` receives the derivative of the cap.
template <class T, class Q, class K>
HEDDLE_FN T score(score_rule<T> const& rule, index_t dk, Q const* q, K const* k, T* slope = nullptr) {
  T s = T(0);
  for (index_t d = 0; d < dk; ++d)
    s = heddle::fma(static_cast<T>(k[d]), heddle::mul(rule.scale, static_cast<T>(q[d])), s);
  return capped(rule, s, slope);
}

/// The score of operands that are multiplied in pairs of columns: a chain of `dot_pair`, then the scale, then the cap.
HEDDLE_FN float pair_score(score_rule<float> const& rule, index_t dk, bf16 const* q, bf16 const* k) {
  bf16 const none(0.0f);
  float s = 0;
  for (index_t d = 0; d < dk; d += 2) {
    bool const both = d + 1 < dk;
    s = dot_pair(s, k[d], both ? k[d + 1] : none, q[d], both ? q[d + 1] : none);
  }
  return capped(rule, heddle::mul(s, rule.scale));
}

/// Column d of a block of values, keys 2 i and 2 i + 1 together: a chain of `dot_pair` with weights rounded to bf16.
/// Keys that the block leaves out count as zeros. `rows` ascend; `value(c)` is the c-th one's.
template <class Value>
HEDDLE_FN float pair_sum(index_t n, index_t const* rows, float const* weights, Value const& value) {
  bf16 const none(0.0f);
  float s = 0;
  for (index_t c = 0; c < n;) {
    bool const first = rows[c] % 2 == 0, second = !first || (c + 1 < n && rows[c + 1] == rows[c] + 1);
    index_t const last = c + (first && second ? 1 : 0);
    s = dot_pair(s, first ? value(c) : none, second ? value(last) : none, first ? bf16(weights[c]) : none,
                 second ? bf16(weights[last]) : none);
    c = last + 1;
  }
  return s;
}

/// A chain of products over n columns.
template <class T, class A, class B>
HEDDLE_FN T dot(index_t n, A const* a, B const* b) {
  T s = T(0);
  for (index_t d = 0; d < n; ++d) s = heddle::fma(static_cast<T>(a[d]), static_cast<T>(b[d]), s);
  return s;
}

}  // namespace heddle::attention::detail
