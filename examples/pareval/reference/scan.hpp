// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../values.hpp"

namespace pareval::plain {

template <class T>
values<T> prefix_sum(values<T> x) {
  for (index_t i = 1; i < x.size(); ++i) x[i] += x[i - 1];
  return x;
}

inline values<float> prefix_minimum(values<float> x) {
  for (index_t i = 1; i < x.size(); ++i)
    if (x[i - 1] < x[i]) x[i] = x[i - 1];
  return x;
}

inline double sum_of_prefix_sums(values<double> const& x) {
  double sum = 0;
  for (double v : prefix_sum(x)) sum += v;
  return sum;
}

inline values<int> reverse_prefix_sum(values<int> x) {
  std::reverse(x.begin(), x.end());
  return prefix_sum(x);
}

// The best run that ends at an element is the element, with the best run that ends before it where that is positive.
inline index_t largest_contiguous_sum(values<int> const& x) {
  index_t ending = x[0], best = x[0];
  for (index_t i = 1; i < x.size(); ++i) {
    ending = x[i] + (ending > 0 ? ending : 0);
    if (ending > best) best = ending;
  }
  return best;
}

}  // namespace pareval::plain
