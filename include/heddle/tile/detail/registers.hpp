// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/arith.hpp>

#include <cstddef>

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
inline constexpr bool has_fma = std::is_floating_point_v<T>&& register_bytes<T, R> == 16;
#else
template <class T, int R>
inline constexpr bool has_fma = std::is_floating_point_v<T>&& is_wide<T, R>;
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
    raw<T, R> r{};
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
    raw<T, R> r{};
    for (int i = 0; i < R; ++i) r[i] = heddle::fma(a[i], b[i], c[i]);
    reg<R>(o) = r;
  }
}
#else
template <int R, class T>
HEDDLE_SHIM void splat(T* o, T x) {
  raw<T, R> r{};
  for (int i = 0; i < R; ++i) r[i] = x;
  reg<R>(o) = r;
}
template <int R, class T>
HEDDLE_SHIM void fma(T* o, T const* a, T const* b, T const* c) {
  if constexpr (has_fma<T, R>) {
#pragma clang fp contract(on)
    reg<R>(o) = reg<R>(a) * reg<R>(b) + reg<R>(c);
  } else {
    raw<T, R> r{};
    for (int i = 0; i < R; ++i) r[i] = heddle::fma(a[i], b[i], c[i]);
    reg<R>(o) = r;
  }
}
#endif

// A product of floats as its own statement, and behind a barrier where the compiler contracts across statements.
template <int R, class T>
HEDDLE_SHIM void mul(T* o, T const* a, T const* b) {
  raw<T, R> p = reg<R>(a) * reg<R>(b);
  if constexpr (register_bytes<T, R> < 16) {
    for (int i = 0; i < R; ++i) p[i] = product_barrier(p[i]);
  } else if constexpr (register_bytes<T, R> == 16) {
#if defined(__aarch64__)
    asm("" : "+w"(p));
#else
    asm("" : "+x"(p));
#endif
  } else if constexpr (is_wide<T, R>) {
#if !defined(__clang__)
    asm("" : "+v"(p));
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
  raw<T, R> r{};
  for (int i = 0; i < R; ++i) r[i] = hardware_sqrt(a[i]);
  reg<R>(o) = r;
}

inline constexpr std::int32_t part_mask_4[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
inline constexpr std::int64_t part_mask_8[8] = {-1, -1, -1, -1, 0, 0, 0, 0};

#if defined(__x86_64__) && !defined(__clang__)
template <class T, int R>
inline constexpr bool has_masked_moves = is_wide<T, R> && sizeof(T) >= 4;
// Typed as the whole register, so that the compiler knows which memory the instruction may touch.
template <class T, int R>
struct __attribute__((may_alias)) window {
  T lane[R];
};
// The mask of the first m lanes.
template <class T, int R>
HEDDLE_SHIM loose_raw<int_bits_t<T>, R> const& part_mask(int m) {
  if constexpr (sizeof(T) == 4)
    return *reinterpret_cast<loose_raw<std::int32_t, R> const*>(part_mask_4 + 8 - m);
  else
    return *reinterpret_cast<loose_raw<std::int64_t, R> const*>(part_mask_8 + 4 - m);
}
#else
template <class T, int R>
inline constexpr bool has_masked_moves = false;
#endif

/// The first n of R lanes, zero behind them; reads nothing behind them. n may be below 0 or above R.
template <int R, class T>
HEDDLE_SHIM void load_part(T* o, T const* from, std::ptrdiff_t n) {
#if defined(__x86_64__) && !defined(__clang__)
  if constexpr (has_masked_moves<T, R>) {
    int const m = n < 0 ? 0 : n > R ? R : static_cast<int>(n);
    auto const& source = *reinterpret_cast<window<T, R> const*>(from);
    raw<T, R> r;
    if constexpr (register_bytes<T, R> == 64) {
      unsigned const k = (1u << m) - 1;
      if constexpr (sizeof(T) == 4)
        asm("vmovups %1, %0%{%2%}%{z%}" : "=v"(r) : "m"(source), "Yk"(static_cast<std::uint16_t>(k)));
      else
        asm("vmovupd %1, %0%{%2%}%{z%}" : "=v"(r) : "m"(source), "Yk"(static_cast<std::uint8_t>(k)));
    } else if constexpr (sizeof(T) == 4) {
      asm("vmaskmovps %1, %2, %0" : "=x"(r) : "m"(source), "x"(part_mask<T, R>(m)));
    } else {
      asm("vmaskmovpd %1, %2, %0" : "=x"(r) : "m"(source), "x"(part_mask<T, R>(m)));
    }
    reg<R>(o) = r;
    return;
  }
#endif
  if (n >= R) return load<R>(o, from);
  alignas(64) T part[R] = {};
  for (int i = 0; i < n; ++i) part[i] = from[i];
  reg<R>(o) = reg<R>(part);
}

/// Writes the first n of R lanes and nothing else.
template <int R, class T>
HEDDLE_SHIM void store_part(T* to, T const* a, std::ptrdiff_t n) {
#if defined(__x86_64__) && !defined(__clang__)
  if constexpr (has_masked_moves<T, R>) {
    int const m = n < 0 ? 0 : n > R ? R : static_cast<int>(n);
    auto& target = *reinterpret_cast<window<T, R>*>(to);
    raw<T, R> const r = reg<R>(a);
    if constexpr (register_bytes<T, R> == 64) {
      unsigned const k = (1u << m) - 1;
      if constexpr (sizeof(T) == 4)
        asm("vmovups %1, %0%{%2%}" : "+m"(target) : "v"(r), "Yk"(static_cast<std::uint16_t>(k)));
      else
        asm("vmovupd %1, %0%{%2%}" : "+m"(target) : "v"(r), "Yk"(static_cast<std::uint8_t>(k)));
    } else if constexpr (sizeof(T) == 4) {
      asm("vmaskmovps %1, %2, %0" : "+m"(target) : "x"(r), "x"(part_mask<T, R>(m)));
    } else {
      asm("vmaskmovpd %1, %2, %0" : "+m"(target) : "x"(r), "x"(part_mask<T, R>(m)));
    }
    return;
  }
#endif
  if (n >= R) return store<R>(to, a);
  alignas(64) T part[R];
  reg<R>(part) = reg<R>(a);
  for (int i = 0; i < n; ++i) to[i] = part[i];
}

/// In every group of four lanes: the even (odd) lanes of a, then those of b. For numbers of 4 bytes, R >= 4.
template <bool Odd, int R, class T>
HEDDLE_SHIM void every_other(T* o, T const* a, T const* b) {
#if defined(__x86_64__) && !defined(__clang__)
  if constexpr (is_wide<T, R>) {
    raw<T, R> r;
    asm("vshufps %3, %2, %1, %0" : "=v"(r) : "v"(reg<R>(a)), "vm"(reg<R>(b)), "i"(Odd ? 0xDD : 0x88));
    reg<R>(o) = r;
    return;
  }
#endif
  raw<T, R> r{};
  for (int i = 0; i < R; i += 4) {
    r[i] = a[i + Odd];
    r[i + 1] = a[i + 2 + Odd];
    r[i + 2] = b[i + Odd];
    r[i + 3] = b[i + 2 + Odd];
  }
  reg<R>(o) = r;
}

}  // namespace heddle::detail::registers

#endif
