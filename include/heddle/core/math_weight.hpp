// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/math_exponential.hpp>

/// @file
/// What every softmax is made of, wherever it stands: the base of a row, and the weight of a score relative to it.

namespace heddle {

namespace detail {
/// The smallest argument whose exponential is a normal number, rounded towards zero.
template <class T>
inline constexpr T exp_weight_min = sizeof(T) == 4 ? T(-0x1.5d589ep+6) : T(-0x1.6232bdd7abcd2p+9);
}  // namespace detail

/// e^x for the weight of a score that lies x above its row's maximum or log-sum-exp, and 0 below `least`: cheaper than
/// exp, because one step scales the result.
///
/// Types: float, double, vec of them. Pre: x <= 80 or NaN, above that the result is arbitrary; e^least is a normal
/// number. Numerics: error below 1 ulp, the bits of exp. exp_weight(0) = 1, NaN stays NaN.
template <real_lanes V>
HEDDLE_TILE V exp_weight(V const& x, lane_t<V> least) {
  using T = lane_t<V>;
  using facts = detail::facts_of<V>;
  using U = detail::bits_of<V>;
  V const magic = splat<V>(facts::magic);
  V const t = fma(x, splat<V>(facts::log2e), magic);
  V const n = t - magic;
  V const r = fma(n, splat<V>(-facts::ln2_lo), fma(n, splat<V>(-facts::ln2_hi), x));
  U const power = U(shift_left<facts::mantissa>(bit_cast<uint_bits_t<T>>(t)) + splat<U>(facts::one));
  V const y = mul(detail::exp_polynomial(r), bit_cast<T>(power));
  // NaN fails the comparison and is in y; for what is too small, y is arbitrary.
  return select(x < splat<V>(least), splat<V>(T(0)), y);
}

/// The same, 0 exactly where e^x is subnormal.
template <real_lanes V>
HEDDLE_TILE V exp_weight(V const& x) {
  return exp_weight(x, detail::exp_weight_min<lane_t<V>>);
}

/// What the scores under a maximum are taken relative to: the maximum itself, or 0 where that is -inf, because
/// exp_weight(-inf - 0) is 0 while -inf - -inf would be NaN. A row that is all -inf so has weights 0 and sum 0.
///
/// Types: float, double, vec of them.
template <real_lanes V>
HEDDLE_TILE V softmax_base(V const& max) {
  using T = lane_t<V>;
  return select(max == splat<V>(-static_cast<T>(__builtin_inff())), splat<V>(T(0)), max);
}

}  // namespace heddle
