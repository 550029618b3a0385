// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// The structs that the problems are stated with.

#include <heddle/core/extents.hpp>

#include <compare>
#include <string_view>

namespace pareval {

/// Ordered from left to right, then upwards.
struct point {
  double x, y;
  friend auto operator<=>(point const&, point const&) = default;
};

struct book {
  std::string_view title;
  int pages;
};

struct result {
  int start, duration;
  float value;
  friend bool operator==(result const&, result const&) = default;
};

/// An entry of a sparse matrix, and of a sparse vector.
struct coordinate {
  heddle::index_t row, column;
  double value;
};
struct element {
  heddle::index_t index;
  double value;
};

}  // namespace pareval
