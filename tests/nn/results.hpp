// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// What the tests of this folder share: operands that end at a page that can't be touched, poisoned outputs, and the
/// comparison of an executor with the oracle.

#include <heddle/exec/reference_executor.hpp>

#include <support/buffer.hpp>
#include <support/catch.hpp>
#include <support/executors.hpp>
#include <support/numbers.hpp>
#include <support/random.hpp>

#include <cmath>
#include <limits>
#include <vector>

namespace heddle::test {

inline constexpr double u = 0x1p-24;  // half an ulp of 1 in float
inline constexpr float inf = std::numeric_limits<float>::infinity();
inline constexpr float qnan = std::numeric_limits<float>::quiet_NaN();

/// Rows and columns: empty, one, odd, and around the edges of tiles, vectors and blocks.
inline constexpr index_t shapes[][2] = {{0, 5},   {1, 1},   {3, 7},    {5, 64},  {2, 65},
                                        {17, 33}, {9, 130}, {1, 4097}, {2, 1000}};

/// n random elements that end where memory ends.
template <class T>
struct input : buffer<T> {
  explicit input(index_t n, std::uint64_t seed = 1, double lo = -1, double hi = 1) : buffer<T>(n, guard::page) {
    fill_random(this->data(), n, seed, lo, hi);
  }
};

template <class T>
view<T, 2> matrix(T* data, index_t rows, index_t columns) {
  return {data, dims<2>(rows, columns)};
}
template <class T>
view<T, 1> column(T* data, index_t n) {
  return {data, dims<1>(n)};
}

/// How many roundings a term of a canonical sum of n numbers passes at most.
inline double depth(index_t n) { return std::ceil(static_cast<double>(n) / 64) + 7; }

/// What an operation wrote: its main output and the numbers beside it.
template <class Y, class S>
struct results {
  std::vector<Y> y;
  std::vector<S> s;
};

/// Takes what was written, after checking that all was and that nothing beside it was.
template <class T>
std::vector<T> taken(buffer<T> const& b) {
  unsigned char poison[sizeof(T)];
  std::memset(poison, 0xFF, sizeof(T));
  index_t unwritten = 0;
  for (index_t i = 0; i < b.size(); ++i) unwritten += std::memcmp(b.data() + i, poison, sizeof(T)) == 0;
  REQUIRE(unwritten == 0);
  REQUIRE(b.intact());
  return {b.data(), b.data() + b.size()};
}

/// Runs op(exec, y, s) on poisoned outputs of n and m elements.
template <class Y, class S, class E, class Op>
results<Y, S> results_of(E& exec, index_t n, index_t m, Op const& op) {
  buffer<Y> y(n);
  buffer<S> s(m);
  op(exec, y.data(), s.data());
  exec.synchronize();
  return {taken(y), taken(s)};
}

template <class Y, class S>
void require_same_bits(results<Y, S> const& got, results<Y, S> const& want) {
  REQUIRE(same_bits(got.y, want.y));
  REQUIRE(same_bits(got.s, want.s));
}

/// The same on the oracle and on `exec`, whose bits must be equal.
template <class Y, class S, class E, class Op>
results<Y, S> agreed(E& exec, index_t n, index_t m, Op const& op) {
  reference_executor oracle;
  results<Y, S> const want = results_of<Y, S>(oracle, n, m, op);
  results<Y, S> const got = results_of<Y, S>(exec, n, m, op);
  require_same_bits(got, want);
  return got;
}

/// n results of op(exec, y) on the oracle, y being one row.
template <class Op>
std::vector<float> on_oracle(index_t n, Op const& op) {
  reference_executor oracle;
  return results_of<float, float>(oracle, n, 0, [&](auto& e, float* y, float*) { op(e, matrix(y, 1, n)); }).y;
}

/// Checks y[i] against want(x[i], dy[i]) within bound(x[i], dy[i], want).
template <class Want, class Bound>
void check_numbers(std::vector<float> const& y, float const* x, float const* dy, Want const& want, Bound const& bound) {
  for (std::size_t i = 0; i < y.size(); ++i) {
    double const w = want(double{x[i]}, double{dy[i]});
    CAPTURE(x[i], dy[i], y[i], w);
    REQUIRE(std::abs(y[i] - w) <= bound(double{x[i]}, double{dy[i]}, std::abs(w)));
  }
}

/// op(exec, x, y), a map of [rows, columns] to the same extents: turned inputs and outputs with gaps give the bits of
/// dense ones, the gaps stay as they were, and where it may run in place it does.
template <class T, class E, class Op>
void check_strided_map(E& exec, bool in_place, Op const& op) {
  constexpr index_t rows = 6, columns = 77, pitch = 90;
  input<T> x(rows * columns, 5, -3, 3), turned(rows * columns);
  for (index_t r = 0; r < rows; ++r)
    for (index_t c = 0; c < columns; ++c) turned[c * rows + r] = x[r * columns + c];
  auto const dense = agreed<T, T>(exec, rows * columns, 0, [&](auto& e, T* y, T*) {
    op(e, matrix<T const>(x.data(), rows, columns), matrix(y, rows, columns));
  });
  buffer<T> gaps(rows * pitch);
  dims<2> const extents(rows, columns);
  op(exec, view<T const, 2>(turned.data(), extents, 1, rows), view<T, 2>(gaps.data(), extents, pitch, 1));
  exec.synchronize();
  index_t wrong = 0;
  for (index_t r = 0; r < rows; ++r) {
    wrong += std::memcmp(&gaps[r * pitch], &dense.y[static_cast<std::size_t>(r * columns)], columns * sizeof(T)) != 0;
    for (index_t c = columns; c < pitch; ++c) wrong += float(gaps[r * pitch + c]) == float(gaps[r * pitch + c]);
  }
  REQUIRE(wrong == 0);
  if (!in_place) return;
  op(exec, matrix<T const>(x.data(), rows, columns), matrix(x.data(), rows, columns));
  exec.synchronize();
  REQUIRE(std::memcmp(x.data(), dense.y.data(), dense.y.size() * sizeof(T)) == 0);
}

}  // namespace heddle::test
