// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/math_exponential.hpp>

/// @file
/// pow for float and double, by the rules of core/math_exponential.hpp.

namespace heddle {

namespace detail {
/// An unevaluated sum, |low| at most half an ulp of high.
struct double_pair {
  double high, low;
};
HEDDLE_TILE double_pair exact_sum(double a, double b) {  // |a| >= |b|, or a = 0
  double const s = a + b;
  return {s, b - (s - a)};
}

/// log(x) for positive, finite x to about 63 bits.
HEDDLE_TILE double_pair log_in_two(double x) {
  double const scaled = x < 0x1p-1022 ? mul(x, 0x1p+54) : x;
  std::int64_t const bits = bit_cast<std::int64_t>(scaled);
  std::int64_t const k = (bits - 0x3FE6A09E667F3BCD) >> 52;
  double const f = bit_cast<double>(bits - k * (std::int64_t{1} << 52)) - 1,
               e = static_cast<double>(x < 0x1p-1022 ? k - 54 : k);
  // s = f / (2 + f), z = s^2 and the leading terms 2 s + 2/3 s^3 in two parts each.
  double const d = 2 + f, d_low = f - (d - 2);
  double const s = f / d, s_low = fma(-s, d_low, fma(-s, d, f)) / d;
  double const z = mul(s, s), z_low = fma(2 * s, s_low, fma(s, s, -z));
  double const cube = mul(s, z), cube_low = fma(s, z_low, fma(s_low, z, fma(s, z, -cube)));
  double const third = mul(cube, 0x1.5555555555555p-1);
  double const third_low =
      fma(cube_low, 0x1.5555555555555p-1, fma(cube, 0x1.5555555555555p-55, fma(cube, 0x1.5555555555555p-1, -third)));
  double const rest =
      polynomial(z, 0x1.0e481884176bep-3, 0x1.0f7f5c64a26e7p-3, 0x1.3b1ef1b95cd5bp-3, 0x1.745ce9c60f69fp-3,
                 0x1.c71c722db4fc6p-3, 0x1.2492492457a2dp-2, 0x1.9999999999b32p-2);
  double const tail = fma(mul(cube, z), rest, third_low);
  double_pair const head = exact_sum(2 * s, third);
  double const low = head.low + (2 * s_low + tail);
  if (e == 0) return exact_sum(head.high, low);
  double_pair const all = exact_sum(mul(e, 0x1.62e42fefa3800p-1), head.high);  // the product is exact
  return exact_sum(all.high, all.low + fma(e, 0x1.ef35793c76730p-45, low));
}

/// a^y for positive, finite a and finite y.
HEDDLE_TILE double power_of_positive(double a, double y) {
  double_pair const l = log_in_two(a);
  double const high = mul(y, l.high);
  if (!(abs(high) < 800)) return high > 0 ? real_facts<double>::infinity : 0;
  double const low = fma(y, l.low, fma(y, l.high, -high));
  using facts = real_facts<double>;
  double const x = clamped(high, facts::exp_min, facts::exp_max);
  double const t = fma(x, facts::log2e, facts::magic), n = t - facts::magic;
  double const r = fma(n, -facts::ln2_hi, x), r_low = low - mul(n, facts::ln2_lo);
  // exp(r + r_low) with the rounding of the sum put back.
  double_pair const sum = exact_sum(r, r_low);
  double const p = exp_polynomial(sum.high);
  return scale_by_power(fma(p, sum.low, p), t);
}

HEDDLE_TILE double power(double x, double y) {
  double const infinity = real_facts<double>::infinity, a = abs(x), b = abs(y);
  if (y == 0 || x == 1) return 1;
  if (x != x || y != y) return x + y;
  if (b == infinity) return a == 1 ? 1 : (a > 1) == (y > 0) ? infinity : 0;
  bool const huge = b >= 0x1p+53;  // all of them even
  double const whole = huge ? b : static_cast<double>(static_cast<std::int64_t>(b));
  bool const integer = whole == b;
  bool const odd = integer && !huge && (static_cast<std::int64_t>(whole) & 1) != 0;
  bool const negative = (bit_cast<std::uint64_t>(x) >> 63) != 0;
  if (negative && !integer && a != 0 && a != infinity) return bit_cast<double>(std::uint64_t{0x7FF8000000000000u});
  double const r = a == 0 || a == infinity ? ((a == 0) == (y > 0) ? 0 : infinity) : power_of_positive(a, y);
  return negative && odd ? -r : r;
}
}  // namespace detail

/// x^y.
///
/// Types: float, double. Numerics: float within 0.51 ulp, double within 1.1 ulp. Special values as in C.
HEDDLE_TILE float pow(float x, float y) {
  return static_cast<float>(detail::power(static_cast<double>(x), static_cast<double>(y)));
}
HEDDLE_TILE double pow(double x, double y) { return detail::power(x, y); }

}  // namespace heddle
