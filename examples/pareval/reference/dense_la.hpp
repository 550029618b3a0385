// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../values.hpp"

namespace pareval::plain {

/// Doolittle's elimination without exchanges: U on and above the diagonal, L below it, in place of a.
inline values<double> lu(values<double> a, index_t n) {
  for (index_t k = 0; k < n; ++k)
    for (index_t i = k + 1; i < n; ++i) {
      a[i * n + k] /= a[k * n + k];
      for (index_t j = k + 1; j < n; ++j) a[i * n + j] -= a[i * n + k] * a[k * n + j];
    }
  return a;
}

/// c [m, n] = a [m, k] b [k, n].
inline values<double> product(values<double> const& a, values<double> const& b, index_t m, index_t k, index_t n) {
  values<double> c(m * n);
  for (index_t i = 0; i < m; ++i)
    for (index_t j = 0; j < n; ++j) {
      double sum = 0;
      for (index_t l = 0; l < k; ++l) sum += a[i * k + l] * b[l * n + j];
      c[i * n + j] = sum;
    }
  return c;
}

inline values<double> axpy(double alpha, values<double> const& x, values<double> const& y) {
  values<double> z(x.size());
  for (index_t i = 0; i < x.size(); ++i) z[i] = alpha * x[i] + y[i];
  return z;
}

/// The largest |b - a x|, in more digits than double has.
inline double residual(values<double> const& a, values<double> const& b, values<double> const& x) {
  index_t const n = x.size();
  long double most = 0;
  for (index_t i = 0; i < n; ++i) {
    long double r = b[i];
    for (index_t j = 0; j < n; ++j) r -= static_cast<long double>(a[i * n + j]) * x[j];
    most = most > std::abs(r) ? most : std::abs(r);
  }
  return static_cast<double>(most);
}

}  // namespace pareval::plain
