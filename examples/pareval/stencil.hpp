// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Stencils: the callable gets a cell's neighbourhood, and an edge says what lies outside. As in transforms, one that
/// takes anything runs in vectors, one that names its type on one cell at a time.

#include <heddle/algorithm/stencil.hpp>

namespace pareval {
using namespace heddle;

/// The sum over the four cells beside a cell, and over the eight around it.
template <class N>
HEDDLE_TILE auto beside(N const& n) {
  return n(-1, 0) + n(0, -1) + n(0, 1) + n(1, 0);
}
template <class N>
HEDDLE_TILE auto around(N const& n) {
  return beside(n) + n(-1, -1) + n(-1, 1) + n(1, -1) + n(1, 1);
}

/// A cell is 1 where exactly one cell beside it is 1.
template <executor E>
void xor_cells(E& exec, view<int const, 2> in, view<int, 2> out) {
  auto const cell = [](neighbourhood<int> const& n) { return beside(n) == 1 ? 1 : 0; };
  stencil(exec, in, out, 1, cell, constant_edge<int>{0});
}

/// Eight times a cell less those around it, clipped to [0, 255].
template <executor E>
void edges(E& exec, view<int const, 2> in, view<int, 2> out) {
  auto const cell = [](neighbourhood<int> const& n) { return max(min(8 * n(0, 0) - around(n), 255), 0); };
  stencil(exec, in, out, 1, cell, constant_edge<int>{0});
}

/// The mean of an element and the two beside it.
template <executor E>
void jacobi_1d(E& exec, view<double const, 1> in, view<double, 1> out) {
  auto const mean = [](auto const& n) HEDDLE_LAMBDA { return (n(-1) + n(0) + n(1)) / 3.0; };
  stencil(exec, in, out, 1, mean, constant_edge<double>{0});
}

/// The mean of a cell and the four beside it.
template <executor E>
void jacobi_2d(E& exec, view<double const, 2> in, view<double, 2> out) {
  auto const mean = [](auto const& n) HEDDLE_LAMBDA { return (beside(n) + n(0, 0)) / 5.0; };
  stencil(exec, in, out, 1, mean, constant_edge<double>{0});
}

/// A generation of Conway's game: a cell lives with three around it, and stays as it is with two.
template <executor E>
void life(E& exec, view<int const, 2> in, view<int, 2> out) {
  auto const cell = [](neighbourhood<int> const& n) {
    return around(n) == 3 || (around(n) == 2 && n(0, 0) == 1) ? 1 : 0;
  };
  stencil(exec, in, out, 1, cell, constant_edge<int>{0});
}

}  // namespace pareval
