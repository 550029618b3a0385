// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/extents.hpp>

/// @file
/// The canonical tree T(n) of every reduction whose bits are promised, as index arithmetic.
///
/// With q the largest power of two up to n and f = n - q: leaves 2i and 2i + 1 are combined first for i < f, the
/// others stand alone, and a perfect binary tree follows, the lower index always left. T(1) is the input itself.

namespace heddle {

/// A part of an index range: [offset, offset + size).
struct part {
  index_t offset;
  index_t size;
  HEDDLE_HD_FN constexpr index_t end() const noexcept { return offset + size; }
  HEDDLE_HD_FN constexpr bool operator==(part const& o) const noexcept { return offset == o.offset && size == o.size; }
};

/// Part i of n elements cut into k parts whose sizes differ by at most one, the larger ones first.
/// Pre: n >= 0, k >= 1, 0 <= i < k. Post: parts may be empty.
HEDDLE_HD_FN constexpr part balanced_part(index_t n, index_t k, index_t i) {
  HEDDLE_EXPECTS(n >= 0 && k >= 1 && i >= 0 && i < k, "a part must exist", n, k, i);
  index_t const base = n / k, extra = n % k;
  return {i * base + (i < extra ? i : extra), base + (i < extra ? 1 : 0)};
}

/// The part of `balanced_part` that holds element `at`. Pre: 0 <= at < n.
HEDDLE_HD_FN constexpr index_t balanced_owner(index_t n, index_t k, index_t at) {
  HEDDLE_EXPECTS(k >= 1 && at >= 0 && at < n, "the element must exist", n, k, at);
  index_t const base = n / k, extra = n % k, large = extra * (base + 1);
  return at < large ? at / (base + 1) : extra + (at - large) / base;
}

namespace detail {
HEDDLE_HD_FN constexpr index_t power_below(index_t n) {  // the largest power of two <= n, for n >= 1
  index_t q = 1;
  while (q <= n / 2) q *= 2;
  return q;
}
/// Where virtual leaf v of T(n) begins among the leaves; v may be q, the end.
HEDDLE_HD_FN constexpr index_t virtual_begin(index_t n, index_t v) {
  index_t const f = n - power_below(n);
  return v < f ? 2 * v : v + f;
}

HEDDLE_DEVICE_PASS_QUIET
template <class Leaf, class Combine>
HEDDLE_HD_FN constexpr auto reduce_virtual(index_t f, index_t v, index_t count, Leaf& leaf, Combine& combine)
    -> decltype(leaf(index_t{})) {
  if (count > 1) {
    auto left = reduce_virtual(f, v, count / 2, leaf, combine);
    auto right = reduce_virtual(f, v + count / 2, count / 2, leaf, combine);
    return combine(left, right);
  }
  if (v >= f) return leaf(v + f);
  auto left = leaf(2 * v);
  auto right = leaf(2 * v + 1);
  return combine(left, right);
}
}  // namespace detail

/// Reduces leaf(0) .. leaf(n - 1) along T(n); leaves are asked for in ascending order.
/// Pre: n >= 1. Complexity: n leaves, n - 1 combinations, recursion ceil(log2 n) deep.
HEDDLE_DEVICE_PASS_QUIET
template <class Leaf, class Combine>
HEDDLE_HD_FN constexpr auto tree_reduce(index_t n, Leaf leaf, Combine combine) {
  HEDDLE_EXPECTS(n >= 1, "a tree has at least one leaf", n);
  index_t const q = detail::power_below(n);
  return detail::reduce_virtual(n - q, 0, q, leaf, combine);
}

/// Calls f(part) for every maximal node of T(n) that lies wholly inside the leaves [lo, hi), in ascending order.
/// Pre: n >= 1, 0 <= lo <= hi <= n.
HEDDLE_DEVICE_PASS_QUIET
template <class F>
HEDDLE_HD_FN constexpr void tree_pieces(index_t n, index_t lo, index_t hi, F f) {
  HEDDLE_EXPECTS(n >= 1 && lo >= 0 && lo <= hi && hi <= n, "leaves must exist", n, lo, hi);
  index_t const q = detail::power_below(n), fold = n - q;
  index_t at = lo;
  while (at < hi) {
    // An odd leaf of a folded pair, or an even one whose partner is outside, stands alone.
    if (at < 2 * fold && (at % 2 == 1 || at + 1 == hi)) {
      f(part{at, 1});
      ++at;
      continue;
    }
    index_t const v = at < 2 * fold ? at / 2 : at - fold;
    index_t count = 1;
    while (v % (2 * count) == 0 && v + 2 * count <= q && detail::virtual_begin(n, v + 2 * count) <= hi) count *= 2;
    index_t const end = detail::virtual_begin(n, v + count);
    f(part{at, end - at});
    at = end;
  }
}

/// How many nodes `tree_pieces` finds.
HEDDLE_HD_FN constexpr index_t tree_piece_count(index_t n, index_t lo, index_t hi) {
  index_t count = 0;
  tree_pieces(n, lo, hi, [&](part) { ++count; });
  return count;
}

/// Merges leaves that arrive one after the other, in ascending order, as T(n) wants: a stack of partial results.
///
/// Each partial result lives in a slot. `next_slot()` is where the next leaf goes; after it is there, `push()`
/// returns how many merges follow: each combines slot s - 1 with slot s, the top one, into slot s - 1. With
/// s = next_slot() before the push, the merges are (s-1, s), (s-2, s-1), ... At the end the slots [0, pieces())
/// hold the maximal nodes of T(n) inside [lo, hi), in order.
class tree_accumulate {
 public:
  /// Pre: n >= 1, 0 <= lo <= hi <= n.
  HEDDLE_HD_FN constexpr tree_accumulate(index_t n, index_t lo, index_t hi) : n_(n), lo_(lo), at_(lo), hi_(hi) {
    HEDDLE_EXPECTS(n >= 1 && lo >= 0 && lo <= hi && hi <= n, "leaves must exist", n, lo, hi);
  }

  HEDDLE_HD_FN constexpr index_t leaf() const noexcept { return at_; }
  HEDDLE_HD_FN constexpr bool done() const noexcept { return at_ == hi_; }
  HEDDLE_HD_FN constexpr int next_slot() const noexcept { return static_cast<int>(live_); }
  HEDDLE_HD_FN constexpr int pieces() const noexcept { return static_cast<int>(live_); }

  /// The next leaf lies in `next_slot()`; returns the number of merges that it completes.
  HEDDLE_HD_FN constexpr int push() {
    HEDDLE_EXPECTS(at_ < hi_, "all leaves have arrived", at_, hi_);
    ++at_;
    index_t const after = tree_piece_count(n_, lo_, at_);
    int const merges = static_cast<int>(live_ + 1 - after);
    live_ = after;
    return merges;
  }

 private:
  index_t n_, lo_, at_, hi_;
  index_t live_ = 0;
};

/// The most slots that `tree_accumulate` uses over [lo, hi), the arriving leaf included: with m = hi - lo, at most
/// ceil(log2 m) + 1 where lo = 0, and 2 ceil(log2 m) + 1 elsewhere.
HEDDLE_HD_FN constexpr index_t tree_slots(index_t n, index_t lo, index_t hi) {
  index_t most = 0;
  for (index_t at = lo; at < hi; ++at) {
    index_t const live = tree_piece_count(n, lo, at) + 1;
    if (live > most) most = live;
  }
  return most;
}

}  // namespace heddle
