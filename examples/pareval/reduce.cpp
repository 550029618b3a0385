// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reduce.hpp"
#include "problem.hpp"
#include "reference/reduce.hpp"

#include <heddle/backend/cpu/tile_context.hpp>
#include <heddle/backend/reference/tile_context.hpp>

namespace pareval {

// Sums of whole numbers and products of powers of two are exact in any order, so results are compared for equality.
std::vector<problem> reduce_problems() {
  constexpr char const* category = "reduce";
  return {
      make_problem(category, "logical_xor", {},
                   [](auto& t) {
                     auto const x = t.template numbers<bool>(t.n, 0, 1);
                     values<bool> got(1);
                     t.run([&] { logical_xor(t.exec, x.view(), got.view()); });
                     return differs(plain::logical_xor(x), got);
                   }),
      make_problem(category, "product_of_inverses", {},
                   [](auto& t) {
                     auto x = t.template numbers<double>(t.n, -1, 1);
                     // Powers of two, with signs; neighbours cancel, so the product stays in range.
                     for (double& v : x) v = v == 0 ? -1 : v < 0 ? -2 : 2;
                     if (t.shape != shape::equal)
                       for (index_t i = 700; i < x.size(); ++i) x[i] = 1;
                     values<double> got(1);
                     t.run([&] { product_of_inverses(t.exec, x.view(), got.view()); });
                     return differs(plain::product_of_inverses(x), got);
                   }),
      make_problem(category, "average", {.least = 1},
                   [](auto& t) {
                     auto const x = t.template numbers<double>(t.n, -1000, 1000);
                     values<double> got(1);
                     t.run([&] { average(t.exec, x.view(), got.view()); });
                     return differs(plain::average(x), got);
                   }),
      make_problem(category, "smallest_odd", {},
                   [](auto& t) {
                     auto const x = t.template numbers<int>(t.n, -100000, 100000);
                     values<int> got(1);
                     t.run([&] { smallest_odd(t.exec, x.view(), got.view()); });
                     return differs(plain::smallest_odd(x), got);
                   }),
      make_problem(category, "sum_of_minimums", {},
                   [](auto& t) {
                     auto const x = t.template numbers<double>(t.n, -100, 100);
                     auto const y = t.template numbers<double>(t.n, -100, 100);
                     values<double> got(1);
                     t.run([&] { sum_of_minimums(t.exec, x.view(), y.view(), got.view()); });
                     return differs(plain::sum_of_minimums(x, y), got);
                   }),
  };
}

}  // namespace pareval
