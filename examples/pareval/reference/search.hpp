// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../types.hpp"
#include "../values.hpp"

/// @file
/// Positions are -1 where nothing is found.

namespace pareval::plain {

inline index_t last_short_book(values<book> const& books) {
  for (index_t i = books.size(); i-- > 0;)
    if (books[i].pages < 100) return i;
  return -1;
}

inline bool contains(values<int> const& x, int value) {
  for (int v : x)
    if (v == value) return true;
  return false;
}

inline index_t closest_to_pi(values<double> const& x) {
  index_t best = -1;
  for (index_t i = 0; i < x.size(); ++i)
    if (best < 0 || std::abs(x[i] - M_PI) < std::abs(x[best] - M_PI)) best = i;
  return best;
}

inline index_t first_even(values<int> const& x) {
  for (index_t i = 0; i < x.size(); ++i)
    if (x[i] % 2 == 0) return i;
  return -1;
}

inline bool xor_contains(values<int> const& x, values<int> const& y, int value) {
  return contains(x, value) != contains(y, value);
}

}  // namespace pareval::plain
