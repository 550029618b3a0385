// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Searches: positions and answers go to views of one element; a position is -1 where nothing is found.

#include "types.hpp"

#include <heddle/algorithm/reduce.hpp>
#include <heddle/algorithm/search.hpp>
#include <heddle/algorithm/views.hpp>

#include <numbers>

namespace pareval {
using namespace heddle;

/// The last book of fewer than 100 pages.
template <executor E>
void last_short_book(E& exec, view<book const, 1> books, view<index_t, 1> result) {
  find_last_if(exec, books, result, [](book const& b) { return b.pages < 100; });
}

template <executor E>
void contains(E& exec, view<int const, 1> x, int value, view<bool, 1> result) {
  any_of(exec, x, result, [=](int v) { return v == value; });
}

template <executor E>
void closest_to_pi(E& exec, view<double const, 1> x, view<index_t, 1> result) {
  auto const far = [](double v) { return abs(v - std::numbers::pi); };
  min_element(exec, x, result, [=](double a, double b) { return far(a) < far(b); });
}

template <executor E>
void first_even(E& exec, view<int const, 1> x, view<index_t, 1> result) {
  find_if(exec, x, result, [](int v) { return v % 2 == 0; });
}

/// Where a value was seen, as a monoid; as an answer: whether in one place alone.
struct seen {
  bool in_x = false, in_y = false;
  operator bool() const { return in_x != in_y; }
};
inline constexpr monoid_of either{seen{}, [](seen a, seen b) { return seen{a.in_x || b.in_x, a.in_y || b.in_y}; }};

/// Whether one of x and y has the value and the other has not, in one pass over both.
template <executor E>
void xor_contains(E& exec, view<int const, 1> x, view<int const, 1> y, int v, view<bool, 1> result) {
  auto const look = [=](index_t i) { return i < x.size() ? seen{x(i) == v} : seen{false, y(i - x.size()) == v}; };
  transform_reduce(exec, result, either, look, views::iota(x.size() + y.size()));
}

}  // namespace pareval
