// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/arith.hpp>

namespace heddle::detail {

/// What becomes of a finite or infinite number above the largest finite one.
enum class overflow { saturate, keep };

/// A float of `Exponent` and `Mantissa` bits: its conversions, on the bits, for one number or a vector.
///
/// Pre: round to nearest is the rounding mode of the machine. Numerics: widening is exact, narrowing rounds once to
/// nearest even; NaN stays NaN with its sign. `Infinity` false: all ones is the only NaN, and there is no infinity.
template <int Exponent, int Mantissa, bool Infinity>
struct minifloat {
  static constexpr int bits = 1 + Exponent + Mantissa;
  static constexpr int shift = 23 - Mantissa;

  // Functions, because device code can't refer to static members. The first four are bits of a code.
  static HEDDLE_TILE constexpr std::uint32_t sign() { return std::uint32_t{1} << (bits - 1); }
  static HEDDLE_TILE constexpr std::uint32_t magnitude() { return sign() - 1; }
  static HEDDLE_TILE constexpr std::uint32_t infinity() { return magnitude() & ~((std::uint32_t{1} << Mantissa) - 1); }
  static HEDDLE_TILE constexpr std::uint32_t quiet() { return std::uint32_t{1} << (Mantissa - 1); }
  static HEDDLE_TILE constexpr std::uint32_t nan() { return Infinity ? infinity() | quiet() : magnitude(); }
  static HEDDLE_TILE constexpr std::uint32_t largest() { return Infinity ? infinity() - 1 : magnitude() - 1; }
  // The others are bits of a float: the distance of the exponents, and the smallest number that is normal here.
  static HEDDLE_TILE constexpr std::uint32_t rebias() { return std::uint32_t(127 - ((1 << (Exponent - 1)) - 1)) << 23; }
  static HEDDLE_TILE constexpr std::uint32_t smallest_normal() { return rebias() + (std::uint32_t{1} << 23); }
  // Its last bit is worth the smallest subnormal: adding it rounds there.
  static HEDDLE_TILE constexpr std::uint32_t subnormal_magic() {
    return smallest_normal() + (std::uint32_t(shift) << 23);
  }

  template <class U>
  using float_like = rebind_lanes<U, float>;

  /// U holds codes in 32-bit lanes.
  template <class U>
  static HEDDLE_TILE constexpr float_like<U> widen(U const& code) {
    U const em = shift_left<shift>(U(code & magnitude()));
    // A subnormal is read as if it had a leading one, which is then taken away, exactly.
    U const tiny =
        bit_cast<std::uint32_t>(bit_cast<float>(U(em + smallest_normal())) - bit_cast<float>(smallest_normal()));
    U r = select(less(em, std::uint32_t{1} << 23), tiny, U(em + rebias()));
    if constexpr (Infinity) {
      U const special = U(em + 2 * rebias());
      U const quieted = select(less(infinity() << shift, em), U(special | (std::uint32_t{1} << 22)), special);
      r = select(less(em, infinity() << shift), r, quieted);
    } else {
      r = select(less(em, magnitude() << shift), r, splat<U>(0x7FC00000u));
    }
    return bit_cast<float>(U(r | shift_left<32 - bits>(U(code & sign()))));
  }

  template <class F>
  static HEDDLE_TILE constexpr rebind_lanes<F, std::uint32_t> narrow(F const& x, overflow mode) {
    using U = rebind_lanes<F, std::uint32_t>;
    U const u = bit_cast<std::uint32_t>(x), a = U(u & 0x7FFFFFFFu);
    U const even = U(shift_right<shift>(a) & 1u);
    U const normal = shift_right<shift>(U(U(a + ((std::uint32_t{1} << (shift - 1)) - 1)) + U(even - rebias())));
    U const tiny =
        U(bit_cast<std::uint32_t>(bit_cast<float>(a) + bit_cast<float>(subnormal_magic())) - subnormal_magic());
    U r = select(less(a, smallest_normal()), tiny, normal);
    U const top = splat<U>(mode == overflow::saturate ? largest() : Infinity ? infinity() : nan());
    r = select(less(top, r), top, r);
    U const payload = Infinity ? U(nan() | U(shift_right<shift>(a) & (quiet() - 1))) : splat<U>(nan());
    r = select(less(0x7F800000u, a), payload, r);
    return U(r | shift_right<32 - bits>(U(u & 0x80000000u)));
  }

 private:
  // Both below 2^31, so the signed comparison, which every instruction set has, is right.
  template <class A, class B>
  static HEDDLE_TILE constexpr auto less(A const& a, B const& b) {
    return bit_cast<std::int32_t>(a) < bit_cast<std::int32_t>(b);
  }
};

/// The float next to d in the direction that keeps a second rounding right: odd where d is no float.
HEDDLE_TILE constexpr float round_to_odd(double d) {
  float const f = static_cast<float>(d);
  double const back = static_cast<double>(f);
  if (back == d || d != d) return f;
  std::uint32_t bits = bit_cast<std::uint32_t>(f);
  if (abs(back) > abs(d)) --bits;  // towards zero, from infinity too
  return bit_cast<float>(bits | 1u);
}

/// The double that stands for a number on its way to a narrower format.
template <arithmetic T>
HEDDLE_TILE constexpr double narrowing_double(T x) {
  if constexpr (std::is_integral_v<T> && sizeof(T) == 8) {
    // Above 2^53 the last 11 bits go, and leave an odd number where any was set; what stays is exact.
    constexpr T most = T{1} << 53;
    bool const wide = x > most || (std::is_signed_v<T> && x < T(T{0} - most));
    if (wide) return 2048.0 * static_cast<double>(T(T(x >> 11) | T((x & 2047) != 0)));
  }
  return static_cast<double>(x);
}

/// The float that stands for a number on its way to a narrower format.
template <arithmetic T>
HEDDLE_TILE constexpr float narrowing_float(T x) {
  if constexpr (std::is_same_v<T, float>)
    return x;
  else
    return round_to_odd(narrowing_double(x));
}

}  // namespace heddle::detail
