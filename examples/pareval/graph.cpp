// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph.hpp"
#include "problem.hpp"
#include "reference/graph.hpp"

#include <heddle/backend/cpu/tile_context.hpp>
#include <heddle/backend/reference/tile_context.hpp>

namespace pareval {

namespace {
/// Random edges, about two a vertex; none; the complete graph; a path whose vertices are shuffled; a few cliques.
template <class Trial>
values<int> graph(Trial& t, index_t n) {
  values<int> a(n * n);
  std::fill(a.begin(), a.end(), t.shape == shape::ascending ? 1 : 0);
  std::vector<index_t> order(static_cast<std::size_t>(n));
  for (index_t v = 0; v < n; ++v) order[static_cast<std::size_t>(v)] = v;
  std::shuffle(order.begin(), order.end(), t.random);
  auto const join = [&](index_t i, index_t j) {
    index_t const u = order[static_cast<std::size_t>(i)], v = order[static_cast<std::size_t>(j)];
    a[u * n + v] = a[v * n + u] = 1;
  };
  for (index_t i = 1; i < n; ++i) {
    if (t.shape == shape::random) join(i, t.number(0, static_cast<int>(n) - 1));
    if (t.shape == shape::descending) join(i, i - 1);
    for (index_t j = i % 7; t.shape == shape::two && j < i; j += 7) join(i, j);
  }
  for (index_t v = 0; v < n; ++v) a[v * n + v] = 0;
  return a;
}
}  // namespace

std::vector<problem> graph_problems() {
  constexpr char const* category = "graph";
  return {
      make_problem(category, "edge_count", {.most = 255},
                   [](auto& t) {
                     auto const a = t.template numbers<int>(t.n * t.n, 0, 1);
                     values<index_t> got(1);
                     t.run([&] { edge_count(t.exec, a.matrix(t.n, t.n), got.view()); });
                     return differs(plain::edge_count(a), got);
                   }),
      make_problem(category, "largest_component", {.least = 1, .most = 255},
                   [](auto& t) {
                     auto const a = graph(t, t.n);
                     values<index_t> got(1);
                     t.run([&] { largest_component(t.exec, a.matrix(t.n, t.n), got.view()); });
                     return differs(plain::largest_component(a, t.n), got);
                   }),
      make_problem(category, "highest_degree", {.most = 255},
                   [](auto& t) {
                     auto const a = graph(t, t.n);
                     values<int> got(1);
                     t.run([&] { highest_degree(t.exec, a.matrix(t.n, t.n), got.view()); });
                     return differs(plain::highest_degree(a, t.n), got);
                   }),
      make_problem(category, "component_count", {.most = 255},
                   [](auto& t) {
                     auto const a = graph(t, t.n);
                     values<index_t> got(1);
                     t.run([&] { component_count(t.exec, a.matrix(t.n, t.n), got.view()); });
                     return differs(plain::component_count(a, t.n), got);
                   }),
      make_problem(category, "shortest_path", {.least = 1, .most = 255},
                   [](auto& t) {
                     auto const a = graph(t, t.n);
                     index_t const from = t.number(0, static_cast<int>(t.n) - 1);
                     index_t const to = t.number(0, static_cast<int>(t.n) - 1);
                     values<int> got(1);
                     t.run([&] { shortest_path(t.exec, a.matrix(t.n, t.n), from, to, got.view()); });
                     return differs(plain::shortest_path(a, t.n, from, to), got);
                   }),
  };
}

}  // namespace pareval
