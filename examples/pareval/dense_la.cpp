// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dense_la.hpp"
#include "problem.hpp"
#include "reference/dense_la.hpp"

#include <heddle/backend/cpu/matmul.hpp>
#include <heddle/backend/cpu/tile_context.hpp>
#include <heddle/backend/reference/matmul.hpp>
#include <heddle/backend/reference/tile_context.hpp>

namespace pareval {

namespace {
/// A matrix whose elimination needs no rounding: the product of a lower one with ones and an upper one with 1 or -1 on
/// the diagonal, of whole numbers.
template <class Trial>
values<double> whole_product(Trial& t, index_t n) {
  auto l = t.template numbers<double>(n * n, -1, 1);
  auto u = t.template numbers<double>(n * n, -2, 2);
  for (index_t i = 0; i < n; ++i)
    for (index_t j = 0; j < n; ++j) {
      if (j >= i) l[i * n + j] = i == j ? 1 : 0;
      if (j <= i) u[i * n + j] = i != j ? 0 : t.number(0, 1) == 0 ? 1 : -1;
    }
  return plain::product(l, u, n, n, n);
}

/// The largest entry of a row outweighs the rest of it, but rows stand in a random order, so that pivots matter.
template <class Trial>
values<double> solvable(Trial& t, index_t n) {
  auto const small = t.template numbers<double>(n * n, -9, 9);
  values<double> a(n * n);
  index_t const shift = n > 1 ? t.number(1, static_cast<int>(n) - 1) : 0;
  for (index_t i = 0; i < n; ++i)
    for (index_t j = 0; j < n; ++j)
      a[i * n + j] = small[i * n + j] + (j == (i + shift) % n ? 10.0 * static_cast<double>(n) : 0);
  return a;
}
}  // namespace

std::vector<problem> dense_la_problems() {
  constexpr char const* category = "dense_la";
  return {
      make_problem(category, "lu_decomposition", {.most = 100},
                   [](auto& t) {
                     auto a = whole_product(t, t.n);
                     auto const want = plain::lu(a, t.n);
                     t.run([&] { lu_decomposition(t.exec, a.matrix(t.n, t.n)); });
                     return differs(want, a);
                   }),
      make_problem(category, "solve", {.most = 100},
                   [](auto& t) {
                     auto const a = solvable(t, t.n);
                     auto const b = t.template numbers<double>(t.n, -100, 100);
                     values<double> x(t.n);
                     t.run([&] { solve(t.exec, a.matrix(t.n, t.n), b.view(), x.view()); });
                     // Once its rows are exchanged the matrix is diagonally dominant, where Gauss-Jordan leaves at most
                     // 32 n^2 u |A| |x| (Higham, Accuracy and Stability, 14.4); |A| <= 20 n, |x| <= 100 / n.
                     double const n = static_cast<double>(t.n), bound = 32 * n * n * 0x1p-53 * 20 * 100;
                     return differs(0.0, values<double>{plain::residual(a, b, x)}, bound);
                   }),
      make_problem(category, "gemm", {.most = 100},
                   [](auto& t) {
                     index_t const m = t.n, k = t.n / 2 + 1, n = (t.n * 3 + 1) / 2;
                     auto const a = t.template numbers<double>(m * k, -50, 50);
                     auto const b = t.template numbers<double>(k * n, -50, 50);
                     values<double> c(m * n);
                     t.run([&] { gemm(t.exec, a.matrix(m, k), b.matrix(k, n), c.matrix(m, n)); });
                     return differs(plain::product(a, b, m, k, n), c);
                   }),
      make_problem(category, "axpy", {},
                   [](auto& t) {
                     double const alpha = t.number(-9, 9);
                     auto const x = t.template numbers<double>(t.n, -1000, 1000);
                     auto const y = t.template numbers<double>(t.n, -1000, 1000);
                     values<double> z(t.n);
                     t.run([&] { axpy(t.exec, alpha, x.view(), y.view(), z.view()); });
                     return differs(plain::axpy(alpha, x, y), z);
                   }),
      make_problem(category, "matrix_times_vector", {.most = 1000},
                   [](auto& t) {
                     index_t const m = t.n, n = (t.n * 3 + 1) / 2;
                     auto const a = t.template numbers<double>(m * n, -50, 50);
                     auto const x = t.template numbers<double>(n, -50, 50);
                     values<double> y(m);
                     t.run([&] { matrix_times_vector(t.exec, a.matrix(m, n), x.view(), y.view()); });
                     return differs(plain::product(a, x, m, n, 1), y);
                   }),
  };
}

}  // namespace pareval
