// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "search.hpp"
#include "problem.hpp"
#include "reference/search.hpp"

#include <heddle/backend/cpu/tile_context.hpp>
#include <heddle/backend/reference/tile_context.hpp>

namespace pareval {

std::vector<problem> search_problems() {
  constexpr char const* category = "search";
  return {
      make_problem(category, "last_short_book", {},
                   [](auto& t) {
                     auto const pages = t.template numbers<int>(t.n, 50, 20000);
                     values<book> books(t.n);
                     for (index_t i = 0; i < t.n; ++i) books[i] = {"title", pages[i]};
                     values<index_t> got(1);
                     t.run([&] { last_short_book(t.exec, std::as_const(books).view(), got.view()); });
                     return differs(plain::last_short_book(books), got);
                   }),
      make_problem(category, "contains", {},
                   [](auto& t) {
                     auto const x = t.template numbers<int>(t.n, -500, 500);
                     int const value = t.n > 0 && t.number(0, 1) == 0 ? x[t.n - 1] : t.number(-500, 600);
                     values<bool> got(1);
                     t.run([&] { contains(t.exec, x.view(), value, got.view()); });
                     return differs(plain::contains(x, value), got);
                   }),
      make_problem(category, "closest_to_pi", {},
                   [](auto& t) {
                     auto x = t.template numbers<double>(t.n, -10000, 10000);
                     for (double& v : x) v /= 1024;
                     values<index_t> got(1);
                     t.run([&] { closest_to_pi(t.exec, std::as_const(x).view(), got.view()); });
                     return differs(plain::closest_to_pi(x), got);
                   }),
      make_problem(category, "first_even", {},
                   [](auto& t) {
                     auto x = t.template numbers<int>(t.n, -1000, 1000);
                     // The first elements are odd, so that the answer lies anywhere, or nowhere.
                     index_t const odd = t.number(0, static_cast<int>(t.n));
                     for (index_t i = 0; i < odd; ++i) x[i] |= 1;
                     values<index_t> got(1);
                     t.run([&] { first_even(t.exec, std::as_const(x).view(), got.view()); });
                     return differs(plain::first_even(x), got);
                   }),
      make_problem(category, "xor_contains", {},
                   [](auto& t) {
                     auto const x = t.template numbers<int>(t.n, 0, 200);
                     auto const y = t.template numbers<int>(t.n / 2 + 1, 0, 200);
                     int const value = t.n > 0 && t.number(0, 2) == 0 ? x[t.n - 1] : t.number(0, 250);
                     values<bool> got(1);
                     t.run([&] { xor_contains(t.exec, x.view(), y.view(), value, got.view()); });
                     return differs(plain::xor_contains(x, y, value), got);
                   }),
  };
}

}  // namespace pareval
