// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/arith.hpp>

/// @file
/// exp, exp2, log and rsqrt for float and double: one definition for a number, a vector and the device, out of
/// fma, mul, sums and integer steps only, so that the bits are the same everywhere.

namespace heddle {

/// A value whose lanes are float or double: a number, or a vec of them.
template <class V>
concept real_lanes = std::floating_point<lane_t<V>>;

namespace detail {
/// c0 x^n + ... + cn by Horner's rule, highest coefficient first.
template <class V, class... C>
HEDDLE_TILE V polynomial(V const& x, lane_t<V> highest, C... rest) {
  V p = splat<V>(highest);
  ((p = fma(p, x, splat<V>(static_cast<lane_t<V>>(rest)))), ...);
  return p;
}

template <class T>
struct real_facts;
template <>
struct real_facts<float> {
  static constexpr float magic = 0x1.8p+23f;  // adding it rounds to an integer, which then stands in the low bits
  static constexpr int mantissa = 23;
  static constexpr std::uint32_t one = 0x3F800000u;
  static constexpr std::uint32_t sign = 0x80000000u;
  static constexpr float infinity = __builtin_inff();
  static constexpr float log2e = 0x1.715476p+0f, ln2_hi = 0x1.62e43p-1f, ln2_lo = -0x1.05c61p-29f;
  static constexpr float exp_min = -104.0f, exp_max = 89.0f, exp2_min = -152.0f, exp2_max = 129.0f;
  static constexpr float smallest_normal = 0x1p-126f;
};
template <>
struct real_facts<double> {
  static constexpr double magic = 0x1.8p+52;
  static constexpr int mantissa = 52;
  static constexpr std::uint64_t one = 0x3FF0000000000000u;
  static constexpr std::uint64_t sign = 0x8000000000000000u;
  static constexpr double infinity = __builtin_inf();
  static constexpr double log2e = 0x1.71547652b82fep+0, ln2_hi = 0x1.62e42fefa39efp-1, ln2_lo = 0x1.abc9e3b39803fp-56;
  static constexpr double exp_min = -746.0, exp_max = 710.0, exp2_min = -1077.0, exp2_max = 1025.0;
  static constexpr double smallest_normal = 0x1p-1022;
};
template <class V>
using facts_of = real_facts<lane_t<V>>;
template <class V>
using bits_of = rebind_lanes<V, uint_bits_t<lane_t<V>>>;

/// p * 2^n, rounded once, for p in [0.5, 2] and t = magic + n.
template <class V>
HEDDLE_TILE V scale_by_power(V const& p, V const& t) {
  using facts = facts_of<V>;
  using U = bits_of<V>;
  using T = lane_t<V>;
  constexpr uint_bits_t<T> one = facts::one;  // a copy that device code can refer to
  // 2^n may lie outside the range, two halves do not. Shifts push the bits of the magic number out.
  U const n = bit_cast<uint_bits_t<T>>(t), half = shift_right<1>(n);
  V const a = bit_cast<T>(U(shift_left<facts::mantissa>(half) + one));
  V const b = bit_cast<T>(U(shift_left<facts::mantissa>(U(n - half)) + one));
  return mul(mul(p, a), b);
}

template <class V>
HEDDLE_TILE V clamped(V const& x, lane_t<V> lo, lane_t<V> hi) {  // keeps NaN
  V const l = splat<V>(lo), h = splat<V>(hi);
  V const above = select(x < l, l, x);
  return select(above > h, h, above);
}

template <class V>
HEDDLE_TILE V exp_polynomial(V const& r) {
  V q;
  if constexpr (sizeof(lane_t<V>) == 4)
    q = polynomial(r, 0x1.6a2364p-10f, 0x1.123a6cp-7f, 0x1.5558f4p-5f, 0x1.555490p-3f, 0x1.fffffcp-2f);
  else
    q = polynomial(r, 0x1.1e3cdc830ec50p-29, 0x1.af6c612a0814fp-26, 0x1.27e5b4f059be4p-22, 0x1.71ddefdc80e81p-19,
                   0x1.a01a0135fd75bp-16, 0x1.a01a01b399001p-13, 0x1.6c16c16c3077fp-10, 0x1.111111110ec1ap-7,
                   0x1.5555555555502p-5, 0x1.555555555555bp-3, 0x1p-1);
  V const one = splat<V>(lane_t<V>(1));
  return fma(fma(q, r, one), r, one);
}
}  // namespace detail

/// e^x.
///
/// Types: float, double, vec of them. Numerics: error below 1 ulp, subnormal results included; exp(-inf) = 0,
/// exp(0) = 1, exp(inf) = inf, NaN stays NaN.
template <real_lanes V>
HEDDLE_TILE V exp(V const& x) {
  using facts = detail::facts_of<V>;
  V const y = detail::clamped(x, facts::exp_min, facts::exp_max), magic = splat<V>(facts::magic);
  V const t = fma(y, splat<V>(facts::log2e), magic);
  V const n = t - magic;
  V const r = fma(n, splat<V>(-facts::ln2_lo), fma(n, splat<V>(-facts::ln2_hi), y));
  return detail::scale_by_power(detail::exp_polynomial(r), t);
}

/// 2^x.
///
/// Types: as exp. Numerics: error below 1.1 ulp; exact for integers, exp2(-inf) = 0, NaN stays NaN.
template <real_lanes V>
HEDDLE_TILE V exp2(V const& x) {
  using facts = detail::facts_of<V>;
  V const y = detail::clamped(x, facts::exp2_min, facts::exp2_max), magic = splat<V>(facts::magic);
  V const t = y + magic;
  V const r = y - (t - magic);
  V q;
  if constexpr (sizeof(lane_t<V>) == 4)
    q = detail::polynomial(r, 0x1.444p-13f, 0x1.5f48cp-10f, 0x1.3b2a1cp-7f, 0x1.c6aeccp-5f, 0x1.ebfbep-3f,
                           0x1.62e43p-1f);
  else
    q = detail::polynomial(r, 0x1.c4b5b04c12259p-36, 0x1.ea04423fa1744p-32, 0x1.e4cf03babfb50p-28,
                           0x1.b524db3998921p-24, 0x1.62c0224601770p-20, 0x1.ffcbfc75f2b51p-17, 0x1.430912f86ac5bp-13,
                           0x1.5d87fe78a2293p-10, 0x1.3b2ab6fba4e7bp-7, 0x1.c6b08d704a0d1p-5, 0x1.ebfbdff82c58fp-3,
                           0x1.62e42fefa39efp-1);
  return detail::scale_by_power(fma(q, r, splat<V>(lane_t<V>(1))), t);
}

namespace detail {
/// log(x) for positive, finite x, subnormals included.
template <class V>
HEDDLE_TILE V log_positive(V const& x) {
  using T = lane_t<V>;
  using facts = facts_of<V>;
  using U = bits_of<V>;
  constexpr bool narrow = sizeof(T) == 4;
  constexpr T lift = narrow ? T(0x1p+25) : T(0x1p+54);
  constexpr uint_bits_t<T> sqrt_half =
      narrow ? static_cast<uint_bits_t<T>>(0x3F3504F3u) : static_cast<uint_bits_t<T>>(0x3FE6A09E667F3BCDu);
  auto const tiny = x < splat<V>(facts::smallest_normal);
  U const i = bit_cast<uint_bits_t<T>>(select(tiny, mul(x, splat<V>(lift)), x));
  // x = m 2^k with m in [sqrt(1/2), sqrt(2)); k is biased to stay positive under the logical shift.
  constexpr uint_bits_t<T> bias = facts::one - sqrt_half;
  constexpr int offset = narrow ? 127 : 1023;
  U const k = shift_right<facts::mantissa>(U(i + bias));
  V const m = bit_cast<T>(U(i - shift_left<facts::mantissa>(U(k - uint_bits_t<T>(offset)))));
  V const magic = splat<V>(facts::magic);
  V const e = bit_cast<T>(U(k + bit_cast<uint_bits_t<T>>(facts::magic))) - magic -
              select(tiny, splat<V>(T(offset + (narrow ? 25 : 54))), splat<V>(T(offset)));
  // log m = f - f^2/2 + s (f^2/2 + R(s^2)) with f = m - 1, s = f / (2 + f).
  V const f = m - splat<V>(T(1)), s = f / (splat<V>(T(2)) + f), z = mul(s, s),
          half_square = mul(mul(f, f), splat<V>(T(0.5)));
  V p;
  T hi, lo;
  if constexpr (narrow) {
    p = polynomial(z, 0x1.31e466p-2f, 0x1.995ebp-2f, 0x1.55557ap-1f);
    hi = 0x1.62e4p-1f;
    lo = 0x1.7f7d1cp-20f;
  } else {
    p = polynomial(z, 0x1.2f0b136aff879p-3, 0x1.39a135b178033p-3, 0x1.74664399230f5p-3, 0x1.c71c51f4e2ca9p-3,
                   0x1.24924942073e4p-2, 0x1.999999997fc63p-2, 0x1.5555555555593p-1);
    hi = 0x1.62e42fefa3800p-1;
    lo = 0x1.ef35793c76730p-45;
  }
  V const tail = fma(s, fma(p, z, half_square), mul(e, splat<V>(lo)));
  return fma(e, splat<V>(hi), f - (half_square - tail));
}
}  // namespace detail

/// The natural logarithm.
///
/// Types: as exp. Numerics: error below 1 ulp; log(1) = 0, log(+-0) = -inf, log(inf) = inf, NaN below zero.
template <real_lanes V>
HEDDLE_TILE V log(V const& x) {
  using T = lane_t<V>;
  constexpr T infinity = detail::real_facts<T>::infinity;
  V const zero = splat<V>(T(0)), inf = splat<V>(infinity);
  V r = detail::log_positive(x);
  r = select(x < inf, r, x);  // infinity and NaN are their own
  r = select(x == zero, splat<V>(-infinity), r);
  return select(x < zero, splat<V>(bit_cast<T>(uint_bits_t<T>(sizeof(T) == 4 ? 0x7FC00000u : 0x7FF8000000000000u))), r);
}

/// 1 / sqrt(x).
///
/// Types: as exp. Numerics: two correct roundings, error below 1.5 ulp; rsqrt(+-0) = +-inf, rsqrt(inf) = 0, NaN
/// below zero.
template <real_lanes V>
HEDDLE_TILE V rsqrt(V const& x) {
  return splat<V>(lane_t<V>(1)) / sqrt(x);
}

}  // namespace heddle
