// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sort.hpp"
#include "problem.hpp"
#include "reference/sort.hpp"

#include <heddle/backend/cpu/tile_context.hpp>
#include <heddle/backend/reference/tile_context.hpp>

namespace pareval {

std::vector<problem> sort_problems() {
  constexpr char const* category = "sort";
  return {
      make_problem(category, "sort_by_magnitude", {},
                   [](auto& t) {
                     auto const re = t.template numbers<double>(t.n, -20, 20);
                     auto const im = t.template numbers<double>(t.n, -20, 20);
                     values<complex<double>> x(t.n);
                     for (index_t i = 0; i < t.n; ++i) x[i] = {re[i], im[i]};
                     auto const want = plain::sort_by_magnitude(x);
                     t.run([&] { sort_by_magnitude(t.exec, x.view()); });
                     auto const same = [](auto const& a, auto const& b) { return a.re == b.re && a.im == b.im; };
                     return detail::compare(want.begin(), x.begin(), t.n, same);
                   }),
      make_problem(category, "kth_smallest", {.least = 1},
                   [](auto& t) {
                     auto const x = t.template numbers<int>(t.n, -1000, 1000);
                     index_t const k = t.shape == shape::equal ? t.n : t.number(1, static_cast<int>(t.n));
                     values<int> got(1);
                     t.run([&] { kth_smallest(t.exec, x.view(), k, got.view()); });
                     return differs(plain::kth_smallest(x, k), got);
                   }),
      make_problem(category, "ranks", {.most = 4097},
                   [](auto& t) {
                     auto const x = t.template numbers<float>(t.n, -300, 300);
                     values<index_t> got(t.n);
                     t.run([&] { ranks(t.exec, x.view(), got.view()); });
                     return differs(plain::ranks(x), got);
                   }),
      make_problem(category, "sort_by_start", {},
                   [](auto& t) {
                     auto const start = t.template numbers<int>(t.n, -500, 500);
                     values<result> x(t.n);
                     for (index_t i = 0; i < t.n; ++i) x[i] = {start[i], static_cast<int>(i), 0.5f};
                     auto const want = plain::sort_by_start(x);
                     t.run([&] { sort_by_start(t.exec, x.view()); });
                     return differs(want, x);
                   }),
      make_problem(category, "sort_non_zeros", {},
                   [](auto& t) {
                     auto x = t.template numbers<int>(t.n, -3, 3);
                     auto const want = plain::sort_non_zeros(x);
                     t.run([&] { sort_non_zeros(t.exec, x.view()); });
                     return differs(want, x);
                   }),
  };
}

}  // namespace pareval
