// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/math_exponential.hpp>

/// @file
/// tanh and erf for float and double, by the rules of core/math_exponential.hpp.

namespace heddle {

namespace detail {
/// The magnitude of r with the sign of x.
template <class V>
HEDDLE_TILE V with_sign_of(V const& x, V const& r) {
  using T = lane_t<V>;
  using B = uint_bits_t<T>;
  using U = bits_of<V>;
  constexpr B sign = real_facts<T>::sign, rest = static_cast<B>(~sign);
  return bit_cast<T>(U(U(bit_cast<B>(r) & rest) | U(bit_cast<B>(x) & sign)));
}

/// -log(1 - erf(a)) for a in [1, 3.93] (float) or [1, 5.95] (double).
template <class V>
HEDDLE_TILE V minus_log_erfc(V const& a) {
  if constexpr (sizeof(lane_t<V>) == 4)
    return polynomial(V(a - splat<V>(2.0f)), 0x1.6c0692p-16f, -0x1.20ca6p-13f, 0x1.7ed776p-11f, -0x1.d3fec0p-9f,
                      0x1.0dc69ep-6f, 0x1.d8f5e4p-1f, 0x1.1ac326p+2f, 0x1.575b32p+2f);
  else
    return polynomial(V(a - splat<V>(2.5)), 0x1.91b996dae005dp-43, -0x1.005d05bcea81ap-41, -0x1.5c43c23c5eb37p-41,
                      0x1.0cc15dbb33dbap-39, -0x1.45fd7e1a94004p-36, 0x1.6a0af7e467b83p-33, -0x1.d4164f982658ep-31,
                      0x1.e13a3d93fbc59p-29, -0x1.775e01c85184ap-27, 0x1.b1cffd7e11ec8p-27, 0x1.4ef239f3d0c31p-23,
                      -0x1.dadc3b273b911p-20, 0x1.ac03c72e1dfa3p-17, -0x1.431731f6ddc20p-14, 0x1.b961397ff455dp-12,
                      -0x1.1bd558ebfc8a6p-9, 0x1.63cc1da7862c6p-7, 0x1.e3460a18c54f8p-1, 0x1.56925248da93fp+2,
                      0x1.f3a2dc8691b92p+2);
}
}  // namespace detail

/// The hyperbolic tangent.
///
/// Types: float, double, vec of them. Numerics: error below 1.5 ulp; +-0 and NaN stay, tanh(+-inf) = +-1.
template <real_lanes V>
HEDDLE_TILE V tanh(V const& x) {
  using T = lane_t<V>;
  V const a = abs(x), z = mul(a, a), one = splat<V>(T(1));
  V p;
  if constexpr (sizeof(T) == 4)
    p = detail::polynomial(z, 0x1.18e1cp-9f, -0x1.0bf4f4p-7f, 0x1.638b56p-6f, -0x1.b9ee9p-5f, 0x1.111066p-3f,
                           -0x1.555554p-2f);
  else
    p = detail::polynomial(z, -0x1.30e9166faf6ebp-19, 0x1.8bc295af7078cp-17, -0x1.333cb18ad28aap-15,
                           0x1.919bf0230c24ep-14, -0x1.f4bd1c813e4aep-13, 0x1.354da510ae23fp-11, -0x1.7da29488b772fp-10,
                           0x1.d6d3c5a9821c2p-9, -0x1.226e3529de9a4p-7, 0x1.664f488183d06p-6, -0x1.ba1ba1ba1735bp-5,
                           0x1.11111111110d1p-3, -0x1.5555555555555p-2);
  V const small = fma(mul(a, z), p, a);
  V const large = one - splat<V>(T(2)) / (exp(V(a + a)) + one);
  return detail::with_sign_of(x, V(select(a < splat<V>(T(0.625)), small, large)));
}

/// The error function.
///
/// Types: float, double, vec of them. Numerics: error below 2 ulp; +-0 and NaN stay, erf(+-inf) = +-1.
template <real_lanes V>
HEDDLE_TILE V erf(V const& x) {
  using T = lane_t<V>;
  V const a = abs(x), z = mul(a, a), one = splat<V>(T(1)), top = splat<V>(T(sizeof(T) == 4 ? 3.93 : 5.95));
  V p;
  if constexpr (sizeof(T) == 4)
    p = detail::polynomial(z, -0x1.438406p-17f, 0x1.d82692p-14f, -0x1.bcbe9ap-11f, 0x1.5628eep-8f, -0x1.b829a8p-6f,
                           0x1.ce2f08p-4f, -0x1.812746p-2f, 0x1.06eba8p-3f);
  else
    p = detail::polynomial(z, 0x1.0579b59c93ce6p-34, -0x1.386ac4ee1fbe7p-30, 0x1.f7a413923d658p-27,
                           -0x1.5f1d36e47c1d1p-23, 0x1.b9def1a222656p-20, -0x1.f4d1df39a25adp-17, 0x1.f9a321a12293ap-14,
                           -0x1.c02db3d8ed50ep-11, 0x1.565bcd0db02f5p-8, -0x1.b82ce3128499dp-6, 0x1.ce2f21a042b20p-4,
                           -0x1.812746b0379e6p-2, 0x1.06eba8214db69p-3);
  V const small = fma(a, p, a);
  V const capped = select(a > top, top, a);  // erf rounds to 1 there
  V const large = one - exp(V(-detail::minus_log_erfc(capped)));
  return detail::with_sign_of(x, V(select(a < one, small, large)));
}

}  // namespace heddle
