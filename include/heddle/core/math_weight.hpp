// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/math_exponential.hpp>

namespace heddle {

namespace detail {
/// The smallest argument whose exponential is a normal number, rounded towards zero.
template <class T>
inline constexpr T exp_weight_min = sizeof(T) == 4 ? T(-0x1.5d589ep+6) : T(-0x1.6232bdd7abcd2p+9);
}  // namespace detail

/// e^x for x <= 0, as softmax weights need it: cheaper than exp, because one step scales the result.
///
/// Types: float, double, vec of them. Pre: x <= 0 or NaN. Numerics: error below 1 ulp; where e^x is subnormal, and for
/// -inf, the result is 0. exp_weight(0) = 1, NaN stays NaN. Elsewhere the bits of exp.
template <real_lanes V>
HEDDLE_TILE V exp_weight(V const& x) {
  using T = lane_t<V>;
  using facts = detail::facts_of<V>;
  using U = detail::bits_of<V>;
  V const magic = splat<V>(facts::magic), zero = splat<V>(T(0));
  V const t = fma(x, splat<V>(facts::log2e), magic);
  V const n = t - magic;
  V const r = fma(n, splat<V>(-facts::ln2_lo), fma(n, splat<V>(-facts::ln2_hi), x));
  // The polynomial is in [0.7, 1.5]: adding n to its exponent stays in the normal numbers.
  U const bits = bit_cast<uint_bits_t<T>>(detail::exp_polynomial(r));
  V const y = bit_cast<T>(U(bits + shift_left<facts::mantissa>(U(bit_cast<uint_bits_t<T>>(t)))));
  // Behind the comparison stand NaN, which is kept, and what is too small.
  return select(x >= splat<V>(detail::exp_weight_min<T>), y, select(zero > x, zero, x));
}

}  // namespace heddle
