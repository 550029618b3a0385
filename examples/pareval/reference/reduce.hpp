// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../values.hpp"

#include <limits>

namespace pareval::plain {

inline bool logical_xor(values<bool> const& x) {
  bool odd = false;
  for (bool v : x) odd = v ? !odd : odd;
  return odd;
}

inline double product_of_inverses(values<double> const& x) {
  double p = 1;
  for (index_t i = 0; i < x.size(); ++i) p = i % 2 != 0 ? p / x[i] : p * x[i];
  return p;
}

inline double average(values<double> const& x) {
  double sum = 0;
  for (double v : x) sum += v;
  return sum / static_cast<double>(x.size());
}

inline int smallest_odd(values<int> const& x) {
  int least = std::numeric_limits<int>::max();
  for (int v : x)
    if (v % 2 != 0 && v < least) least = v;
  return least;
}

inline double sum_of_minimums(values<double> const& x, values<double> const& y) {
  double sum = 0;
  for (index_t i = 0; i < x.size(); ++i) sum += x[i] < y[i] ? x[i] : y[i];
  return sum;
}

}  // namespace pareval::plain
