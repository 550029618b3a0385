// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Scans: running values of any monoid, in place or not. Temporaries are tensors of the executor's queue.

#include <heddle/algorithm/reduce.hpp>
#include <heddle/algorithm/scan.hpp>
#include <heddle/core/tensor.hpp>
#include <heddle/exec/memory.hpp>

namespace pareval {
using namespace heddle;

/// out[i] = x[0] + ... + x[i].
template <executor E>
void prefix_sum(E& exec, view<double const, 1> x, view<double, 1> out) {
  inclusive_scan(exec, x, out, plus<double>{});
}

/// x[i] = min(x[0], ..., x[i]).
template <executor E>
void prefix_minimum(E& exec, view<float, 1> x) {
  inclusive_scan(exec, x, x, minimum<float>{});
}

/// The sum of all prefix sums.
template <executor E>
void sum_of_prefix_sums(E& exec, view<double const, 1> x, view<double, 1> result) {
  tensor<double, 1> const sums(exec, default_host_space, x.extents());
  inclusive_scan(exec, x, sums.view(), plus<double>{});
  reduce(exec, sums.view(), result, plus<double>{});
}

/// out[i] = x[n - 1] + ... + x[n - 1 - i]: a view may run backwards.
template <executor E>
void reverse_prefix_sum(E& exec, view<int const, 1> x, view<int, 1> out) {
  inclusive_scan(exec, reverse(x), out, plus<int>{});
}

/// The sums of a run of elements that matter to runs around it: of all, the largest of a head, of a tail, of any part.
struct run_sums {
  static constexpr index_t none = index_t{-1} << 60;
  index_t all = 0, head = none, tail = none, best = none;
  operator index_t() const { return best; }
  run_sums operator+(run_sums const& next) const {
    return {all + next.all, max(head, all + next.head), max(tail + next.all, next.tail),
            max(max(best, next.best), tail + next.head)};
  }
};

/// The largest sum of elements that stand side by side, at least one.
template <executor E>
void largest_contiguous_sum(E& exec, view<int const, 1> x, view<index_t, 1> result) {
  auto const alone = [](int v) { return run_sums{v, v, v, v}; };
  auto const joined = [](run_sums const& a, run_sums const& b) { return a + b; };
  transform_reduce(exec, result, monoid_of{run_sums{}, joined}, alone, x);
}

}  // namespace pareval
