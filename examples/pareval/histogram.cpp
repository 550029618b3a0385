// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "histogram.hpp"
#include "problem.hpp"
#include "reference/histogram.hpp"

#include <heddle/backend/cpu/tile_context.hpp>
#include <heddle/backend/reference/tile_context.hpp>

namespace pareval {

std::vector<problem> histogram_problems() {
  constexpr char const* category = "histogram";
  return {
      make_problem(category, "pixel_histogram", {},
                   [](auto& t) {
                     auto const x = t.template numbers<int>(t.n, 0, 255);
                     values<index_t> got(256);
                     t.run([&] { pixel_histogram(t.exec, x.view(), got.view()); });
                     return differs(plain::pixel_counts(x), got);
                   }),
      make_problem(category, "count_tens", {},
                   [](auto& t) {
                     auto x = t.template numbers<double>(t.n, 0, 999);
                     for (double& v : x) v /= 10;
                     values<index_t> got(10);
                     t.run([&] { count_tens(t.exec, x.view(), got.view()); });
                     return differs(plain::tens_counts(x), got);
                   }),
      make_problem(category, "count_quadrants", {},
                   [](auto& t) {
                     auto const x = t.template numbers<double>(2 * t.n, -3, 3);
                     values<point> p(t.n);
                     for (index_t i = 0; i < t.n; ++i) p[i] = {x[i], x[t.n + i]};
                     values<index_t> got(4);
                     t.run([&] { count_quadrants(t.exec, std::as_const(p).view(), got.view()); });
                     return differs(plain::quadrant_counts(p), got);
                   }),
      make_problem(category, "count_first_letters", {},
                   [](auto& t) {
                     static constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz";
                     auto const first = t.template numbers<int>(t.n, 0, 25);
                     values<std::string_view> s(t.n);
                     for (index_t i = 0; i < t.n; ++i) s[i] = letters.substr(static_cast<std::size_t>(first[i]), 3);
                     values<index_t> got(26);
                     t.run([&] { count_first_letters(t.exec, std::as_const(s).view(), got.view()); });
                     return differs(plain::first_letter_counts(s), got);
                   }),
      make_problem(category, "count_quartiles", {},
                   [](auto& t) {
                     auto x = t.template numbers<double>(t.n, 0, 100000);
                     for (double& v : x) v /= 64;
                     values<index_t> got(4);
                     t.run([&] { count_quartiles(t.exec, x.view(), got.view()); });
                     return differs(plain::quartile_counts(x), got);
                   }),
  };
}

}  // namespace pareval
