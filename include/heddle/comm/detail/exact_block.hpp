// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/tile/targets.hpp>
#include <heddle/tile/vec.hpp>

/// @file
/// Exact sums of squares of a block of fp32 values in vectors of doubles. Part of comm/exact_sum.hpp.

namespace heddle::detail {

/// The sum of the squares of a block: each part[j] in units of 2^unit[j].
struct exact_block {
  static constexpr index_t room = 4096;
  static constexpr int unknown = -10000;

  static constexpr int anchors = 4;

  std::int64_t part[anchors];
  int unit[anchors];
  int peak;    ///< in: what the block before says of this one, or `unknown`; out: what this one says of the next
  bool exact;  ///< false: a value was infinite, NaN, too large for `peak`, or much smaller
};

/// 2^e. Pre: a normal number.
HEDDLE_TILE double exact_power(int e) { return __builtin_bit_cast(double, static_cast<std::uint64_t>(1023 + e) << 52); }

/// Adds squares of n values, n a multiple of 32 and at most `exact_block::room`.
///
/// The square of an fp32 value is exact in fp64. Adding it to an anchor, 1.5 times a power of two above all that the
/// block can add up to, rounds it to the anchor's last place; the difference of the anchor after and before is what was
/// added, and the rest, exact as well, goes on to an anchor 45 places lower. Two anchors hold most runs whole; where
/// they leave a rest, the run is done again with four. Source: Rump, Ogita & Oishi 2008, ExtractVector.
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
    // A lane's 128 squares below 2^(2 peak + 2) add up to less than half of the first anchor's power of two; 128 rests
    // of half a last place to less than half of the next one's.
    int const first = 2 * out->peak + 10;
    D sum[exact_block::anchors];
    for (int j = 0; j < exact_block::anchors; ++j) sum[j] = D::splat(1.5 * exact_power(first - 45 * j));
    for (index_t at = 0; at < n; at += run) {
      index_t const size = n - at < run ? n - at : run;
      D const before[2] = {sum[0], sum[1]};
      if (!add<Isa, 2>(x + at, size, sum)) continue;
      sum[0] = before[0], sum[1] = before[1];
      if (add<Isa, exact_block::anchors>(x + at, size, sum)) out->exact = false;
    }
    // The first sum only grows, so that its end tells whether it ever left its binade; false for NaN as well.
    for (int l = 0; l < wide; ++l) out->exact = out->exact && sum[0][l] < 2 * exact_power(first);
    if (out->exact) take(sum, first, out);
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

  template <class D>
  static HEDDLE_TILE void take(D const (&sum)[exact_block::anchors], int first, exact_block* out) {
    for (int j = 0; j < exact_block::anchors; ++j) {
      int const power = first - 45 * j;
      auto const last_places =
          convert<std::int64_t>(mul(sum[j] - D::splat(1.5 * exact_power(power)), D::splat(exact_power(52 - power))));
      out->unit[j] = power - 52;
      out->part[j] = 0;
      for (int l = 0; l < wide; ++l) out->part[j] += last_places[l];
    }
    // The next lanes may add up to eight times as much as the mean of these.
    if (out->part[0] <= 0) {
      out->peak = exact_block::unknown;
      return;
    }
    int const size = 63 - __builtin_clzll(static_cast<std::uint64_t>(out->part[0]));
    int const next = (out->unit[0] + size - 10) >> 1;
    out->peak = next < -149 ? -149 : next;
  }

  /// Adds to the first `Levels` anchors; whether something was left over.
  template <class Isa, int Levels, class D>
  static HEDDLE_TILE bool add(float const* x, index_t n, D (&to)[exact_block::anchors]) {
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
