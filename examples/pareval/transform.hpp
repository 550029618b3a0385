// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Element-wise maps. A callable that takes anything (`auto const&`) runs in vectors; one that names its types runs on
/// one element at a time. An output may be the input.

#include <heddle/algorithm/transform.hpp>

namespace pareval {
using namespace heddle;

template <executor E>
void relu(E& exec, view<double, 1> x) {
  transform(
      exec, x, [](auto const& v) HEDDLE_LAMBDA { return max(v, 0.0); }, x);
}

/// Odd elements change their sign, even ones are halved.
template <executor E>
void negate_odds(E& exec, view<int, 1> x) {
  transform(
      exec, x, [](int v) { return v % 2 != 0 ? -v : v / 2; }, x);
}

/// x = 1 - 1/x.
template <executor E>
void inverse_offset(E& exec, view<double, 1> x) {
  transform(
      exec, x, [](auto const& v) HEDDLE_LAMBDA { return 1.0 - 1.0 / v; }, x);
}

template <executor E>
void square(E& exec, view<int, 1> x) {
  transform(exec, x, multiplies<>{}, x, x);
}

/// mask = predicate(x); the predicate of the problem tells powers of two.
template <executor E, class Predicate>
void map_function(E& exec, view<int const, 1> x, view<bool, 1> mask, Predicate const& predicate) {
  transform(exec, mask, predicate, x);
}

}  // namespace pareval
