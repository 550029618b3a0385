// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/arith.hpp>
#include <heddle/tile/detail/registers_convert.hpp>

#include <cstddef>
#include <utility>

/// @file
/// Vectors of numbers under the names of core/arith.hpp, so that one template serves scalar, vector and device.

namespace heddle {

namespace detail {
HEDDLE_TILE constexpr int smaller(int a, int b) { return a < b ? a : b; }
}  // namespace detail

/// W numbers that are worked on in registers of R lanes.
///
/// Types: T any built-in number; W a power of two from 1 to 64 (128 for bytes). The default R fills 64 bytes, or W.
/// Pre: registers of 32 bytes are used only inside functions that have AVX2 and FMA, of 64 bytes only with AVX-512
/// (tile/targets.hpp); R = 16 / sizeof(T) works everywhere. Unoptimised code may use every R.
/// Determinism: every operation gives the bits of the scalar one in each lane. clang with -ffp-contract=fast, which is
/// not its default and can't be seen from here, fuses products of wide registers all the same.
/// Memory: aligned to one register.
template <class T, int W, int R = detail::smaller(W, static_cast<int>(64 / sizeof(T)))>
struct alignas(sizeof(T) * R) vec {
  static_assert(arithmetic<T> && !std::is_same_v<T, bool>, "a vec holds built-in numbers");
  static_assert(W >= 1 && W <= 128 && (W & (W - 1)) == 0, "the number of lanes is a power of two up to 128");
  static_assert(R >= 1 && R <= W && (R & (R - 1)) == 0 && sizeof(T) * R <= 64, "a register holds at most 64 bytes");

  using value_type = T;
  static constexpr int width = W;
  static constexpr int register_lanes = R;

  T lane[W];

  HEDDLE_TILE T operator[](int i) const { return lane[i]; }

  /// Every lane x; every lane zero.
  static HEDDLE_TILE vec splat(T x);
  static HEDDLE_TILE vec zero() { return splat(T{}); }
  /// Lane i is i.
  static HEDDLE_TILE vec iota();
  /// W elements at p, which needs only the alignment of T.
  static HEDDLE_TILE vec load(T const* p);
  /// The first n elements, then zero or `fill`; reads nothing at and behind p + n. n may be negative or above W.
  static HEDDLE_TILE vec load(T const* p, std::ptrdiff_t n);
  static HEDDLE_TILE vec load(T const* p, std::ptrdiff_t n, T fill);
  HEDDLE_TILE void store(T* p) const;
  /// Writes the first n elements only.
  HEDDLE_TILE void store(T* p, std::ptrdiff_t n) const;
};

/// Any vec.
template <class V>
inline constexpr bool is_vec = false;
template <class T, int W, int R>
inline constexpr bool is_vec<vec<T, W, R>> = true;
template <class V>
concept any_vec = is_vec<V>;

/// What a vec has in common with one number.
template <class T, int W, int R>
struct lanes_of<vec<T, W, R>> {
  using scalar = T;
  template <class U>
  using rebind = vec<U, W, (sizeof(U) * R > 64 ? 64 / static_cast<int>(sizeof(U)) : R)>;
  static constexpr int count = W;
  static HEDDLE_TILE vec<T, W, R> splat(T x) { return vec<T, W, R>::splat(x); }
};

/// The result of a comparison: all bits of a lane set, or none. For one number, bool.
template <class V>
using mask_t = rebind_lanes<V, int_bits_t<lane_t<V>>>;

namespace detail {
/// The vector among operands that are vectors of one type or numbers of its lanes.
template <class A, class... Rest>
struct vec_among : vec_among<Rest...> {};
template <class T, int W, int R, class... Rest>
struct vec_among<vec<T, W, R>, Rest...> {
  using type = vec<T, W, R>;
};
template <class V, class A>
inline constexpr bool fits = std::is_same_v<V, A> || std::is_same_v<lane_t<V>, A>;
template <class... A>
concept vec_operands = (is_vec<A> || ...) && (fits<typename vec_among<A...>::type, A> && ...);
template <class... A>
using vec_of = typename vec_among<A...>::type;

template <any_vec V>
HEDDLE_TILE V const& as_vec(V const& v) {
  return v;
}
template <any_vec V>
HEDDLE_TILE V as_vec(lane_t<V> x) {
  return V::splat(x);
}

template <int W, int R>
using registers_of = std::make_integer_sequence<int, W / R>;

// Runs Op::reg on each register, or Op::one on each lane in device code.
template <class Op, int R, int I, class O, class... A>
HEDDLE_TILE void one_register(O* o, A const*... a) {
#if defined(__CUDA_ARCH__)
  for (int i = I * R; i < I * R + R; ++i) o[i] = Op::one(a[i]...);
#else
  Op::template reg<R>(o + I * R, (a + I * R)...);
#endif
}
HEDDLE_DEVICE_PASS_QUIET
template <class Op, int R, int... I, class O, class... A>
HEDDLE_TILE void each_register(std::integer_sequence<int, I...>, O* o, A const*... a) {
  (one_register<Op, R, I>(o, a...), ...);
}
template <class Op, class V, class... A>
HEDDLE_TILE V apply(A const&... a) {
  V r;
  each_register<Op, V::register_lanes>(registers_of<V::width, V::register_lanes>{}, r.lane, a.lane...);
  return r;
}
}  // namespace detail
}  // namespace heddle

#include <heddle/tile/detail/vec_move.hpp>
#include <heddle/tile/detail/vec_operations.hpp>
#include <heddle/tile/detail/vec_storage.hpp>
#include <heddle/tile/detail/vec_tree.hpp>
