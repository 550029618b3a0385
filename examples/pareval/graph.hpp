// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Graphs as adjacency matrices. A round over all vertices is a `for_each` of rows; what a round found is read once by
/// the host, which decides whether there is another.

#include <heddle/algorithm/copy.hpp>
#include <heddle/algorithm/for_each.hpp>
#include <heddle/algorithm/histogram.hpp>
#include <heddle/algorithm/reduce.hpp>
#include <heddle/algorithm/segmented.hpp>
#include <heddle/algorithm/transform.hpp>
#include <heddle/algorithm/views.hpp>
#include <heddle/core/tensor.hpp>

#include <limits>

namespace pareval {
using namespace heddle;

template <executor E>
void edge_count(E& exec, view<int const, 2> a, view<index_t, 1> result) {
  transform_reduce(
      exec, result, plus<index_t>{}, [](int edge) { return index_t{edge == 1}; }, a);
}

/// The largest sum of a row.
template <executor E>
void highest_degree(E& exec, view<int const, 2> a, view<int, 1> result) {
  index_t const n = a.extent(0);
  tensor<int, 1> const degree(exec, default_host_space, dims<1>(n));
  auto const offsets = views::map([n](index_t v) { return v * n; }, views::iota(n + 1));
  segmented_reduce(exec, reshape(a, dims<1>(a.size())), offsets, degree.view(), plus<int>{});
  reduce(exec, degree.view(), result, maximum<int>{}, 0);
}

/// label[v] = the least vertex of v's component. In a round each vertex takes the least label beside it, and then the
/// label of that label: on a path the reach of a label grows by a factor in every round.
template <executor E>
void label_components(E& exec, view<int const, 2> a, view<index_t, 1> label) {
  index_t const n = a.extent(0);
  tensor<index_t, 1> const next(exec, default_host_space, dims<1>(n)), moved(exec, default_host_space, dims<1>(1));
  auto const lower = next.view();
  copy(exec, views::iota(n), label);
  do {
    auto const least = [=](index_t v) {
      lower(v) = label(v);
      for (index_t u = 0; u < n; ++u)
        if (a(v, u) != 0) lower(v) = min(lower(v), label(u));
    };
    for_each(exec, n, least, 16);
    auto const distance = [=](index_t v) { return label(v) - lower(lower(v)); };
    transform_reduce(exec, moved.view(), maximum<index_t>{}, distance, views::iota(n));
    copy(exec, views::gather(lower, lower), label);
  } while (read(exec, moved.view()) > 0);
}

/// Vertices per label, and the largest count.
template <executor E>
void largest_component(E& exec, view<int const, 2> a, view<index_t, 1> result) {
  tensor<index_t, 1> const label(exec, default_host_space, dims<1>(a.extent(0)));
  tensor<index_t, 1> const count(exec, default_host_space, dims<1>(a.extent(0)));
  label_components(exec, a, label.view());
  histogram_by(exec, label.view(), count.view());
  reduce(exec, count.view(), result, maximum<index_t>{}, index_t{0});
}

/// A component has one vertex that is its own label.
template <executor E>
void component_count(E& exec, view<int const, 2> a, view<index_t, 1> result) {
  tensor<index_t, 1> const label(exec, default_host_space, dims<1>(a.extent(0)));
  label_components(exec, a, label.view());
  auto const leads = [](index_t l, index_t v) { return index_t{l == v}; };
  transform_reduce(exec, result, plus<index_t>{}, leads, label.view(), views::iota(label.size()));
}

/// Distances from `from`: in a round each vertex takes the least distance beside it plus one, until nothing changes.
/// No path: the largest int.
template <executor E>
void shortest_path(E& exec, view<int const, 2> a, index_t from, index_t to, view<int, 1> result) {
  constexpr int far = std::numeric_limits<int>::max();
  index_t const n = a.extent(0);
  tensor<int, 2> const both(exec, default_host_space, dims<2>(2, n));
  tensor<int, 1> const moved(exec, default_host_space, dims<1>(1));
  auto const distance = select(both.view(), 0, 0), next = select(both.view(), 0, 1);
  transform(
      exec, distance, [=](index_t v) { return v == from ? 0 : far; }, views::iota(n));
  do {
    auto const least = [=](index_t v) {
      next(v) = distance(v);
      for (index_t u = 0; u < n; ++u)
        if (a(v, u) != 0 && distance(u) != far) next(v) = min(next(v), distance(u) + 1);
    };
    for_each(exec, n, least, 16);
    transform_reduce(
        exec, moved.view(), maximum<int>{}, [](int d, int e) { return int{d != e}; }, distance, next);
    copy(exec, next, distance);
  } while (read(exec, moved.view()) > 0);
  copy(exec, slice(distance, 0, to, to + 1), result);
}

}  // namespace pareval
