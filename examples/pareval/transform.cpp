// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "transform.hpp"
#include "problem.hpp"
#include "reference/transform.hpp"

#include <heddle/backend/cpu/tile_context.hpp>
#include <heddle/backend/reference/tile_context.hpp>

namespace pareval {

std::vector<problem> transform_problems() {
  constexpr char const* category = "transform";
  return {
      make_problem(category, "relu", {},
                   [](auto& t) {
                     auto x = t.template numbers<double>(t.n, -100, 100);
                     auto const want = plain::relu(x);
                     t.run([&] { relu(t.exec, x.view()); });
                     return differs(want, x);
                   }),
      make_problem(category, "negate_odds", {},
                   [](auto& t) {
                     auto x = t.template numbers<int>(t.n, -1000, 1000);
                     auto const want = plain::negate_odds(x);
                     t.run([&] { negate_odds(t.exec, x.view()); });
                     return differs(want, x);
                   }),
      make_problem(category, "inverse_offset", {},
                   [](auto& t) {
                     auto x = t.template numbers<double>(t.n, -100, 100);
                     auto const want = plain::inverse_offset(x);
                     t.run([&] { inverse_offset(t.exec, x.view()); });
                     return differs(want, x);
                   }),
      make_problem(category, "square", {},
                   [](auto& t) {
                     auto x = t.template numbers<int>(t.n, -46000, 46000);
                     auto const want = plain::square(x);
                     t.run([&] { square(t.exec, x.view()); });
                     return differs(want, x);
                   }),
      make_problem(category, "map_function", {},
                   [](auto& t) {
                     auto const x = t.template numbers<int>(t.n, -3, 70);
                     auto const want = plain::map_function(x);
                     auto const power = [](int v) { return v > 0 && (v & (v - 1)) == 0; };
                     values<bool> got(t.n);
                     t.run([&] { map_function(t.exec, x.view(), got.view(), power); });
                     return differs(want, got);
                   }),
  };
}

}  // namespace pareval
