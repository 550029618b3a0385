// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "scan.hpp"
#include "problem.hpp"
#include "reference/scan.hpp"

#include <heddle/backend/cpu/tile_context.hpp>
#include <heddle/backend/reference/tile_context.hpp>

namespace pareval {

// Sums of whole numbers are exact in any order, so results are compared for equality.
std::vector<problem> scan_problems() {
  constexpr char const* category = "scan";
  return {
      make_problem(category, "prefix_sum", {},
                   [](auto& t) {
                     auto const x = t.template numbers<double>(t.n, -1000, 1000);
                     values<double> got(t.n);
                     t.run([&] { prefix_sum(t.exec, x.view(), got.view()); });
                     return differs(plain::prefix_sum(x), got);
                   }),
      make_problem(category, "prefix_minimum", {},
                   [](auto& t) {
                     auto x = t.template numbers<float>(t.n, -10000, 10000);
                     auto const want = plain::prefix_minimum(x);
                     t.run([&] { prefix_minimum(t.exec, x.view()); });
                     return differs(want, x);
                   }),
      make_problem(category, "sum_of_prefix_sums", {},
                   [](auto& t) {
                     auto const x = t.template numbers<double>(t.n, -1000, 1000);
                     values<double> got(1);
                     t.run([&] { sum_of_prefix_sums(t.exec, x.view(), got.view()); });
                     return differs(plain::sum_of_prefix_sums(x), got);
                   }),
      make_problem(category, "reverse_prefix_sum", {},
                   [](auto& t) {
                     auto const x = t.template numbers<int>(t.n, -1000, 1000);
                     values<int> got(t.n);
                     t.run([&] { reverse_prefix_sum(t.exec, x.view(), got.view()); });
                     return differs(plain::reverse_prefix_sum(x), got);
                   }),
      make_problem(category, "largest_contiguous_sum", {.least = 1},
                   [](auto& t) {
                     auto const x = t.template numbers<int>(t.n, -100, 95);
                     values<index_t> got(1);
                     t.run([&] { largest_contiguous_sum(t.exec, x.view(), got.view()); });
                     return differs(plain::largest_contiguous_sum(x), got);
                   }),
  };
}

}  // namespace pareval
