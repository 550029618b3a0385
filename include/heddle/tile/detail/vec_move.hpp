// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Lanes that change places, and stores past the caches: part of tile/vec.hpp, never included alone.

#include <heddle/tile/vec.hpp>

namespace heddle {
namespace detail {

#if !defined(__CUDA_ARCH__)
namespace registers {

/// Lane i of o is a[i - D]; the first D lanes are the last of `before`. 1 <= D < R.
template <int D, int R, class T>
HEDDLE_SHIM void lanes_up(T* o, T const* a, T const* before) {
#if defined(__x86_64__) && !defined(__clang__)
  if constexpr (is_wide<T, R> && sizeof(T) >= 4) {
    raw<T, R> r;
    if constexpr (register_bytes<T, R> == 64) {
      if constexpr (sizeof(T) == 4)
        asm("valignd %3, %2, %1, %0" : "=v"(r) : "v"(reg<R>(a)), "v"(reg<R>(before)), "i"(R - D));
      else
        asm("valignq %3, %2, %1, %0" : "=v"(r) : "v"(reg<R>(a)), "v"(reg<R>(before)), "i"(R - D));
    } else {
      // The upper half of `before` and the lower one of a: what comes in from below, half by half.
      raw<T, R> below;
      constexpr int bytes = D * static_cast<int>(sizeof(T));
      asm("vperm2f128 $0x21, %2, %1, %0" : "=x"(below) : "x"(reg<R>(before)), "x"(reg<R>(a)));
      if constexpr (bytes == 16)
        r = below;
      else if constexpr (bytes < 16)
        asm("vpalignr %3, %2, %1, %0" : "=x"(r) : "x"(reg<R>(a)), "x"(below), "i"(16 - bytes));
      else
        for (int i = 0; i < R; ++i) r[i] = i < D ? reg<R>(before)[R - D + i] : reg<R>(a)[i - D];
    }
    reg<R>(o) = r;
    return;
  }
#endif
  raw<T, R> r{};
  for (int i = 0; i < D; ++i) r[i] = reg<R>(before)[R - D + i];
  for (int i = D; i < R; ++i) r[i] = reg<R>(a)[i - D];
  reg<R>(o) = r;
}

/// Writes a register to aligned memory and leaves no copy in the caches. `stream_fence` ends a series of such stores.
template <int R, class T>
HEDDLE_SHIM void stream(T* to, T const* a) {
#if defined(__x86_64__) && defined(__OPTIMIZE__)
  if constexpr (register_bytes<T, R> >= 16) {
#if defined(__clang__)
    __builtin_nontemporal_store(reg<R>(a), reinterpret_cast<raw<T, R>*>(to));
#else
    raw<T, R>& target = *reinterpret_cast<raw<T, R>*>(to);
    if constexpr (is_wide<T, R>)
      asm("vmovntps %1, %0" : "=m"(target) : "v"(reg<R>(a)));
    else
      asm("movntps %1, %0" : "=m"(target) : "x"(reg<R>(a)));
#endif
    return;
  }
#endif
  store<R>(to, a);
}

}  // namespace registers

template <int R, int... I, class T>
HEDDLE_SHIM void stream_registers(std::integer_sequence<int, I...>, T* p, T const* o) {
  (registers::stream<R>(p + I * R, o + I * R), ...);
}
#endif

HEDDLE_TILE void stream_fence() {
#if defined(__x86_64__) && !defined(__CUDA_ARCH__)
  asm volatile("sfence" ::: "memory");
#endif
}

template <int D, int R, int I, class T>
HEDDLE_TILE void lanes_up_register(T* o, T const* a, T const* before) {
#if defined(__CUDA_ARCH__)
  for (int i = R * I; i < R * I + R; ++i) o[i] = i < D ? before[0] : a[i - D];
#else
  T const* const lower = I == 0 ? before : a + (I - 1) * R;
  if constexpr (D % R == 0)
    registers::reg<R>(o + I * R) = registers::reg<R>(I >= D / R ? a + (I - D / R) * R : before);
  else
    registers::lanes_up<D % R, R>(o + I * R, a + I * R, lower);
#endif
}
template <int D, int R, int... I, class T>
HEDDLE_TILE void lanes_up_registers(std::integer_sequence<int, I...>, T* o, T const* a, T const* before) {
  (lanes_up_register<D, R, I>(o, a, before), ...);
}

}  // namespace detail

/// Lane i is lane i - D of v, and `fill` where there is none. Pre: D is a power of two below W.
template <int D, class T, int W, int R>
HEDDLE_TILE vec<T, W, R> lanes_up(vec<T, W, R> const& v, T fill) {
  static_assert(D >= 1 && D < W && (D & (D - 1)) == 0, "lanes go up by a power of two");
  vec<T, W, R> r;
  auto const before = vec<T, R, R>::splat(fill);
  detail::lanes_up_registers<D, R>(detail::registers_of<W, R>{}, r.lane, v.lane, before.lane);
  return r;
}

/// Writes every lane past the caches, where the machine has such stores. Pre: p is aligned to one register;
/// detail::stream_fence() follows before others read. For host code.
template <class T, int W, int R>
HEDDLE_SHIM void store_streaming(T* p, vec<T, W, R> const& v) {
#if !defined(__CUDA_ARCH__)
  detail::stream_registers<R>(detail::registers_of<W, R>{}, p, v.lane);
#else
  v.store(p);
#endif
}

}  // namespace heddle
