// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/detail/minifloat.hpp>

namespace heddle {

/// A float of 5 exponent and 10 mantissa bits, for storage; arithmetic happens in float.
///
/// Numerics: conversion from float rounds to nearest even, overflows to infinity from 65520 on, and keeps
/// subnormals; to float it is exact. A NaN keeps its sign and becomes quiet.
struct fp16 {
  using format = detail::minifloat<5, 10, true>;
  std::uint16_t bits;

  fp16() = default;
  template <arithmetic T>
  HEDDLE_HD_FN constexpr explicit fp16(T x) : bits(static_cast<std::uint16_t>(narrow(detail::narrowing_float(x)))) {}
  HEDDLE_HD_FN constexpr operator float() const { return widen(std::uint32_t{bits}); }

  static HEDDLE_HD_FN constexpr fp16 from_bits(std::uint16_t b) {
    fp16 r{};
    r.bits = b;
    return r;
  }

  /// The conversions on codes in 32-bit lanes, of one number or a vector.
  template <class U>
  static HEDDLE_TILE constexpr rebind_lanes<U, float> widen(U const& code) {
    return format::widen(code);
  }
  template <class F>
  static HEDDLE_TILE constexpr rebind_lanes<F, std::uint32_t> narrow(F const& x) {
    return format::narrow(x, detail::overflow::keep);
  }
};

}  // namespace heddle
