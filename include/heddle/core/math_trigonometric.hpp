// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/math_exponential.hpp>

/// @file
/// sin and cos for float and double, by the rules of core/math_exponential.hpp.

namespace heddle {

namespace detail {
/// An angle as quadrant and remainder: x = quadrant * pi/2 + r, |r| <= pi/4.
template <class V>
struct reduced_angle {
  V r;
  bits_of<V> quadrant;
};

template <class V>
HEDDLE_TILE reduced_angle<V> reduce_angle(V const& x) {
  using T = lane_t<V>;
  constexpr bool narrow = sizeof(T) == 4;
  constexpr T inverse = narrow ? T(0x1.45f306p-1) : T(0x1.45f306dc9c883p-1);
  constexpr T c1 = narrow ? T(0x1.921fb6p+0) : T(0x1.921fb54442d18p+0);
  constexpr T c2 = narrow ? T(-0x1.777a5cp-25) : T(0x1.1a62633145c07p-54);
  constexpr T c3 = narrow ? T(-0x1.ee59dap-50) : T(-0x1.f1976b7ed8fbcp-110);
  V const magic = splat<V>(real_facts<T>::magic), t = fma(x, splat<V>(inverse), magic), n = t - magic;
  // The first step is exact, and so is the second wherever much cancels.
  V const r = fma(n, splat<V>(-c3), fma(n, splat<V>(-c2), fma(n, splat<V>(-c1), x)));
  return {r, bit_cast<uint_bits_t<T>>(t)};
}

/// The same for one float of any size: x * 2/pi mod 4 in 64-bit fixed point, from as many bits of 2/pi as matter.
HEDDLE_TILE reduced_angle<float> reduce_large_angle(float x) {
  constexpr std::uint32_t two_over_pi[] = {0,           0,           0xA2F9836Eu, 0x4E441529u, 0xFC2757D1u,
                                           0xF534DDC0u, 0xDB629599u, 0x3C439041u, 0xFE5163ABu};
  std::uint32_t const bits = bit_cast<std::uint32_t>(x);
  int const exponent = static_cast<int>(bits >> 23 & 0xFF);
  if (exponent == 0xFF) return {bit_cast<float>(0x7FC00000u), 0};
  std::uint64_t const mantissa = (bits & 0x7FFFFFu) | 0x800000u;
  int const at = 64 + exponent - 150 - 2;  // the first bit whose multiple of the mantissa matters mod 4
  int const word = at / 32, shift = at % 32;
  std::uint64_t w[3];
  for (int i = 0; i < 3; ++i)
    w[i] = ((std::uint64_t{two_over_pi[word + i]} << 32 | two_over_pi[word + i + 1]) << shift) >> 32;
  std::uint64_t const product = (mantissa * w[0] << 32) + mantissa * w[1] + (mantissa * w[2] >> 32);
  std::uint64_t quadrant = (product + (std::uint64_t{1} << 61)) >> 62;
  auto const fraction = static_cast<std::int64_t>(product - (quadrant << 62));
  double r = mul(static_cast<double>(fraction), 0x1.921fb54442d18p-62);
  if (bits >> 31) {
    r = -r;
    quadrant = 4 - quadrant;
  }
  return {static_cast<float>(r), static_cast<std::uint32_t>(quadrant)};
}

template <class V>
HEDDLE_TILE V sin_polynomial(V const& r, V const& z) {
  V p;
  if constexpr (sizeof(lane_t<V>) == 4)
    p = polynomial(z, 0x1.6cc50ap-19f, -0x1.a00f48p-13f, 0x1.111108p-7f, -0x1.555556p-3f);
  else
    p = polynomial(z, -0x1.aa98660f196e9p-41, 0x1.6120788cfa29fp-33, -0x1.ae64526ed7a21p-26, 0x1.71de3a531943ap-19,
                   -0x1.a01a01a018951p-13, 0x1.111111111110ap-7, -0x1.5555555555555p-3);
  return fma(mul(r, z), p, r);
}
template <class V>
HEDDLE_TILE V cos_polynomial(V const& z) {
  V p;
  if constexpr (sizeof(lane_t<V>) == 4)
    p = polynomial(z, -0x1.2414dep-22f, 0x1.a010bp-16f, -0x1.6c16b8p-10f, 0x1.555556p-5f);
  else
    p = polynomial(z, 0x1.aab36a62a2cc7p-45, -0x1.93930e9724ff6p-37, 0x1.1eed8c7dbdad0p-29, -0x1.27e4fb75da897p-22,
                   0x1.a01a01a018bcbp-16, -0x1.6c16c16c16c0fp-10, 0x1.5555555555555p-5);
  // 1 - z/2 + z^2 p, with what the first difference loses put back.
  V const one = splat<V>(lane_t<V>(1)), half = mul(z, splat<V>(lane_t<V>(0.5))), w = one - half;
  return w + fma(mul(z, z), p, (one - w) - half);
}

template <class V>
HEDDLE_TILE void sincos_reduced(V const& x, reduced_angle<V> const& a, V& sine, V& cosine) {
  using T = lane_t<V>;
  using U = bits_of<V>;
  using B = uint_bits_t<T>;
  constexpr int top = sizeof(T) * 8 - 2;
  constexpr B sign = real_facts<T>::sign;
  V const z = mul(a.r, a.r), s = sin_polynomial(a.r, z), c = cos_polynomial(z);
  auto const swapped = U(a.quadrant & B{1}) == splat<U>(B{1});
  U const sine_sign = U(shift_left<top>(a.quadrant) & sign);
  U const cosine_sign = U(shift_left<top>(U(a.quadrant + B{1})) & sign);
  V const sine_magnitude = select(swapped, c, s), cosine_magnitude = select(swapped, s, c);
  V const turned = bit_cast<T>(U(bit_cast<B>(sine_magnitude) ^ sine_sign));
  sine = select(x == splat<V>(T(0)), x, turned);  // the polynomial loses the sign of zero
  cosine = bit_cast<T>(U(bit_cast<B>(cosine_magnitude) ^ cosine_sign));
}

HEDDLE_TILE void put_lane(float& v, int, float x) { v = x; }
HEDDLE_TILE float get_lane(float v, int) { return v; }
template <class V>
  requires requires(V v) { v.lane[0]; }
HEDDLE_TILE void put_lane(V& v, int i, float x) { v.lane[i] = x; }
template <class V>
  requires requires(V v) { v.lane[0]; }
HEDDLE_TILE float get_lane(V const& v, int i) { return v.lane[i]; }
}  // namespace detail

/// sin(x) and cos(x).
///
/// Types: float, double, vec of them. Units: radians. Numerics: error below 2 ulp, for float at every size of x,
/// for double where |x| <= 2^45 (NaN beyond). sin(+-0) = +-0, cos(0) = 1, NaN for infinities and NaN.
/// Complexity: floats above 2^17 are reduced one by one.
template <real_lanes V>
HEDDLE_TILE void sincos(V const& x, V& sine, V& cosine) {
  using T = lane_t<V>;
  V const a = abs(x);
  if constexpr (sizeof(T) == 4) {
    auto const large = a > splat<V>(0x1p+17f);
    detail::sincos_reduced(x, detail::reduce_angle(x), sine, cosine);
    if (HEDDLE_LIKELY(!any(large))) return;
    for (int i = 0; i < lanes_of<V>::count; ++i) {
      float const xi = detail::get_lane(x, i);
      if (!(abs(xi) > 0x1p+17f)) continue;
      float s, c;
      detail::sincos_reduced(xi, detail::reduce_large_angle(xi), s, c);
      detail::put_lane(sine, i, s);
      detail::put_lane(cosine, i, c);
    }
  } else {
    V const inside = select(a <= splat<V>(T(0x1p+45)), x, splat<V>(bit_cast<T>(std::uint64_t{0x7FF8000000000000u})));
    detail::sincos_reduced(inside, detail::reduce_angle(inside), sine, cosine);
  }
}
template <real_lanes V>
HEDDLE_TILE V sin(V const& x) {
  V s, c;
  sincos(x, s, c);
  return s;
}
template <real_lanes V>
HEDDLE_TILE V cos(V const& x) {
  V s, c;
  sincos(x, s, c);
  return c;
}

}  // namespace heddle
