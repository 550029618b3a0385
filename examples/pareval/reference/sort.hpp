// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../types.hpp"
#include "../values.hpp"

#include <vector>

/// @file
/// Equal elements keep their order.

namespace pareval::plain {

/// Of any type with members re and im.
template <class Complex>
values<Complex> sort_by_magnitude(values<Complex> x) {
  auto const square = [](Complex const& z) { return z.re * z.re + z.im * z.im; };
  std::stable_sort(x.begin(), x.end(), [=](Complex const& a, Complex const& b) { return square(a) < square(b); });
  return x;
}

/// The first is k = 1.
inline int kth_smallest(values<int> x, index_t k) {
  std::sort(x.begin(), x.end());
  return x[k - 1];
}

inline values<index_t> ranks(values<float> const& x) {
  values<index_t> rank(x.size());
  for (index_t i = 0; i < x.size(); ++i) {
    rank[i] = 0;
    for (index_t j = 0; j < x.size(); ++j) rank[i] += x[j] < x[i] || (x[j] == x[i] && j < i) ? 1 : 0;
  }
  return rank;
}

inline values<result> sort_by_start(values<result> x) {
  std::stable_sort(x.begin(), x.end(), [](result const& a, result const& b) { return a.start < b.start; });
  return x;
}

inline values<int> sort_non_zeros(values<int> x) {
  std::vector<int> rest;
  for (int v : x)
    if (v != 0) rest.push_back(v);
  std::sort(rest.begin(), rest.end());
  std::size_t next = 0;
  for (int& v : x)
    if (v != 0) v = rest[next++];
  return x;
}

}  // namespace pareval::plain
