// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Sparse linear algebra from lists of entries in any order. Products compress the rows first; eliminations fill a
/// matrix up, so they work on a dense copy.

#include "dense_la.hpp"
#include "types.hpp"

#include <heddle/algorithm/coo.hpp>
#include <heddle/algorithm/sparse.hpp>

namespace pareval {
using namespace heddle;

/// A dense copy. No entry may stand twice.
template <executor E>
void expand(E& exec, view<coordinate const, 1> a, view<double, 2> out) {
  for_each(exec, out.size(), [=, n = out.extent(1)](index_t i) { out(i / n, i % n) = 0; });
  for_each(exec, a.size(), [=](index_t i) { out(a(i).row, a(i).column) = a(i).value; });
}

/// a x = b.
template <executor E>
void sparse_solve(E& exec, view<coordinate const, 1> a, view<double const, 1> b, view<double, 1> x) {
  tensor<double, 2> const full(exec, default_host_space, dims<2>(x.size(), x.size()));
  expand(exec, a, full.view());
  solve(exec, full.view(), b, x);
}

/// y = a x, with a [m, k] and x [k, n] sparse and y [m, n] dense. Entries of a that stand twice are added.
template <executor E>
void spmm(E& exec, view<coordinate const, 1> a, view<coordinate const, 1> x, index_t k, view<double, 2> y) {
  tensor<index_t, 1> const offsets(exec, default_host_space, dims<1>(y.extent(0) + 1));
  tensor<index_t, 1> const columns(exec, default_host_space, a.extents());
  tensor<double, 1> const entries(exec, default_host_space, a.extents());
  tensor<double, 2> const full(exec, default_host_space, dims<2>(k, y.extent(1)));
  coo_to_csr(exec, a, offsets.view(), columns.view(), entries.view());
  expand(exec, x, full.view());
  heddle::spmm(exec, csr_view<double, index_t>{offsets.view(), columns.view(), entries.view(), k}, full.view(), y);
}

/// y = alpha a x + beta y. Entries that stand twice are added.
template <executor E>
void spmv(E& exec, double alpha, view<coordinate const, 1> a, view<double const, 1> x, double beta, view<double, 1> y) {
  tensor<index_t, 1> const offsets(exec, default_host_space, dims<1>(y.size() + 1));
  tensor<index_t, 1> const columns(exec, default_host_space, a.extents());
  tensor<double, 1> const entries(exec, default_host_space, a.extents()), ax(exec, default_host_space, y.extents());
  coo_to_csr(exec, a, offsets.view(), columns.view(), entries.view());
  heddle::spmv(exec, csr_view<double, index_t>{offsets.view(), columns.view(), entries.view(), x.size()}, x, ax.view());
  auto const sum = [=](double product, double old) { return fma(alpha, product, mul(beta, old)); };
  transform(exec, y, sum, ax.view(), y);
}

/// z = alpha x + y, dense, for sparse x and y without indices that stand twice.
template <executor E>
void sparse_axpy(E& exec, double alpha, view<element const, 1> x, view<element const, 1> y, view<double, 1> z) {
  for_each(exec, z.size(), [=](index_t i) { z(i) = 0; });
  for_each(exec, x.size(), [=](index_t i) { z(x(i).index) = mul(alpha, x(i).value); });
  for_each(exec, y.size(), [=](index_t i) { z(y(i).index) += y(i).value; });
}

/// a = l u, with ones on the diagonal of l.
template <executor E>
void sparse_lu(E& exec, view<coordinate const, 1> a, view<double, 2> l, view<double, 2> u) {
  index_t const n = l.extent(0);
  expand(exec, a, u);
  lu_decomposition(exec, u);
  for_each(exec, n * n, [=](index_t e) {
    index_t const i = e / n, j = e % n;
    l(i, j) = i > j ? u(i, j) : i == j ? 1 : 0;
    if (i > j) u(i, j) = 0;
  });
}

}  // namespace pareval
