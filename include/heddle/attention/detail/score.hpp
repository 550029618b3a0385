// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/attention/problem.hpp>
#include <heddle/core/math.hpp>

namespace heddle::attention::detail {

/// The score of one query and one key: the query is scaled first, then a chain over the columns, then the cap.
/// `slope` receives the derivative of the cap.
template <class T, class Q, class K>
HEDDLE_FN T score(score_rule<T> const& rule, index_t dk, Q const* q, K const* k, T* slope = nullptr) {
  T s = T(0);
  for (index_t d = 0; d < dk; ++d)
    s = heddle::fma(static_cast<T>(k[d]), heddle::mul(rule.scale, static_cast<T>(q[d])), s);
  if (rule.cap == T(0)) return s;
  T const u = heddle::tanh(s / rule.cap);
  if (slope) *slope = heddle::fma(-u, u, T(1));
  return heddle::mul(rule.cap, u);
}

/// A chain of products over n columns.
template <class T, class A, class B>
HEDDLE_FN T dot(index_t n, A const* a, B const* b) {
  T s = T(0);
  for (index_t d = 0; d < n; ++d) s = heddle::fma(static_cast<T>(a[d]), static_cast<T>(b[d]), s);
  return s;
}

}  // namespace heddle::attention::detail
