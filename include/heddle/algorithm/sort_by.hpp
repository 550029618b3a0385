// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/merge.hpp>
#include <heddle/algorithm/sort.hpp>
#include <heddle/tile/run.hpp>

namespace heddle {

namespace detail {

/// Sorts blocks by themselves, between two buffers; the rounds of merges follow.
template <class T, class Less>
struct sort_blocks_program {
  using plain = void;
  using data = records<T, no_value>;
  static constexpr index_t block = tile::block_elements, run = 16;

  index_t n;
  T const* source;
  T* first;
  T* second;
  bool into_second;
  Less less;

  template <class Ctx>
  struct shared {};
  HEDDLE_FN span work() const {
    return {.operation = "sort_by.blocks", .shape = {n}, .bytes = 2 * n * static_cast<index_t>(sizeof(T))};
  }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return tile::ceil_div(n, block);
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const at = ctx.tile() * block, left = n - at, count = left < block ? left : block;
    ctx.for_each(1, [this, at, count](index_t) { sort_block(at, count); });
  }

 private:
  HEDDLE_DEVICE_PASS_QUIET
  HEDDLE_HD_FN void sort_block(index_t at, index_t count) const {
    T* from = first + at;
    T* to = second + at;
    for (index_t i = 0; i < count; i += run) insert(source + at + i, from + i, count - i < run ? count - i : run);
    for (index_t width = run; width < count; width *= 2) {
      for (index_t i = 0; i < count; i += 2 * width) merge_runs(from + i, to + i, width, count - i);
      T* const merged = to;
      to = from;
      from = merged;
    }
    T* const wanted = (into_second ? second : first) + at;
    if (from != wanted)
      for (index_t i = 0; i < count; ++i) wanted[i] = from[i];
  }
  HEDDLE_DEVICE_PASS_QUIET
  HEDDLE_HD_FN void merge_runs(T const* from, T* to, index_t width, index_t left) const {
    index_t const na = left < width ? left : width, both = left < 2 * width ? left : 2 * width;
    merge_part([from](index_t i) -> T const& { return from[i]; }, na,
               [from, na](index_t i) -> T const& { return from[na + i]; }, both - na, 0, both, less,
               [from, to, na](index_t at, bool from_b, index_t i) { to[at] = from[from_b ? na + i : i]; });
  }
  HEDDLE_DEVICE_PASS_QUIET
  HEDDLE_HD_FN void insert(T const* from, T* to, index_t count) const {
    for (index_t i = 0; i < count; ++i) {
      T const moved = from[i];
      index_t j = i;
      for (; j > 0 && less(moved, to[j - 1]); --j) to[j] = to[j - 1];
      to[j] = moved;
    }
  }
};

template <class T, executor E, class Less>
HEDDLE_FN void merge_sort(E& exec, T const* in, T* out, index_t n, Less const& less) {
  using blocks = sort_blocks_program<T, Less>;
  using data = records<T, no_value>;
  if (n == 0) return;
  int rounds = 0;
  while ((blocks::block << rounds) < n) ++rounds;
  scratch_frame<E> frame(exec);
  T* const other = frame.template take<T>(n);
  tile::run(exec, blocks{n, in, out, other, rounds % 2 == 1, less});
  for (int round = 0; round < rounds; ++round) {
    bool const forth = (rounds - round) % 2 == 0;
    data const from{forth ? out : other, nullptr}, to{forth ? other : out, nullptr};
    tile::run(exec, merge_round_program<T, no_value, Less>{n, blocks::block << round, nullptr, from, to, less});
  }
}

/// indices[i] = i, and a copy of the keys where one is wanted.
template <class K, class I>
struct number_program {
  using plain = void;
  static constexpr index_t grain = 4096;

  index_t n;
  K const* keys;
  K* copy;  ///< may be null
  I* indices;

  template <class Ctx>
  struct shared {};
  HEDDLE_FN span work() const {
    index_t const bytes = static_cast<index_t>(sizeof(I) + (copy ? 2 * sizeof(K) : 0));
    return {.operation = "argsort.number", .shape = {n}, .bytes = n * bytes};
  }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return tile::ceil_div(n, grain);
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const first = ctx.tile() * grain, left = n - first;
    ctx.for_each(left < grain ? left : grain, [this, first](index_t e) {
      index_t const i = first + e;
      indices[i] = static_cast<I>(i);
      if (copy) copy[i] = keys[i];
    });
  }
};

/// An order of indices by what they name.
template <class K, class Less>
struct less_at {
  K const* keys;
  Less less;
  HEDDLE_DEVICE_PASS_QUIET
  template <class I>
  HEDDLE_HD_FN bool operator()(I const& a, I const& b) const {
    return less(keys[a], keys[b]);
  }
};

}  // namespace detail

/// out = in, ordered by `less`; equal elements stay in their order.
///
/// Shapes: vectors of one extent, strides free. Types: any that is trivially copyable; `less(a, b)` is a strict
/// weak order and runs where the executor does. Pre: out is in (in place) or doesn't overlap it. Errors:
/// contract_error. Complexity: O(n log n). Sync: submits. Determinism: exact and stable. Memory: scratch of a second
/// copy. Numbers are sorted faster by `sort`. Source: blocks of 4096, then merges along the merge path.
struct sort_by_fn {
  template <executor E, vector_view In, vector_view Out, class Less>
    requires(writable_view<Out>&& std::same_as<typename In::value_type, typename Out::value_type>&&
                 std::is_trivially_copyable_v<typename Out::value_type>&& order_of<Less, typename Out::value_type>)
  HEDDLE_FN void operator()(E& exec, In const& in, Out const& out, Less const& less) const {
    index_t const n = in.extent(0);
    using T = typename Out::value_type;
    expect_apart_or_same("sort_by", out, in);
    scratch_frame<E> frame(exec);
    T* const to = detail::adjacent_output(frame, out, n);
    if (n == 0) return;
    detail::merge_sort<T>(exec, detail::adjacent_input(exec, in, to, n), to, n, less);
    detail::put_back(exec, to, out);
  }
};

/// indices = the places of the keys in order: keys[indices[0]] comes first; equal keys by rising index.
///
/// Shapes: vectors of one extent, strides free. Types: keys as for sort, or any type with an order; indices of an
/// integer type that holds n - 1. Errors: contract_error. Otherwise as sort and sort_by.
struct argsort_fn {
  template <executor E, vector_view Keys, vector_view Indices>
    requires(writable_view<Indices>&& scalar<typename Keys::value_type>&& std::integral<typename Indices::value_type>)
  HEDDLE_FN void operator()(E& exec, Keys const& keys, Indices const& indices, sort_options const& options = {}) const {
    using K = typename Keys::value_type;
    using I = typename Indices::value_type;
    index_t const n = keys.extent(0);
    expect_apart("argsort", indices, keys);
    scratch_frame<E> frame(exec);
    I* const to = numbered(frame, indices, n);
    if (n == 0) return;
    K* const sorted = frame.template take<K>(n);
    tile::run(exec, detail::number_program<K, I>{n, detail::adjacent_input(exec, keys, sorted, n), sorted, to});
    detail::records<K, I> const both{sorted, to};
    detail::radix_sort(exec, both, both, n, options);
    detail::put_back(exec, to, indices);
  }
  template <executor E, vector_view Keys, vector_view Indices, class Less>
    requires(writable_view<Indices>&& std::integral<typename Indices::value_type>&&
                 order_of<Less, typename Keys::value_type>)
  HEDDLE_FN void operator()(E& exec, Keys const& keys, Indices const& indices, Less const& less) const {
    using K = typename Keys::value_type;
    using I = typename Indices::value_type;
    index_t const n = keys.extent(0);
    expect_apart("argsort", indices, keys);
    scratch_frame<E> frame(exec);
    I* const to = numbered(frame, indices, n);
    if (n == 0) return;
    K* const room = detail::is_adjacent(keys) ? nullptr : frame.template take<K>(n);
    K const* const from = detail::adjacent_input(exec, keys, room, n);
    tile::run(exec, detail::number_program<K, I>{n, from, nullptr, to});
    detail::merge_sort<I>(exec, to, to, n, detail::less_at<K, Less>{from, less});
    detail::put_back(exec, to, indices);
  }

 private:
  template <executor E, class Indices>
  static HEDDLE_FN auto* numbered(scratch_frame<E>& frame, Indices const& indices, index_t n) {
    using I = typename Indices::value_type;
    HEDDLE_EXPECTS(n == 0 || static_cast<index_t>(static_cast<I>(n - 1)) == n - 1,
                   "the index type must hold the last index", n);
    return detail::adjacent_output(frame, indices, n);
  }
};

inline constexpr sort_by_fn sort_by{};
inline constexpr argsort_fn argsort{};

}  // namespace heddle
