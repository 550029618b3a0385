// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Dense linear algebra: products are heddle's, eliminations are products with one column and one row. Slices of a
/// matrix are matrices, so a trailing block is updated where it lies.

#include <heddle/algorithm/copy.hpp>
#include <heddle/algorithm/for_each.hpp>
#include <heddle/algorithm/search.hpp>
#include <heddle/algorithm/transform.hpp>
#include <heddle/core/tensor.hpp>
#include <heddle/linalg/gemv.hpp>

namespace pareval {
using namespace heddle;

/// a = L U without exchanges, both in place: each step divides a column by its pivot, which a view of stride 0 repeats,
/// and subtracts its product with the pivot's row from what is left.
template <executor E>
void lu_decomposition(E& exec, view<double, 2> a) {
  for (index_t k = 0, n = a.extent(0); k + 1 < n; ++k) {
    auto const below = slice(a, 0, k + 1, n), column = slice(below, 1, k, k + 1);
    auto const row = slice(slice(a, 0, k, k + 1), 1, k + 1, n);
    view<double, 2> const pivot(&a(k, k), column.extents(), 0, 0);
    transform(
        exec, column, [](auto const& v, auto const& p) HEDDLE_LAMBDA { return v / p; }, column, pivot);
    matmul(exec, column, row, slice(below, 1, k + 1, n), {.alpha = -1, .beta = 1});
  }
}

/// a x = b: Gauss-Jordan elimination of the columns of (a | b), each with its largest pivot.
template <executor E>
void solve(E& exec, view<double const, 2> a, view<double const, 1> b, view<double, 1> x) {
  index_t const n = a.extent(0);
  tensor<double, 2> const both(exec, default_host_space, dims<2>(n, n + 1));
  tensor<index_t, 1> const largest(exec, default_host_space, dims<1>(1));
  auto const w = both.view();
  copy(exec, a, slice(w, 1, 0, n));
  copy(exec, b, select(w, 1, n));
  for (index_t k = 0; k < n; ++k) {
    auto const smaller = [](double u, double v) { return abs(u) < abs(v); };
    max_element(exec, slice(select(w, 1, k), 0, k, n), largest.view(), smaller);
    for_each(exec, n + 1 - k, [=, p = largest.data()](index_t j) {
      double const top = w(k, k + j);
      w(k, k + j) = w(k + *p, k + j);
      w(k + *p, k + j) = top;
    });
    for_each(exec, n * (n - k), [=](index_t e) {
      index_t const i = e / (n - k), j = k + 1 + e % (n - k);
      if (i != k) w(i, j) = fma(-w(i, k) / w(k, k), w(k, j), w(i, j));
    });
  }
  for_each(exec, n, [=](index_t i) { x(i) = w(i, n) / w(i, i); });
}

/// c = a b.
template <executor E>
void gemm(E& exec, view<double const, 2> a, view<double const, 2> b, view<double, 2> c) {
  matmul(exec, a, b, c);
}

/// z = alpha x + y.
template <executor E>
void axpy(E& exec, double alpha, view<double const, 1> x, view<double const, 1> y, view<double, 1> z) {
  transform(
      exec, z, [=](auto const& u, auto const& v) HEDDLE_LAMBDA { return fma(u, alpha, v); }, x, y);
}

/// y = a x.
template <executor E>
void matrix_times_vector(E& exec, view<double const, 2> a, view<double const, 1> x, view<double, 1> y) {
  gemv(exec, a, x, y);
}

}  // namespace pareval
