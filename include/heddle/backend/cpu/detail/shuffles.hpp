// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/tile/vec.hpp>

/// @file
/// Numbers that change lanes: pairs taken apart and put together, square blocks turned. Registers of R lanes.

namespace heddle {
namespace detail {

// Lane i of the results comes from lane `I` of the two registers side by side.
#if HEDDLE_NVCC || defined(__CUDA_ARCH__)
template <int R, class T, int... I>
HEDDLE_SHIM void pick_lanes(std::integer_sequence<int, I...>, T* o, T const* a, T const* b) {
  T r[] = {(I < R ? a[I < R ? I : 0] : b[I < R ? 0 : I - R])...};
  for (int i = 0; i < R; ++i) o[i] = r[i];
}
#else
template <int R, class T, int... I>
HEDDLE_SHIM void pick_lanes(std::integer_sequence<int, I...>, T* o, T const* a, T const* b) {
  registers::reg<R>(o) = __builtin_shufflevector(registers::reg<R>(a), registers::reg<R>(b), I...);
}
#endif

template <int R, class T, int... I>
HEDDLE_SHIM void pairs_apart(std::integer_sequence<int, I...>, T* first, T* second, T const* a, T const* b) {
  pick_lanes<R>(std::integer_sequence<int, 2 * I...>{}, first, a, b);
  pick_lanes<R>(std::integer_sequence<int, (2 * I + 1)...>{}, second, a, b);
}
template <int R, class T, int... I>
HEDDLE_SHIM void pairs_together(std::integer_sequence<int, I...>, T* a, T* b, T const* first, T const* second) {
  pick_lanes<R>(std::integer_sequence<int, (I / 2 + I % 2 * R)...>{}, a, first, second);
  pick_lanes<R>(std::integer_sequence<int, (R / 2 + I / 2 + I % 2 * R)...>{}, b, first, second);
}

/// The first n pairs at p, apart; lanes behind are zero. Pre: n <= V::width.
template <any_vec V>
HEDDLE_SHIM void load_pairs(lane_t<V> const* p, std::ptrdiff_t n, V& first, V& second) {
  constexpr int W = V::width, R = V::register_lanes;
  V const both[2] = {V::load(p, 2 * n), V::load(p + W, 2 * n - W)};
  for (int i = 0; i < W; i += R)
    pairs_apart<R>(std::make_integer_sequence<int, R>{}, first.lane + i, second.lane + i, both[0].lane + 2 * i,
                   both[0].lane + 2 * i + R);
}
/// Writes n pairs.
template <any_vec V>
HEDDLE_SHIM void store_pairs(lane_t<V>* p, std::ptrdiff_t n, V const& first, V const& second) {
  constexpr int W = V::width, R = V::register_lanes;
  V both[2];
  for (int i = 0; i < W; i += R)
    pairs_together<R>(std::make_integer_sequence<int, R>{}, both[0].lane + 2 * i, both[0].lane + 2 * i + R,
                      first.lane + i, second.lane + i);
  both[0].store(p, 2 * n);
  both[1].store(p + W, 2 * n - W);
}

// One step: lanes whose bit D is set in a change places with those whose bit is not in b.
template <int D, int R, class T, int... I>
HEDDLE_SHIM void exchange_lanes(std::integer_sequence<int, I...>, T* a, T* b) {
  vec<T, R, R> r;
  pick_lanes<R>(std::integer_sequence<int, ((I & D) != 0 ? R + I - D : I)...>{}, r.lane, a, b);
  pick_lanes<R>(std::integer_sequence<int, ((I & D) != 0 ? R + I : I + D)...>{}, b, a, b);
  r.store(a);
}
template <int D, class V, int... I>
HEDDLE_SHIM void exchange_rows(std::integer_sequence<int, I...> all, V* rows) {
  ((I & D ? void() : exchange_lanes<D, V::width>(all, rows[I].lane, rows[(I | D) < V::width ? (I | D) : 0].lane)), ...);
}
template <int D, class V>
HEDDLE_SHIM void turn_rows(V* rows) {
  if constexpr (D < V::width) {
    exchange_rows<D>(std::make_integer_sequence<int, V::width>{}, rows);
    turn_rows<2 * D>(rows);
  }
}
template <class V, class T, int... I>
HEDDLE_SHIM void turn_block(std::integer_sequence<int, I...>, T const* from, T* to, std::ptrdiff_t pitch) {
  V rows[] = {V::load(from + I * pitch)...};
  turn_rows<1>(rows);
  (rows[I].store(to + I * pitch), ...);
}

/// to = from turned, both N x N in rows of N numbers. `from` and `to` don't overlap.
template <int N, int R, class T>
HEDDLE_SHIM void turn_square(T const* from, T* to) {
  for (int i = 0; i < N; i += R)
    for (int j = 0; j < N; j += R)
      turn_block<vec<T, R, R>>(std::make_integer_sequence<int, R>{}, from + i * N + j, to + j * N + i, N);
}

}  // namespace detail
}  // namespace heddle
