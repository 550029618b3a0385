// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sparse_la.hpp"
#include "problem.hpp"
#include "reference/dense_la.hpp"
#include "reference/sparse_la.hpp"

#include <heddle/backend/cpu/matmul.hpp>
#include <heddle/backend/cpu/sparse.hpp>
#include <heddle/backend/cpu/tile_context.hpp>
#include <heddle/backend/reference/matmul.hpp>
#include <heddle/backend/reference/tile_context.hpp>

namespace pareval {

namespace {
/// `count` entries anywhere, some of them in one place.
template <class Trial>
values<coordinate> any_entries(Trial& t, index_t count, index_t rows, index_t columns) {
  auto const v = t.template numbers<double>(count, -20, 20);
  values<coordinate> a(rows > 0 && columns > 0 ? count : 0);
  for (index_t i = 0; i < a.size(); ++i)
    a[i] = {t.number(0, static_cast<int>(rows) - 1), t.number(0, static_cast<int>(columns) - 1), v[i]};
  return a;
}

/// The entries of a dense matrix that are not zero, in random order.
template <class Trial>
values<coordinate> entries_of(Trial& t, values<double> const& d, index_t columns) {
  std::vector<coordinate> all;
  for (index_t i = 0; i < d.size(); ++i)
    if (d[i] != 0) all.push_back({i / columns, i % columns, d[i]});
  std::shuffle(all.begin(), all.end(), t.random);
  values<coordinate> a(static_cast<index_t>(all.size()));
  std::copy(all.begin(), all.end(), a.begin());
  return a;
}

/// A tenth of the entries, and a diagonal that outweighs them.
template <class Trial>
values<double> dominant(Trial& t, index_t n) {
  auto d = t.template numbers<double>(n * n, -9, 9);
  for (index_t i = 0; i < n; ++i)
    for (index_t j = 0; j < n; ++j)
      d[i * n + j] = i == j ? 10.0 * static_cast<double>(n) : t.number(0, 9) == 0 ? d[i * n + j] : 0;
  return d;
}

/// A tenth of the entries below and above the diagonals of two factors whose product is eliminated without rounding.
template <class Trial>
values<double> whole_product(Trial& t, index_t n) {
  values<double> l(n * n), u(n * n);
  for (index_t i = 0; i < n; ++i)
    for (index_t j = 0; j < n; ++j) {
      double const v = t.number(0, 9) == 0 ? t.number(-2, 2) : 0;
      l[i * n + j] = i == j ? 1 : i > j ? v : 0;
      u[i * n + j] = i == j ? (t.number(0, 1) == 0 ? 1 : -1) : i < j ? v : 0;
    }
  return plain::product(l, u, n, n, n);
}

template <class Trial>
values<element> some_elements(Trial& t, index_t n) {
  auto const v = t.template numbers<double>(n, -100, 100);
  std::vector<element> all;
  for (index_t i = 0; i < n; ++i)
    if (t.number(0, 2) == 0) all.push_back({i, v[i]});
  values<element> x(static_cast<index_t>(all.size()));
  std::copy(all.begin(), all.end(), x.begin());
  return x;
}
}  // namespace

std::vector<problem> sparse_la_problems() {
  constexpr char const* category = "sparse_la";
  return {
      make_problem(category, "sparse_solve", {.most = 100},
                   [](auto& t) {
                     auto const d = dominant(t, t.n);
                     auto const a = entries_of(t, d, t.n);
                     auto const b = t.template numbers<double>(t.n, -100, 100);
                     values<double> x(t.n);
                     t.run([&] { sparse_solve(t.exec, a.view(), b.view(), x.view()); });
                     // As for the dense problem: |A| <= 20 n, |x| <= 100 / n.
                     double const n = static_cast<double>(t.n), bound = 32 * n * n * 0x1p-53 * 20 * 100;
                     return differs(0.0, values<double>{plain::residual(d, b, x)}, bound);
                   }),
      make_problem(category, "spmm", {.most = 255},
                   [](auto& t) {
                     index_t const m = t.n, k = t.n / 2 + 1, n = (t.n * 3 + 1) / 2;
                     auto const a = any_entries(t, 3 * m, m, k);
                     auto dense = t.template numbers<double>(k * n, -20, 20);
                     for (double& v : dense) v = t.number(0, 9) == 0 ? v : 0;
                     auto const x = entries_of(t, dense, n);
                     values<double> y(m * n);
                     t.run([&] { spmm(t.exec, a.view(), x.view(), k, y.matrix(m, n)); });
                     return differs(plain::product(plain::dense(a, m, k), dense, m, k, n), y);
                   }),
      make_problem(category, "spmv", {},
                   [](auto& t) {
                     index_t const m = t.n, n = t.n / 2 + 1;
                     double const alpha = t.number(-3, 3), beta = t.number(-3, 3);
                     auto const a = any_entries(t, 5 * m, m, n);
                     auto const x = t.template numbers<double>(n, -20, 20);
                     auto y = t.template numbers<double>(m, -20, 20);
                     auto const want = plain::spmv(alpha, a, x, beta, y);
                     t.run([&] { spmv(t.exec, alpha, a.view(), x.view(), beta, y.view()); });
                     return differs(want, y);
                   }),
      make_problem(category, "sparse_axpy", {},
                   [](auto& t) {
                     double const alpha = t.number(-5, 5);
                     auto const x = some_elements(t, t.n), y = some_elements(t, t.n);
                     values<double> z(t.n);
                     t.run([&] { sparse_axpy(t.exec, alpha, x.view(), y.view(), z.view()); });
                     return differs(plain::sparse_axpy(alpha, x, y, t.n), z);
                   }),
      make_problem(category, "sparse_lu", {.most = 100},
                   [](auto& t) {
                     auto const d = whole_product(t, t.n);
                     auto const a = entries_of(t, d, t.n);
                     values<double> l(t.n * t.n), u(t.n * t.n), both(t.n * t.n);
                     t.run([&] { sparse_lu(t.exec, a.view(), l.matrix(t.n, t.n), u.matrix(t.n, t.n)); });
                     for (index_t i = 0; i < both.size(); ++i) {
                       bool const below = i / t.n > i % t.n;
                       both[i] = (below ? l[i] : u[i]) + (below ? u[i] : i / t.n < i % t.n ? l[i] : l[i] - 1);
                     }
                     return differs(plain::lu(d, t.n), both);
                   }),
  };
}

}  // namespace pareval
