// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Histograms: even bins over a range, or the bin that a callable names. What is in no bin can be counted apart.

#include "types.hpp"

#include <heddle/algorithm/histogram.hpp>
#include <heddle/algorithm/views.hpp>

namespace pareval {
using namespace heddle;

/// How many pixels have each value, of 256.
template <executor E>
void pixel_histogram(E& exec, view<int const, 1> image, view<index_t, 1> counts) {
  histogram_by(exec, image, counts);
}

/// How many values lie in [0, 10), [10, 20), ... [90, 100).
template <executor E>
void count_tens(E& exec, view<double const, 1> x, view<index_t, 1> counts) {
  histogram(exec, x, 0.0, 100.0, counts);
}

/// How many points lie in each quadrant, counterclockwise from the one that is positive; axes go with the positive
/// side.
template <executor E>
void count_quadrants(E& exec, view<point const, 1> points, view<index_t, 1> counts) {
  histogram_by(
      exec, points, [](point p) { return p.y >= 0 ? (p.x >= 0 ? 0 : 1) : (p.x < 0 ? 2 : 3); }, counts);
}

/// How many strings, all in lower case and none empty, start with each letter.
template <executor E>
void count_first_letters(E& exec, view<std::string_view const, 1> strings, view<index_t, 1> counts) {
  histogram_by(
      exec, strings, [](std::string_view s) { return s.front() - 'a'; }, counts);
}

/// How many values have a fractional part in each quarter of [0, 1).
template <executor E>
void count_quartiles(E& exec, view<double const, 1> x, view<index_t, 1> counts) {
  histogram(exec, views::map([](double v) { return v - __builtin_floor(v); }, x), 0.0, 1.0, counts);
}

}  // namespace pareval
