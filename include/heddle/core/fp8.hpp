// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/detail/minifloat.hpp>

namespace heddle {

namespace detail {
/// Storage of 8 bits in a given format.
template <class Format>
struct fp8 {
  using format = Format;
  std::uint8_t bits;

  fp8() = default;
  /// Saturates: numbers above the largest finite one, infinities included, become the largest.
  template <arithmetic T>
  HEDDLE_HD_FN constexpr explicit fp8(T x) : bits(static_cast<std::uint8_t>(narrow(narrowing_float(x)))) {}
  HEDDLE_HD_FN constexpr operator float() const { return widen(std::uint32_t{bits}); }

  /// Does not saturate: numbers above the largest finite one become infinity, or NaN where the format has none.
  template <arithmetic T>
  static HEDDLE_HD_FN constexpr fp8 unsaturated(T x) {
    return from_bits(static_cast<std::uint8_t>(narrow_unsaturated(narrowing_float(x))));
  }
  static HEDDLE_HD_FN constexpr fp8 from_bits(std::uint8_t b) {
    fp8 r{};
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
    return format::narrow(x, overflow::saturate);
  }
  template <class F>
  static HEDDLE_TILE constexpr rebind_lanes<F, std::uint32_t> narrow_unsaturated(F const& x) {
    return format::narrow(x, overflow::keep);
  }
};
}  // namespace detail

/// 4 exponent and 3 mantissa bits: largest 448, smallest 2^-9, NaN but no infinity.
///
/// Numerics: rounds to nearest even, to +-448 above the range; `unsaturated` gives NaN there. NaN keeps its sign.
using fp8_e4m3 = detail::fp8<detail::minifloat<4, 3, false>>;

/// 5 exponent and 2 mantissa bits: largest 57344, smallest 2^-16, with infinity and NaN.
///
/// Numerics: rounds to nearest even, to +-57344 above the range; `unsaturated` gives infinity there. NaN keeps its
/// sign.
using fp8_e5m2 = detail::fp8<detail::minifloat<5, 2, true>>;

}  // namespace heddle
