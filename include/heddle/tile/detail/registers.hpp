// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/arith.hpp>

/// @file
/// One operation each on one register of R lanes, for host code. Operands and results are addresses of aligned
/// lanes, because nvcc refuses raw vectors in signatures; the optimiser turns the addresses into registers.
///
/// The shims carry no target attribute and take the instruction set of the function that they are inlined into. A
/// register of 32 bytes needs AVX2 and FMA there, one of 64 bytes AVX-512; 16 bytes and less work everywhere.

#if !defined(__CUDA_ARCH__)

namespace heddle::detail::registers {

template <class T, int R>
struct raw_of {
  typedef T type __attribute__((vector_size(R * sizeof(T)), may_alias));
  typedef T loose __attribute__((vector_size(R * sizeof(T)), may_alias, aligned(alignof(T))));
};
template <class T, int R>
using raw = typename raw_of<T, R>::type;
template <class T, int R>
using loose_raw = typename raw_of<T, R>::loose;

template <int R, class T>
HEDDLE_SHIM raw<T, R>& reg(T* lanes) {
  return *reinterpret_cast<raw<T, R>*>(lanes);
}
template <int R, class T>
HEDDLE_SHIM raw<T, R> const& reg(T const* lanes) {
  return *reinterpret_cast<raw<T, R> const*>(lanes);
}

// What one instruction may be assumed for a register of these bytes. Unoptimised code runs on the baseline only.
template <class T, int R>
inline constexpr int register_bytes = static_cast<int>(sizeof(T)) * R;
#if defined(__x86_64__) && defined(__OPTIMIZE__)
template <class T, int R>
inline constexpr bool is_wide = register_bytes<T, R> >= 32;
#else
template <class T, int R>
inline constexpr bool is_wide = false;
#endif
#if defined(__x86_64__) && defined(__FMA__)
template <class T, int R>
inline constexpr bool has_fma = std::is_floating_point_v<T> && (is_wide<T, R> || register_bytes<T, R> == 16);
#elif defined(__aarch64__)
template <class T, int R>
inline constexpr bool has_fma = std::is_floating_point_v<T> && register_bytes<T, R> == 16;
#else
template <class T, int R>
inline constexpr bool has_fma = std::is_floating_point_v<T> && is_wide<T, R>;
#endif

template <int R, class T>
HEDDLE_SHIM void load(T* o, T const* from) {
  reg<R>(o) = *reinterpret_cast<loose_raw<T, R> const*>(from);
}
template <int R, class T>
HEDDLE_SHIM void store(T* to, T const* a) {
  *reinterpret_cast<loose_raw<T, R>*>(to) = reg<R>(a);
}

#if !defined(__clang__)
template <int R, class T>
HEDDLE_SHIM void splat(T* o, T x) {
  if constexpr (is_wide<T, R> && sizeof(T) == 4) {
    // Other spellings become a chain of inserts on 64 bytes.
    float const bits = bit_cast<float>(x);
    raw<float, R> r;
    asm("vbroadcastss %1, %0" : "=v"(r) : "vm"(bits));
    reg<R>(reinterpret_cast<float*>(o)) = r;
  } else if constexpr (is_wide<T, R> && sizeof(T) == 8) {
    double const bits = bit_cast<double>(x);
    raw<double, R> r;
    asm("vbroadcastsd %1, %0" : "=v"(r) : "vm"(bits));
    reg<R>(reinterpret_cast<double*>(o)) = r;
  } else {
    raw<T, R> r;
    for (int i = 0; i < R; ++i) r[i] = x;
    reg<R>(o) = r;
  }
}
template <int R, class T>
HEDDLE_SHIM void fma(T* o, T const* a, T const* b, T const* c) {
  if constexpr (has_fma<T, R>) {
    raw<T, R> r = reg<R>(c);
#if defined(__aarch64__)
    if constexpr (sizeof(T) == 4)
      asm("fmla %0.4s, %1.4s, %2.4s" : "+w"(r) : "w"(reg<R>(a)), "w"(reg<R>(b)));
    else
      asm("fmla %0.2d, %1.2d, %2.2d" : "+w"(r) : "w"(reg<R>(a)), "w"(reg<R>(b)));
#elif defined(__x86_64__)
    if constexpr (sizeof(T) == 4)
      asm("vfmadd231ps %2, %1, %0" : "+v"(r) : "v"(reg<R>(a)), "vm"(reg<R>(b)));
    else
      asm("vfmadd231pd %2, %1, %0" : "+v"(r) : "v"(reg<R>(a)), "vm"(reg<R>(b)));
#endif
    reg<R>(o) = r;
  } else {
    raw<T, R> r;
    for (int i = 0; i < R; ++i) r[i] = heddle::fma(a[i], b[i], c[i]);
    reg<R>(o) = r;
  }
}
#else
template <int R, class T>
HEDDLE_SHIM void splat(T* o, T x) {
  raw<T, R> r;
  for (int i = 0; i < R; ++i) r[i] = x;
  reg<R>(o) = r;
}
template <int R, class T>
HEDDLE_SHIM void fma(T* o, T const* a, T const* b, T const* c) {
  if constexpr (has_fma<T, R>) {
#pragma clang fp contract(on)
    reg<R>(o) = reg<R>(a) * reg<R>(b) + reg<R>(c);
  } else {
    raw<T, R> r;
    for (int i = 0; i < R; ++i) r[i] = heddle::fma(a[i], b[i], c[i]);
    reg<R>(o) = r;
  }
}
#endif

// The product as its own statement, and behind a barrier where the compiler contracts across statements.
template <int R, class T>
HEDDLE_SHIM void mul(T* o, T const* a, T const* b) {
  raw<T, R> p = reg<R>(a) * reg<R>(b);
  if constexpr (std::is_floating_point_v<T>) {
#if defined(__x86_64__)
    if constexpr (register_bytes<T, R> == 16) {
      asm("" : "+x"(p));
    } else if constexpr (register_bytes<T, R> < 16) {
      for (int i = 0; i < R; ++i) p[i] = product_barrier(p[i]);
    } else if constexpr (is_wide<T, R>) {
#if !defined(__clang__)
      asm("" : "+v"(p));
#endif
    }
#else
    if constexpr (register_bytes<T, R> == 16)
      asm("" : "+w"(p));
    else
      for (int i = 0; i < R; ++i) p[i] = product_barrier(p[i]);
#endif
  }
  reg<R>(o) = p;
}

template <int R, class T>
HEDDLE_SHIM void sqrt(T* o, T const* a) {
#if defined(__x86_64__) && !defined(__clang__)
  if constexpr (is_wide<T, R>) {
    raw<T, R> r;
    if constexpr (sizeof(T) == 4)
      asm("vsqrtps %1, %0" : "=v"(r) : "vm"(reg<R>(a)));
    else
      asm("vsqrtpd %1, %0" : "=v"(r) : "vm"(reg<R>(a)));
    reg<R>(o) = r;
    return;
  }
#endif
  raw<T, R> r;
  for (int i = 0; i < R; ++i) r[i] = hardware_sqrt(a[i]);
  reg<R>(o) = r;
}

}  // namespace heddle::detail::registers

#endif
