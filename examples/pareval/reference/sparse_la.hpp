// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../types.hpp"
#include "../values.hpp"

namespace pareval::plain {

/// Entries that stand twice are added.
inline values<double> dense(values<coordinate> const& a, index_t rows, index_t columns) {
  values<double> d(rows * columns);
  std::fill(d.begin(), d.end(), 0.0);
  for (coordinate const& e : a) d[e.row * columns + e.column] += e.value;
  return d;
}

inline values<double> spmv(double alpha, values<coordinate> const& a, values<double> const& x, double beta,
                           values<double> y) {
  for (double& v : y) v *= beta;
  for (coordinate const& e : a) y[e.row] += alpha * e.value * x[e.column];
  return y;
}

/// z is dense.
inline values<double> sparse_axpy(double alpha, values<element> const& x, values<element> const& y, index_t n) {
  values<double> z(n);
  std::fill(z.begin(), z.end(), 0.0);
  for (element const& e : x) z[e.index] += alpha * e.value;
  for (element const& e : y) z[e.index] += e.value;
  return z;
}

}  // namespace pareval::plain
