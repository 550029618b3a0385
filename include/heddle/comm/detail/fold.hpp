// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/comm/operations.hpp>
#include <heddle/core/tree.hpp>

/// @file
/// Tile by tile evaluation of the canonical tree over contributions that lie in memory, with a stack of partial tiles
/// that is as deep as the tree.

namespace heddle::detail {

inline constexpr index_t max_leaves = index_t{1} << 20;

/// The element that a finished accumulator becomes: `finish`, one rounding, and one NaN for all machines.
template <class T, class Acc, class Op>
HEDDLE_HD_FN T finish_element(Op const& op, Acc a, index_t terms) {
  if constexpr (requires { op.finish(a, terms); }) a = op.finish(a, terms);
  if constexpr (std::is_floating_point_v<Acc>)
    if (a != a) a = sizeof(Acc) == 4 ? static_cast<Acc>(__builtin_nanf("")) : static_cast<Acc>(__builtin_nan(""));
  return static_cast<T>(a);
}

/// Partial results of one tile: `leaf` pushes, `combine` merges the two on top, the lower index left.
///
/// A leaf is read where it lies, when it is combined; the tile of a leaf that stands alone is read by `result`.
template <class In, class Acc, class Op>
class tile_stack {
 public:
  static constexpr index_t tile = sizeof(Acc) >= 2048 ? 1 : static_cast<index_t>(2048 / sizeof(Acc));
  static constexpr int depth = 24;

  HEDDLE_FN tile_stack(Op const& op, index_t n) noexcept : op_(op), n_(n), top_(0) {}
  tile_stack(tile_stack const&) = delete;
  tile_stack& operator=(tile_stack const&) = delete;

  HEDDLE_FN int leaf(In const* from) noexcept {
    leaf_[top_] = from;
    return top_++;
  }
  HEDDLE_FN int combine(int left, int right) {
    HEDDLE_ASSERT(right == left + 1 && top_ == right + 1, "partial tiles are a stack", left, right, top_);
    In const *const a = leaf_[left], *const b = leaf_[right];
    if (a && b)
      apply(at(left), a, b);
    else if (a)
      apply(at(left), a, at(right));
    else if (b)
      merge(at(left), b);
    else
      merge(at(left), at(right));
    leaf_[left] = nullptr;
    --top_;
    return left;
  }
  HEDDLE_FN Acc const* result() noexcept {
    if (leaf_[0]) {
      for (index_t i = 0; i < n_; ++i) at(0)[i] = static_cast<Acc>(leaf_[0][i]);
      leaf_[0] = nullptr;
    }
    return at(0);
  }
  HEDDLE_FN index_t size() const noexcept { return n_; }

 private:
  HEDDLE_FN Acc* at(int level) noexcept { return reinterpret_cast<Acc*>(memory_) + level * tile; }

  // A constant trip count and disjoint memory let the compiler use vectors.
  template <class X, class Y>
  HEDDLE_FN void apply(Acc* HEDDLE_RESTRICT to, X const* HEDDLE_RESTRICT a, Y const* HEDDLE_RESTRICT b) {
    if (n_ == tile)
      for (index_t i = 0; i < tile; ++i) to[i] = op_(static_cast<Acc>(a[i]), static_cast<Acc>(b[i]));
    else
      for (index_t i = 0; i < n_; ++i) to[i] = op_(static_cast<Acc>(a[i]), static_cast<Acc>(b[i]));
  }
  template <class Y>
  HEDDLE_FN void merge(Acc* HEDDLE_RESTRICT a, Y const* HEDDLE_RESTRICT b) {
    if (n_ == tile)
      for (index_t i = 0; i < tile; ++i) a[i] = op_(a[i], static_cast<Acc>(b[i]));
    else
      for (index_t i = 0; i < n_; ++i) a[i] = op_(a[i], static_cast<Acc>(b[i]));
  }

  alignas(64) std::byte memory_[sizeof(Acc) * tile * depth];
  In const* leaf_[depth];
  Op const& op_;
  index_t n_;
  int top_;
};

/// Writes the finished tile as elements. With one leaf the element itself is the result, bit for bit.
template <class T, class Acc, class Op>
HEDDLE_FN void store_tile(Op const& op, Acc const* HEDDLE_RESTRICT a, index_t n, index_t terms,
                          T* HEDDLE_RESTRICT out) {
  constexpr index_t tile = tile_stack<T, Acc, Op>::tile;
  if (n == tile)
    for (index_t i = 0; i < tile; ++i) out[i] = finish_element<T>(op, a[i], terms);
  else
    for (index_t i = 0; i < n; ++i) out[i] = finish_element<T>(op, a[i], terms);
}

/// Pushes T(n) of `leaves` contributions; `source(leaf)` is where the tile of a leaf begins.
template <class Stack, class Source>
HEDDLE_FN void fold_ranks(Stack& stack, index_t leaves, Source const& source) {
  tree_reduce(
      leaves, [&](index_t r) { return stack.leaf(source(r)); },
      [&](int left, int right) { return stack.combine(left, right); });
}

/// Pushes the node of T(V) over virtual leaves [v, v + count), whose maximal pieces lie on `ranks` ranks;
/// `source(rank, piece)` is where the tile of a rank's piece begins.
template <class Stack, class Source>
class piece_fold {
 public:
  HEDDLE_FN piece_fold(Stack& stack, index_t leaves, index_t ranks, Source const& source) noexcept
      : stack_(stack), leaves_(leaves), ranks_(ranks), source_(source), owner_(-1), piece_(0) {}
  piece_fold(piece_fold const&) = delete;
  piece_fold& operator=(piece_fold const&) = delete;

  HEDDLE_FN void run() { node(0, power_below(leaves_)); }

 private:
  HEDDLE_FN int range(index_t lo, index_t hi, index_t v, index_t count) {
    index_t const first = balanced_owner(leaves_, ranks_, lo);
    if (first == balanced_owner(leaves_, ranks_, hi - 1)) {  // the first node from above that one rank holds
      piece_ = first == owner_ ? piece_ + 1 : 0;
      owner_ = first;
      return stack_.leaf(source_(owner_, piece_));
    }
    if (count > 1) {
      int const left = node(v, count / 2), right = node(v + count / 2, count / 2);
      return stack_.combine(left, right);
    }
    int const left = range(lo, lo + 1, v, 1), right = range(lo + 1, hi, v, 1);
    return stack_.combine(left, right);
  }
  HEDDLE_FN int node(index_t v, index_t count) {
    return range(virtual_begin(leaves_, v), virtual_begin(leaves_, v + count), v, count);
  }

  Stack& stack_;
  index_t leaves_, ranks_;
  Source const& source_;
  index_t owner_, piece_;
};

}  // namespace heddle::detail
