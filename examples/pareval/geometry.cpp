// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "geometry.hpp"
#include "problem.hpp"
#include "reference/geometry.hpp"

#include <heddle/backend/cpu/tile_context.hpp>
#include <heddle/backend/reference/tile_context.hpp>

namespace pareval {

namespace {
/// Points of whole numbers, so that turns and squares are exact: in a square; all equal; in a line; in few columns.
template <class Trial>
values<point> points(Trial& t) {
  int const most = t.shape == shape::two ? 3 : 1000;
  auto const x = t.template numbers<double>(t.n, -most, most);
  auto const y = t.template numbers<double>(t.n, -most, most);
  values<point> p(t.n);
  for (index_t i = 0; i < t.n; ++i) p[i] = {x[i], t.shape == shape::ascending ? 2 * x[i] + 1 : y[i]};
  return p;
}
}  // namespace

std::vector<problem> geometry_problems() {
  constexpr char const* category = "geometry";
  return {
      make_problem(category, "convex_hull", {.least = 1},
                   [](auto& t) {
                     auto const p = points(t);
                     std::vector<point> hull;
                     t.run([&] { hull = convex_hull(t.exec, p.view()); });
                     std::vector<point> const want = plain::convex_hull(p);
                     if (!hull.empty()) std::rotate(hull.begin(), hull.end() - 1, hull.end());
                     return std::string(hull == want ? "" : "the corners are others, or in another order");
                   }),
      make_problem(category, "hull_perimeter", {.least = 1},
                   [](auto& t) {
                     auto const p = points(t);
                     values<double> got(1);
                     t.run([&] { hull_perimeter(t.exec, p.view(), got.view()); });
                     // A side rounds three times and is added once per other side.
                     double const want = plain::hull_perimeter(p);
                     double const sides = static_cast<double>(plain::convex_hull(p).size());
                     return differs(want, got, (sides + 4) * 0x1p-53 * want * 2);
                   }),
      make_problem(category, "smallest_triangle", {.most = 100},
                   [](auto& t) {
                     auto const p = points(t);
                     values<double> got(1);
                     t.run([&] { smallest_triangle(t.exec, p.view(), got.view()); });
                     return differs(plain::smallest_triangle(p), got);
                   }),
      make_problem(category, "closest_pair_2d", {.most = 1000},
                   [](auto& t) {
                     auto const p = points(t);
                     values<double> got(1);
                     t.run([&] { closest_pair_2d(t.exec, p.view(), got.view()); });
                     return differs(plain::closest_pair(p), got);
                   }),
      make_problem(category, "closest_pair_1d", {.most = 4097},
                   [](auto& t) {
                     auto const x = t.template numbers<double>(t.n, -1000000, 1000000);
                     values<double> got(1);
                     t.run([&] { closest_pair_1d(t.exec, x.view(), got.view()); });
                     return differs(plain::closest_pair(x), got);
                   }),
  };
}

}  // namespace pareval
