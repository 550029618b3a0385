// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/bf16.hpp>

/// @file
/// The arithmetic of products of bf16: what processors compute in one instruction per pair of steps, in plain numbers.

namespace heddle {

namespace detail {
inline constexpr float smallest_normal = 0x1p-126f;

/// x, or the zero of its sign where x is subnormal.
HEDDLE_TILE float flushed(float x) {
  return abs(x) < smallest_normal ? bit_cast<float>(bit_cast<std::uint32_t>(x) & 0x80000000u) : x;
}
}  // namespace detail

/// a b + c, rounded once to nearest even with an exponent of any size, then zero of that sign where the result is
/// below 2^-126.
///
/// Pre: a and b are bf16 numbers and a, b and c are not subnormal. Determinism: the bits of vfmadd with FTZ set.
HEDDLE_TILE float fma_flushed(float a, float b, float c) {
  float const r = fma(a, b, c);
  if (abs(r) != detail::smallest_normal) return detail::flushed(r);
  // Subnormal numbers lie twice as far apart as those of a free exponent: what rounded up to here may be too small.
  constexpr double limit = 0x1p-126 - 0x1p-151;
  double const p = mul(static_cast<double>(a), static_cast<double>(b)), d = static_cast<double>(c);
  double const s = p + d, part = s - p, rest = (p - (s - part)) + (d - part);
  double const size = abs(s), under = s < 0 ? -rest : rest;
  return size < limit || (size == limit && under < 0) ? bit_cast<float>(bit_cast<std::uint32_t>(r) & 0x80000000u) : r;
}

/// acc + a1 b1 + a0 b0, the bits of one lane of the instruction vdpbf16ps: the second pair is added first, each by
/// `fma_flushed`; subnormal inputs count as zeros of their sign.
///
/// Pre: acc is not subnormal, as no result of this function is. Which NaN comes out is not fixed.
HEDDLE_TILE float dot_pair(float acc, bf16 a0, bf16 a1, bf16 b0, bf16 b1) {
  float const first = fma_flushed(detail::flushed(a1), detail::flushed(b1), acc);
  return fma_flushed(detail::flushed(a0), detail::flushed(b0), first);
}

}  // namespace heddle
