// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Sorting: numbers by their digits, everything else by a comparison; both stable. `argsort` and scans say where an
/// element belongs, `scatter_elements` puts it there.

#include "types.hpp"

#include <heddle/algorithm/fft.hpp>
#include <heddle/algorithm/for_each.hpp>
#include <heddle/algorithm/scan.hpp>
#include <heddle/algorithm/scatter.hpp>
#include <heddle/algorithm/sort.hpp>
#include <heddle/algorithm/sort_by.hpp>
#include <heddle/algorithm/top_k.hpp>
#include <heddle/algorithm/views.hpp>
#include <heddle/core/tensor.hpp>

namespace pareval {
using namespace heddle;

template <executor E>
void sort_by_magnitude(E& exec, view<complex<double>, 1> x) {
  auto const square = [](complex<double> z) { return fma(z.re, z.re, mul(z.im, z.im)); };
  sort_by(exec, x, x, [=](complex<double> a, complex<double> b) { return square(a) < square(b); });
}

/// The k-th smallest element, the first is k = 1.
template <executor E>
void kth_smallest(E& exec, view<int const, 1> x, index_t k, view<int, 1> result) {
  select_kth(exec, x, k - 1, result);
}

/// ranks[i] = the place of x[i] in order: the i-th of the sorted elements knows where it came from.
template <executor E>
void ranks(E& exec, view<float const, 1> x, view<index_t, 1> ranks) {
  tensor<index_t, 1> const from(exec, default_host_space, x.extents());
  argsort(exec, x, from.view());
  scatter_elements(exec, views::iota(x.size()), from.view(), ranks);
}

template <executor E>
void sort_by_start(E& exec, view<result, 1> x) {
  sort_by(exec, x, x, [](result const& a, result const& b) { return a.start < b.start; });
}

/// Sorts what is not zero; zeros stay where they are: of the sorted elements, zeros last, the i-th goes to the place of
/// the i-th that is not zero.
template <executor E>
void sort_non_zeros(E& exec, view<int, 1> x) {
  tensor<int, 1> const sorted(exec, default_host_space, x.extents());
  tensor<index_t, 1> const before(exec, default_host_space, x.extents());
  sort_by(exec, x, sorted.view(), [](int a, int b) { return a != 0 && (b == 0 || a < b); });
  exclusive_scan(exec, views::map([](int v) { return index_t{v != 0}; }, x), before.view(), plus<index_t>{});
  for_each(exec, x.size(), [=, s = sorted.view(), b = before.view()](index_t i) { x(i) = x(i) != 0 ? s(b(i)) : 0; });
}

}  // namespace pareval
