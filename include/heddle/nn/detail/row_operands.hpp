// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/arith.hpp>
#include <heddle/core/overlap.hpp>

/// @file
/// What operations on rows ask of their operands, in one wording: sizes, and a term that keeps a norm finite.

namespace heddle::nn::detail {

/// Matrices of the extents of x.
template <class X, class... V>
HEDDLE_FN void expect_shape(char const* operation, X const& x, V const&... v) {
  ((HEDDLE_EXPECTS(v.extent(0) == x.extent(0) && v.extent(1) == x.extent(1), "every matrix has the extents of x",
                   operation, v.extent(0), v.extent(1), x.extent(0), x.extent(1))),
   ...);
}
/// Vectors of one element per column of x: weights, biases and their gradients.
template <class X, class... V>
HEDDLE_FN void expect_per_column(char const* operation, X const& x, V const&... v) {
  ((HEDDLE_EXPECTS(v.extent(0) == x.extent(1), "weights, biases and their gradients have one element per column",
                   operation, v.extent(0), x.extent(1))),
   ...);
}
/// Vectors of one element per row of x: statistics.
template <class X, class... V>
HEDDLE_FN void expect_per_row(char const* operation, X const& x, V const&... v) {
  ((HEDDLE_EXPECTS(v.extent(0) == x.extent(0), "statistics have one element per row", operation, v.extent(0),
                   x.extent(0))),
   ...);
}
/// Rows to divide by the number of their elements.
template <class X>
HEDDLE_FN void expect_elements(char const* operation, X const& x) {
  HEDDLE_EXPECTS(x.extent(0) == 0 || x.extent(1) > 0, "a row needs an element", operation, x.extent(1));
}

/// The term under the root of a norm, as the type of its statistics has it.
template <class T>
HEDDLE_FN T norm_epsilon(char const* operation, double epsilon) {
  T const rounded = static_cast<T>(epsilon);
  HEDDLE_EXPECTS(rounded >= T(0) && is_finite(rounded), "epsilon is finite and not negative", operation, epsilon);
  return rounded;
}

}  // namespace heddle::nn::detail
