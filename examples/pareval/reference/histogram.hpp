// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../types.hpp"
#include "../values.hpp"

#include <string_view>

namespace pareval::plain {

template <class T, class Bin>
values<index_t> counts(values<T> const& x, index_t bins, Bin const& bin) {
  values<index_t> count(bins);
  std::fill(count.begin(), count.end(), 0);
  for (T const& v : x) ++count[static_cast<index_t>(bin(v))];
  return count;
}

inline values<index_t> pixel_counts(values<int> const& image) {
  return counts(image, 256, [](int v) { return v; });
}

inline values<index_t> tens_counts(values<double> const& x) {
  return counts(x, 10, [](double v) { return v / 10; });
}

inline values<index_t> quadrant_counts(values<point> const& p) {
  return counts(p, 4, [](point v) {
    if (v.y >= 0) return v.x >= 0 ? 0 : 1;
    return v.x < 0 ? 2 : 3;
  });
}

inline values<index_t> first_letter_counts(values<std::string_view> const& s) {
  return counts(s, 26, [](std::string_view v) { return v[0] - 'a'; });
}

inline values<index_t> quartile_counts(values<double> const& x) {
  return counts(x, 4, [](double v) { return 4 * (v - std::floor(v)); });
}

}  // namespace pareval::plain
