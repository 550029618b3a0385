// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/tile/detail/registers.hpp>

#if !defined(__CUDA_ARCH__)

/// @file
/// Conversions of one register, for host code. g++ splits the wide ones into halves where it is not told.

namespace heddle::detail::registers {

template <int R, class To, class From>
HEDDLE_SHIM void convert(To* o, From const* a) {
#if defined(__x86_64__) && !defined(__clang__)
  if constexpr (is_wide<std::uint32_t, R>) {
    raw<To, R> r;
    if constexpr (std::is_same_v<From, std::uint16_t> && std::is_same_v<To, std::uint32_t>) {
      asm("vpmovzxwd %1, %0" : "=v"(r) : "vm"(reg<R>(a)));
      reg<R>(o) = r;
      return;
    } else if constexpr (std::is_same_v<From, std::uint8_t> && std::is_same_v<To, std::uint32_t> && R == 16) {
      asm("vpmovzxbd %1, %0" : "=v"(r) : "vm"(reg<R>(a)));
      reg<R>(o) = r;
      return;
    } else if constexpr (std::is_same_v<From, std::uint32_t> && std::is_same_v<To, std::uint16_t> && R == 16) {
      asm("vpmovdw %1, %0" : "=v"(r) : "v"(reg<R>(a)));
      reg<R>(o) = r;
      return;
    } else if constexpr (std::is_same_v<From, std::uint32_t> && std::is_same_v<To, std::uint8_t> && R == 16) {
      asm("vpmovdb %1, %0" : "=v"(r) : "v"(reg<R>(a)));
      reg<R>(o) = r;
      return;
    }
  }
#endif
  reg<R>(o) = __builtin_convertvector(reg<R>(a), raw<To, R>);
}

// Whether one instruction converts fp16 codes, with the bits of core/fp16.hpp.
#if defined(__x86_64__) && !defined(__clang__)
template <int R>
inline constexpr bool has_fp16_conversion = is_wide<float, R>;
template <int R>
HEDDLE_SHIM void widen_fp16(float* o, std::uint16_t const* a) {
  raw<float, R> r;
  asm("vcvtph2ps %1, %0" : "=v"(r) : "vm"(reg<R>(a)));
  reg<R>(o) = r;
}
template <int R>
HEDDLE_SHIM void narrow_fp16(std::uint16_t* o, float const* a) {
  raw<std::uint16_t, R> r;
  asm("vcvtps2ph $0, %1, %0" : "=v"(r) : "v"(reg<R>(a)));
  reg<R>(o) = r;
}
#else
template <int R>
inline constexpr bool has_fp16_conversion = false;
template <int R>
HEDDLE_SHIM void widen_fp16(float*, std::uint16_t const*) {}  // never called
template <int R>
HEDDLE_SHIM void narrow_fp16(std::uint16_t*, float const*) {}
#endif

}  // namespace heddle::detail::registers

#endif
