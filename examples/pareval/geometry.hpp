// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Geometry in the plane: quickhull as selections, closest pairs as a sort and a reduction over neighbours. Pairs and
/// triples are reductions over numbers that name them.

#include "types.hpp"

#include <heddle/algorithm/compact.hpp>
#include <heddle/algorithm/reduce.hpp>
#include <heddle/algorithm/sort.hpp>
#include <heddle/algorithm/sort_by.hpp>
#include <heddle/algorithm/views.hpp>
#include <heddle/core/tensor.hpp>

#include <limits>
#include <vector>

namespace pareval {
using namespace heddle;

inline constexpr double infinite = std::numeric_limits<double>::infinity();

/// Twice the area of the triangle a, b, c; positive where it turns to the left. Of whole numbers it is exact.
HEDDLE_TILE double turn(point a, point b, point c) { return mul(b.x - a.x, c.y - a.y) - mul(b.y - a.y, c.x - a.x); }

HEDDLE_TILE double distance(point a, point b) { return sqrt(fma(a.x - b.x, a.x - b.x, mul(a.y - b.y, a.y - b.y))); }

/// Appends the hull from a to b, without a: nothing lies to the right of the edge, or the farthest point there is a
/// corner between two hulls of what lies beyond its edges.
template <executor E>
void append_hull(E& exec, view<point const, 1> points, point a, point b, std::vector<point>& hull) {
  tensor<point, 1> const right(exec, default_host_space, points.extents()), peak(exec, default_host_space, dims<1>(1));
  tensor<index_t, 1> const count(exec, default_host_space, dims<1>(1));
  select_if(exec, points, right.view(), count.view(), [=](point p) { return turn(a, b, p) < 0; });
  auto const beyond = slice(right.view(), 0, 0, read(exec, count.view()));
  if (beyond.empty()) return hull.push_back(b);
  auto const far = [=](point p, point q) { return std::pair(turn(a, b, p), p) < std::pair(turn(a, b, q), q) ? p : q; };
  reduce(exec, beyond, peak.view(), monoid_of{a, far});
  point const corner = read(exec, peak.view());
  append_hull(exec, beyond, a, corner, hull);
  append_hull(exec, beyond, corner, b, hull);
}

/// The corners of the convex hull, counterclockwise, the leftmost point (of equals the lowest) last.
template <executor E>
std::vector<point> convex_hull(E& exec, view<point const, 1> points) {
  std::vector<point> hull;
  tensor<point, 1> const end(exec, default_host_space, dims<1>(1));
  reduce(exec, points, end.view(), monoid_of{point{infinite, 0}, [](point p, point q) { return p < q ? p : q; }});
  point const left = read(exec, end.view());
  reduce(exec, points, end.view(), monoid_of{point{-infinite, 0}, [](point p, point q) { return p < q ? q : p; }});
  point const right = read(exec, end.view());
  append_hull(exec, points, left, right, hull);
  if (left != right) append_hull(exec, points, right, left, hull);
  return hull;
}

/// From each corner to the next.
template <executor E>
void hull_perimeter(E& exec, view<point const, 1> points, view<double, 1> result) {
  std::vector<point> const hull = convex_hull(exec, points);
  auto const edge = [at = hull.data(), n = std::ssize(hull)](index_t i) { return distance(at[i], at[(i + 1) % n]); };
  transform_reduce(exec, result, plus<double>{}, edge, views::iota(std::ssize(hull)));
  exec.synchronize();
}

/// The least area of three points: pairs (i, j) are numbered i n + j, and each is taken with all k behind j.
template <executor E>
void smallest_triangle(E& exec, view<point const, 1> p, view<double, 1> result) {
  auto const least = [=, n = p.size()](index_t pair) {
    index_t const i = pair / n, j = pair % n;
    double area = infinite;
    for (index_t k = j + 1; i < j && k < n; ++k) area = min(area, abs(turn(p(i), p(j), p(k))) / 2);
    return area;
  };
  transform_reduce(exec, result, minimum<double>{}, least, views::iota(p.size() * p.size()));
}

/// The least distance of two points: from left to right, each looks to the right no farther than the nearest one found.
template <executor E>
void closest_pair_2d(E& exec, view<point const, 1> points, view<double, 1> result) {
  tensor<point, 1> const sorted(exec, default_host_space, points.extents());
  sort_by(exec, points, sorted.view(), [](point p, point q) { return p < q; });
  auto const nearest = [p = sorted.view()](index_t i) {
    double least = infinite;
    for (index_t j = i + 1; j < p.size() && p(j).x - p(i).x < least; ++j) least = min(least, distance(p(i), p(j)));
    return least;
  };
  transform_reduce(exec, result, minimum<double>{}, nearest, views::iota(points.size()));
}

/// The least distance of two numbers: neighbours once they are sorted.
template <executor E>
void closest_pair_1d(E& exec, view<double const, 1> x, view<double, 1> result) {
  tensor<double, 1> const sorted(exec, default_host_space, x.extents());
  sort(exec, x, sorted.view());
  auto const gap = [v = sorted.view()](index_t i) { return v(i + 1) - v(i); };
  transform_reduce(exec, result, minimum<double>{}, gap, views::iota(max(x.size() - 1, index_t{0})));
}

}  // namespace pareval
