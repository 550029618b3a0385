// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Reductions: a monoid says how two values become one, and a callable what an element is worth. The result goes to a
/// view of one element; `transform_reduce` reads its inputs once and makes no temporary.

#include <heddle/algorithm/reduce.hpp>
#include <heddle/algorithm/views.hpp>

#include <limits>

namespace pareval {
using namespace heddle;

/// Whether an odd number of elements is true.
template <executor E>
void logical_xor(E& exec, view<bool const, 1> x, view<bool, 1> result) {
  reduce(exec, x, result, monoid_of{false, [](bool a, bool b) { return a != b; }});
}

/// x0 * 1/x1 * x2 * 1/x3 * ...
template <executor E>
void product_of_inverses(E& exec, view<double const, 1> x, view<double, 1> result) {
  auto const factor = [](double v, index_t i) { return i % 2 == 0 ? v : 1 / v; };
  transform_reduce(exec, result, multiplies<double>{}, factor, x, views::iota(x.size()));
}

/// The sum over the count.
template <executor E>
void average(E& exec, view<double const, 1> x, view<double, 1> result) {
  reduce(exec, x, result, plus<double>{});
  transform(
      exec, result, [n = x.size()](double sum) { return sum / static_cast<double>(n); }, result);
}

/// The least odd element, or the largest int where none is odd: an even element is worth the identity.
template <executor E>
void smallest_odd(E& exec, view<int const, 1> x, view<int, 1> result) {
  auto const odd = [](int v) { return v % 2 != 0 ? v : std::numeric_limits<int>::max(); };
  transform_reduce(exec, result, minimum<int>{}, odd, x);
}

/// min(x0, y0) + min(x1, y1) + ...
template <executor E>
void sum_of_minimums(E& exec, view<double const, 1> x, view<double const, 1> y, view<double, 1> result) {
  transform_reduce(exec, result, plus<double>{}, minimum<>{}, x, y);
}

}  // namespace pareval
