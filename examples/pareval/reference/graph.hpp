// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../values.hpp"

#include <deque>
#include <limits>
#include <vector>

/// @file
/// A graph is its adjacency matrix, n x n, with 1 where there is an edge.

namespace pareval::plain {

inline index_t edge_count(values<int> const& a) { return std::count(a.begin(), a.end(), 1); }

inline int highest_degree(values<int> const& a, index_t n) {
  int highest = 0;
  for (index_t v = 0; v < n; ++v) {
    int degree = 0;
    for (index_t u = 0; u < n; ++u) degree += a[v * n + u];
    highest = std::max(highest, degree);
  }
  return highest;
}

/// Edges from a vertex to every other, -1 where there is no path.
inline std::vector<int> distances(values<int> const& a, index_t n, index_t from) {
  std::vector<int> far(static_cast<std::size_t>(n), -1);
  std::deque<index_t> queue{from};
  far[static_cast<std::size_t>(from)] = 0;
  for (; !queue.empty(); queue.pop_front()) {
    index_t const v = queue.front();
    for (index_t u = 0; u < n; ++u)
      if (a[v * n + u] != 0 && far[static_cast<std::size_t>(u)] < 0) {
        far[static_cast<std::size_t>(u)] = far[static_cast<std::size_t>(v)] + 1;
        queue.push_back(u);
      }
  }
  return far;
}

inline int shortest_path(values<int> const& a, index_t n, index_t from, index_t to) {
  int const far = distances(a, n, from)[static_cast<std::size_t>(to)];
  return far < 0 ? std::numeric_limits<int>::max() : far;
}

/// The number of vertices of each component.
inline std::vector<index_t> component_sizes(values<int> const& a, index_t n) {
  std::vector<bool> seen(static_cast<std::size_t>(n));
  std::vector<index_t> counts;
  for (index_t v = 0; v < n; ++v) {
    if (seen[static_cast<std::size_t>(v)]) continue;
    counts.push_back(0);
    std::vector<int> const far = distances(a, n, v);
    for (std::size_t u = 0; u < far.size(); ++u)
      if (far[u] >= 0) {
        seen[u] = true;
        ++counts.back();
      }
  }
  return counts;
}

inline index_t component_count(values<int> const& a, index_t n) {
  return static_cast<index_t>(component_sizes(a, n).size());
}

inline index_t largest_component(values<int> const& a, index_t n) {
  std::vector<index_t> const counts = component_sizes(a, n);
  return counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
}

}  // namespace pareval::plain
