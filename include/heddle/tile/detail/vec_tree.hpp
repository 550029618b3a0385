// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Reductions over the lanes of a vec: part of tile/vec.hpp, never included alone.

#include <heddle/core/monoid.hpp>
#include <heddle/tile/vec.hpp>

namespace heddle {
namespace detail {

template <bool Odd>
struct every_other_op {
#if defined(__CUDA_ARCH__)
  template <class T>
  static HEDDLE_TILE T one(T a, T) {
    return a;
  }
#else
  template <int R, class T>
  static HEDDLE_SHIM void reg(T* o, T const* a, T const* b) {
    registers::every_other<Odd, R>(o, a, b);
  }
#endif
};

// One level of the tree inside groups of four lanes: neighbours of a, then neighbours of b.
template <class V, class Op>
HEDDLE_TILE V combine_neighbours(V const& a, V const& b, Op& op) {
  return op(apply<every_other_op<false>, V>(a, b), apply<every_other_op<true>, V>(a, b));
}

// T(N) over N vectors of type V, which lie one after the other at p.
template <class V, int N, class T, class Op>
HEDDLE_TILE V reduce_row(T const* p, Op& op) {
  if constexpr (N > 1) {
    V const left = reduce_row<V, N / 2>(p, op);
    return op(left, reduce_row<V, N / 2>(p + N / 2 * lanes_of<V>::count, op));
  } else if constexpr (is_vec<V>) {
    return V::load(p);
  } else {
    return *p;
  }
}

// The reductions of four registers, in the four lanes of the result.
template <class T, int R, class Op>
HEDDLE_TILE vec<T, 4> reduce_four(T const* a, T const* b, T const* c, T const* d, Op& op) {
  using V = vec<T, R, R>;
  V const ab = combine_neighbours(V::load(a), V::load(b), op), cd = combine_neighbours(V::load(c), V::load(d), op);
  // Group j of four lanes now holds what group j of a, b, c and d came to.
  V const groups = combine_neighbours(ab, cd, op);
  return reduce_row<vec<T, 4>, R / 4>(groups.lane, op);
}
}  // namespace detail

/// Combines the lanes along T(W): neighbours first, the lower lane always left.
///
/// `op(a, b)` is marked HEDDLE_TILE or HEDDLE_LAMBDA; one that takes vectors as well runs faster.
/// Determinism: the same tree for every R. Complexity: W - 1 combinations of numbers, fewer of vectors.
HEDDLE_DEVICE_PASS_QUIET
template <class T, int W, int R, class Op>
HEDDLE_TILE T tree_reduce(vec<T, W, R> const& a, Op op) {
#if !defined(__CUDA_ARCH__)
  if constexpr (sizeof(T) == 4 && R >= 4 && std::is_invocable_v<Op&, vec<T, 4> const&, vec<T, 4> const&>) {
    constexpr int count = W / R;
    T done[count < 4 ? 4 : count];
    for (int i = 0; i < count; i += 4) {
      T const* const p = a.lane + i * R;
      constexpr int b = count > 1 ? R : 0, c = count > 2 ? 2 * R : 0, d = count > 2 ? 3 * R : b;
      detail::reduce_four<T, R>(p, p + b, p + c, p + d, op).store(done + i);
    }
    return detail::reduce_row<T, count>(done, op);
  }
#endif
  return detail::reduce_row<T, W>(a.lane, op);
}
template <class T, int W, int R>
HEDDLE_TILE T tree_sum(vec<T, W, R> const& a) {
  return tree_reduce(a, plus<>{});
}

}  // namespace heddle
