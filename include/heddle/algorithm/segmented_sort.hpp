// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/segmented.hpp>
#include <heddle/algorithm/sort_by.hpp>
#include <heddle/core/overlap.hpp>
#include <heddle/tile/run.hpp>

namespace heddle {

namespace detail {

/// numbers[i] = the segment of element i.
template <class Offsets>
struct number_segments_program {
  using plain = void;
  segments<Offsets> cut;
  std::uint32_t* numbers;

  template <class Ctx>
  struct shared {};
  HEDDLE_FN span work() const {
    return {
        .operation = "segmented_sort.number", .shape = {cut.n, cut.count}, .bytes = cut.offsets.bytes() + 4 * cut.n};
  }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return cut.windows();
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const window = ctx.tile();
    ctx.for_each(1, [this, window](index_t) {
      cut.for_each_block(window, [this](index_t s, index_t first, index_t end) {
        for (index_t i = first; i < end; ++i) numbers[i] = static_cast<std::uint32_t>(s);
      });
    });
  }
};

/// to[i * to_step] = from[at[i] * from_step]
template <class T>
struct take_program {
  using plain = void;
  static constexpr index_t grain = 4096;

  index_t n;
  index_t const* at;
  T const* from;
  index_t from_step;
  T* to;
  index_t to_step;

  template <class Ctx>
  struct shared {};
  HEDDLE_FN span work() const {
    index_t const bytes = static_cast<index_t>(sizeof(index_t) + 2 * sizeof(T));
    return {.operation = "segmented_sort.take", .shape = {n}, .bytes = n * bytes};
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
      to[i * to_step] = from[at[i] * from_step];
    });
  }
};

template <executor E, any_view In, any_view Out>
HEDDLE_FN void take_elements(E& exec, index_t const* at, In const& in, Out const& out) {
  using T = typename Out::value_type;
  if (!out.empty())
    tile::run(exec, take_program<T>{out.size(), at, in.data(), in.stride(0), out.data(), out.stride(0)});
}

/// The segment of each element, in scratch.
template <executor E, class In, class Offsets>
HEDDLE_FN view<std::uint32_t, 1> numbered_segments(E& exec, scratch_frame<E>& frame, In const& in,
                                                   Offsets const& offsets) {
  auto const cut = checked_segments(exec, in, offsets);
  HEDDLE_EXPECTS(cut.count <= index_t{1} << 32, "segments are numbered by 32 bits", cut.count);
  auto* const numbers = frame.template take<std::uint32_t>(cut.n);
  if (cut.n > 0) tile::run(exec, number_segments_program<source_t<Offsets>>{cut, numbers});
  return view<std::uint32_t, 1>(numbers, dims<1>(cut.n));
}

}  // namespace detail

/// Each segment of keys_out is that of keys_in in order, as sort orders it; equal keys stay in theirs.
///
/// Shapes: vectors of n, strides free; offsets of S + 1. Types: keys as for sort; offsets integers. Pre: offsets start
/// at 0, never fall and end at n; at most 2^32 segments; keys_out is keys_in (in place) or doesn't overlap it. Errors:
/// contract_error, from the work for other offsets. Complexity: two sorts of n numbers, shared evenly whatever the
/// segments are. Sync: submits. Determinism: exact and stable. Memory: as sort_pairs, and 4 bytes and one key for each
/// element. Source: a stable sort by key, then one by segment.
struct segmented_sort_fn {
  template <executor E, vector_view In, detail::offsets_input Offsets, vector_view Out>
    requires(writable_view<Out>&& scalar<typename Out::value_type>&&
                 std::same_as<typename In::value_type, typename Out::value_type>)
  HEDDLE_FN void operator()(E& exec, In const& keys_in, Offsets const& offsets, Out const& keys_out,
                            sort_options const& options = {}) const {
    using K = typename Out::value_type;
    index_t const n = keys_in.extent(0);
    HEDDLE_EXPECTS(keys_out.extent(0) == n, "all operands of a sort have one extent", keys_out.extent(0), n);
    expect_apart_or_same("segmented_sort", keys_out, keys_in);
    expect_apart("segmented_sort", keys_out, offsets);
    scratch_frame<E> frame(exec);
    view<std::uint32_t, 1> const numbers = detail::numbered_segments(exec, frame, keys_in, offsets);
    view<K, 1> const keys(frame.template take<K>(n), dims<1>(n));
    sort_pairs(exec, keys_in, keys, numbers, numbers, options);
    sort_pairs(exec, numbers, numbers, keys, keys_out);
  }
};

/// The same with a value for each key, which goes where its key goes.
///
/// Shapes: four vectors of n, strides free; offsets of S + 1. Types: values of any trivially copyable type. Pre: the
/// outputs overlap nothing; otherwise as segmented_sort. Memory: 12 bytes for each element, and that of two sorts.
struct segmented_sort_pairs_fn {
  template <executor E, vector_view KeysIn, detail::offsets_input Offsets, vector_view KeysOut, vector_view ValuesIn,
            vector_view ValuesOut>
    requires(writable_view<KeysOut>&& writable_view<ValuesOut>&& scalar<typename KeysOut::value_type>&&
                 std::same_as<typename KeysIn::value_type, typename KeysOut::value_type>&&
                     std::same_as<typename ValuesIn::value_type, typename ValuesOut::value_type>&&
                         std::is_trivially_copyable_v<typename ValuesOut::value_type>)
  HEDDLE_FN void operator()(E& exec, KeysIn const& keys_in, Offsets const& offsets, KeysOut const& keys_out,
                            ValuesIn const& values_in, ValuesOut const& values_out,
                            sort_options const& options = {}) const {
    index_t const n = keys_in.extent(0);
    HEDDLE_EXPECTS(keys_out.extent(0) == n && values_in.extent(0) == n && values_out.extent(0) == n,
                   "all operands of a sort have one extent", keys_out.extent(0), values_in.extent(0),
                   values_out.extent(0), n);
    expect_apart("segmented_sort_pairs", keys_out, keys_in, values_in, values_out, offsets);
    expect_apart("segmented_sort_pairs", values_out, keys_in, values_in, offsets);
    scratch_frame<E> frame(exec);
    view<std::uint32_t, 1> const numbers = detail::numbered_segments(exec, frame, keys_in, offsets);
    view<index_t, 1> const at(frame.template take<index_t>(n), dims<1>(n));
    view<std::uint32_t, 1> const moved(frame.template take<std::uint32_t>(n), dims<1>(n));
    argsort(exec, keys_in, at, options);
    detail::take_elements(exec, at.data(), numbers, moved);
    sort_pairs(exec, moved, moved, at, at);
    detail::take_elements(exec, at.data(), keys_in, keys_out);
    detail::take_elements(exec, at.data(), values_in, values_out);
  }
};

inline constexpr segmented_sort_fn segmented_sort{};
inline constexpr segmented_sort_pairs_fn segmented_sort_pairs{};

}  // namespace heddle
