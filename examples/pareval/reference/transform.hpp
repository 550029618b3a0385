// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../values.hpp"

namespace pareval::plain {

inline values<double> relu(values<double> x) {
  for (double& v : x) v = v > 0 ? v : 0;
  return x;
}

inline values<int> negate_odds(values<int> x) {
  for (int& v : x) v = v % 2 == 0 ? v / 2 : -v;
  return x;
}

inline values<double> inverse_offset(values<double> x) {
  for (double& v : x) v = 1 - 1 / v;
  return x;
}

inline values<int> square(values<int> x) {
  for (int& v : x) v *= v;
  return x;
}

inline bool is_power_of_two(int v) {
  int p = 1;
  while (p < v && p < (1 << 30)) p *= 2;
  return v == p;
}

inline values<bool> map_function(values<int> const& x) {
  values<bool> mask(x.size());
  for (index_t i = 0; i < x.size(); ++i) mask[i] = is_power_of_two(x[i]);
  return mask;
}

}  // namespace pareval::plain
