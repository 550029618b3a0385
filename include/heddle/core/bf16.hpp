// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/detail/minifloat.hpp>

namespace heddle {

/// A float of 8 exponent and 7 mantissa bits, for storage; arithmetic happens in float.
///
/// Numerics: conversion from float rounds to nearest even and overflows to infinity; to float it is exact. A NaN
/// keeps its sign and becomes quiet. Subnormals are kept.
struct bf16 {
  std::uint16_t bits;

  bf16() = default;
  template <arithmetic T>
  HEDDLE_HD_FN constexpr explicit bf16(T x) : bits(static_cast<std::uint16_t>(narrow(detail::narrowing_float(x)))) {}
  HEDDLE_HD_FN constexpr operator float() const { return widen(std::uint32_t{bits}); }

  static HEDDLE_HD_FN constexpr bf16 from_bits(std::uint16_t b) {
    bf16 r{};
    r.bits = b;
    return r;
  }

  /// The conversions on codes in 32-bit lanes, of one number or a vector.
  template <class U>
  static HEDDLE_TILE constexpr rebind_lanes<U, float> widen(U const& code) {
    return bit_cast<float>(shift_left<16>(code));
  }
  template <class F>
  static HEDDLE_TILE constexpr rebind_lanes<F, std::uint32_t> narrow(F const& x) {
    using U = rebind_lanes<F, std::uint32_t>;
    U const u = bit_cast<std::uint32_t>(x);
    U const rounded = U(u + U(0x7FFFu + U(shift_right<16>(u) & 1u)));
    return select(x != x, U(shift_right<16>(u) | 0x40u), shift_right<16>(rounded));
  }
};

}  // namespace heddle
