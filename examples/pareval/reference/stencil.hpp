// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../values.hpp"

/// @file
/// Grids are n x n; what lies outside is 0.

namespace pareval::plain {

template <class T>
T at(values<T> const& grid, index_t n, index_t i, index_t j) {
  return i < 0 || i >= n || j < 0 || j >= n ? T(0) : grid[i * n + j];
}

/// The sum over the eight neighbours of a cell.
template <class T>
T around(values<T> const& grid, index_t n, index_t i, index_t j) {
  T sum = 0;
  for (index_t di = -1; di <= 1; ++di)
    for (index_t dj = -1; dj <= 1; ++dj)
      if (di != 0 || dj != 0) sum += at(grid, n, i + di, j + dj);
  return sum;
}

/// The sum over the four nearest neighbours, north, west, east and south.
template <class T>
T beside(values<T> const& grid, index_t n, index_t i, index_t j) {
  return at(grid, n, i - 1, j) + at(grid, n, i, j - 1) + at(grid, n, i, j + 1) + at(grid, n, i + 1, j);
}

template <class T, class F>
values<T> each_cell(index_t n, F const& f) {
  values<T> out(n * n);
  for (index_t i = 0; i < n; ++i)
    for (index_t j = 0; j < n; ++j) out[i * n + j] = f(i, j);
  return out;
}

inline values<int> xor_cells(values<int> const& in, index_t n) {
  return each_cell<int>(n, [&](index_t i, index_t j) { return beside(in, n, i, j) == 1 ? 1 : 0; });
}

inline values<int> edges(values<int> const& in, index_t n) {
  return each_cell<int>(
      n, [&](index_t i, index_t j) { return std::clamp(8 * at(in, n, i, j) - around(in, n, i, j), 0, 255); });
}

inline values<double> jacobi_1d(values<double> const& in) {
  values<double> out(in.size());
  for (index_t i = 0; i < in.size(); ++i)
    out[i] = ((i > 0 ? in[i - 1] : 0) + in[i] + (i + 1 < in.size() ? in[i + 1] : 0)) / 3;
  return out;
}

inline values<double> jacobi_2d(values<double> const& in, index_t n) {
  return each_cell<double>(n, [&](index_t i, index_t j) { return (beside(in, n, i, j) + at(in, n, i, j)) / 5; });
}

inline values<int> life(values<int> const& in, index_t n) {
  return each_cell<int>(n, [&](index_t i, index_t j) {
    int const alive = around(in, n, i, j);
    return alive == 3 || (alive == 2 && at(in, n, i, j) == 1) ? 1 : 0;
  });
}

}  // namespace pareval::plain
