// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/tile/targets.hpp>
#include <heddle/tile/vec.hpp>

/// @file
/// Exact sums of squares of a block of fp32 values in vectors of doubles. Part of comm/exact_sum.hpp.

namespace heddle::detail {

/// The sum of the squares of a block is part[0] + part[1] + part[2], where part[j] is a multiple of
/// 2^(exponent[j] - 52) and at most 2^exponent[j] in size.
struct exact_block {
  static constexpr index_t room = 4096;
  static constexpr int unknown = -10000;

  double part[3];
  int exponent[3];
  int peak;    ///< in: as of a block before, or `unknown`; out: the values of this block are below 2^(peak + 1)
  bool exact;  ///< false: a value was infinite, NaN, too large for `peak`, or much smaller
};

/// 2^e. Pre: a normal number.
HEDDLE_TILE double exact_power(int e) { return __builtin_bit_cast(double, static_cast<std::uint64_t>(1023 + e) << 52); }

/// Adds squares of n values, n a multiple of 32 and at most `exact_block::room`.
///
/// The square of an fp32 value is exact in fp64. Adding it to an anchor, 1.5 times a power of two above all that the
/// block can add up to, rounds it to the anchor's last place; the difference of the anchor after and before is what was
/// added, and the rest, exact as well, goes on to an anchor 40 places lower. Two anchors hold most blocks whole; where
/// they leave a rest, the run is done again with three. Source: Rump, Ogita & Oishi 2008, ExtractVector.
struct exact_block_body {
  static constexpr int wide = 32;
  static constexpr index_t run = 512;
  template <class Isa>
  using doubles = vec<double, wide, Isa::template lanes<double>>;

  template <class Isa>
  HEDDLE_TILE void operator()(Isa, float const* const& x, index_t const& n, exact_block* const& out) const {
    using D = doubles<Isa>;
    if (out->peak == exact_block::unknown) out->peak = peak_of<Isa>(x, n);
    out->exact = out->peak < 128;
    if (!out->exact) return;
    // 4096 squares below 2^(2 peak + 2) add up to less than half of the first power.
    for (int j = 0; j < 3; ++j) out->exponent[j] = 2 * out->peak + 15 - 40 * j;
    D sum[3];
    for (int j = 0; j < 3; ++j) sum[j] = D::splat(1.5 * exact_power(out->exponent[j]));
    for (index_t at = 0; at < n; at += run) {
      index_t const size = n - at < run ? n - at : run;
      D const before[2] = {sum[0], sum[1]};
      if (!add<Isa, 2>(x + at, size, sum)) continue;
      sum[0] = before[0], sum[1] = before[1];
      if (add<Isa, 3>(x + at, size, sum)) out->exact = false;
    }
    // The first sum only grows, so that its end tells whether it ever left its binade; false for NaN as well.
    for (int l = 0; l < wide; ++l) out->exact = out->exact && sum[0][l] < 2 * exact_power(out->exponent[0]);
    for (int j = 0; j < 3; ++j) {
      out->part[j] = 0;
      for (int l = 0; l < wide; ++l) out->part[j] += sum[j][l] - 1.5 * exact_power(out->exponent[j]);
    }
  }

 private:
  template <class Isa>
  static HEDDLE_TILE int peak_of(float const* x, index_t n) {
    using F = vec<float, wide, Isa::template lanes<float>>;
    F peak = F::zero();
    for (index_t i = 0; i < n; i += wide) {
      F const v = abs(F::load(x + i));
      peak = select(v > peak, v, peak);
    }
    double most = 0;
    for (int l = 0; l < wide; ++l)
      if (static_cast<double>(peak[l]) > most) most = static_cast<double>(peak[l]);
    // The exponent of an infinity is 1024.
    return most == 0 ? -149 : static_cast<int>(__builtin_bit_cast(std::uint64_t, most) >> 52) - 1023;
  }

  /// Adds to the first `Levels` anchors; whether something was left over.
  template <class Isa, int Levels, class D>
  static HEDDLE_TILE bool add(float const* x, index_t n, D (&to)[3]) {
    using F = vec<float, wide, Isa::template lanes<double>>;
    using bits = vec<std::int64_t, wide, Isa::template lanes<double>>;
    D sum[Levels];
    for (int j = 0; j < Levels; ++j) sum[j] = to[j];
    bits left = bits::zero();
    for (index_t i = 0; i < n; i += wide) {
      D const v = convert<double>(F::load(x + i));
      D rest = mul(v, v);
      for (int j = 0; j < Levels; ++j) {
        D const before = sum[j];
        sum[j] = before + rest;
        rest = rest - (sum[j] - before);
      }
      left = left | bit_cast<std::int64_t>(rest);  // x - x is +0, whose bits are zero
    }
    for (int j = 0; j < Levels; ++j) to[j] = sum[j];
    return any(left);
  }
};

}  // namespace heddle::detail
