// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../types.hpp"
#include "../values.hpp"

#include <limits>
#include <vector>

namespace pareval::plain {

/// Twice the area of a triangle; positive where a, b, c turn to the left.
inline double orientation(point a, point b, point c) { return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x); }

inline bool is_left_of(point a, point b) { return a.x < b.x || (a.x == b.x && a.y < b.y); }

// Andrew's monotone chain: to the left from the first point of the order, without points on an edge.
inline std::vector<point> convex_hull(values<point> p) {
  std::sort(p.begin(), p.end(), is_left_of);
  index_t const n = std::unique(p.begin(), p.end()) - p.begin();
  if (n < 3) return {p.begin(), p.begin() + n};
  std::vector<point> hull;
  auto const add = [&hull](point c, std::size_t least) {
    while (hull.size() > least && orientation(hull[hull.size() - 2], hull.back(), c) <= 0) hull.pop_back();
    hull.push_back(c);
  };
  for (index_t i = 0; i < n; ++i) add(p[i], 1);
  std::size_t const lower = hull.size();
  for (index_t i = n - 2; i >= 0; --i) add(p[i], lower);
  hull.pop_back();
  return hull;
}

inline double length(point a, point b) { return std::hypot(a.x - b.x, a.y - b.y); }

inline double hull_perimeter(values<point> const& p) {
  std::vector<point> const hull = convex_hull(p);
  double sum = 0;
  for (std::size_t i = 0; i < hull.size(); ++i) sum += length(hull[i], hull[(i + 1) % hull.size()]);
  return sum;
}

inline double smallest_triangle(values<point> const& p) {
  double least = std::numeric_limits<double>::infinity();
  for (index_t i = 0; i < p.size(); ++i)
    for (index_t j = 0; j < i; ++j)
      for (index_t k = 0; k < j; ++k) least = std::min(least, std::abs(orientation(p[i], p[j], p[k])) / 2);
  return least;
}

inline double closest_pair(values<point> const& p) {
  double least = std::numeric_limits<double>::infinity();
  for (index_t i = 0; i < p.size(); ++i)
    for (index_t j = 0; j < i; ++j) {
      double const dx = p[i].x - p[j].x, dy = p[i].y - p[j].y;
      least = std::min(least, dx * dx + dy * dy);
    }
  return std::sqrt(least);
}

inline double closest_pair(values<double> const& x) {
  double least = std::numeric_limits<double>::infinity();
  for (index_t i = 0; i < x.size(); ++i)
    for (index_t j = 0; j < i; ++j) least = std::min(least, std::abs(x[i] - x[j]));
  return least;
}

}  // namespace pareval::plain
