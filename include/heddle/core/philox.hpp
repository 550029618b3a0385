// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/math.hpp>

namespace heddle {

/// Four random words, of one counter.
struct philox_block {
  std::uint32_t word[4];
};

/// The Philox 4x32 generator with 10 rounds: a bijection of the counter for each key.
///
/// Complexity: 20 products of 32 bits. Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
HEDDLE_HD_FN constexpr philox_block philox_4x32(philox_block counter, std::uint32_t key_low, std::uint32_t key_high) {
  std::uint32_t* const c = counter.word;
  for (int round = 0; round < 10; ++round) {
    std::uint64_t const p = std::uint64_t{0xD2511F53u} * c[0], r = std::uint64_t{0xCD9E8D57u} * c[2];
    std::uint32_t const next[] = {static_cast<std::uint32_t>(r >> 32) ^ c[1] ^ key_low, static_cast<std::uint32_t>(r),
                                  static_cast<std::uint32_t>(p >> 32) ^ c[3] ^ key_high, static_cast<std::uint32_t>(p)};
    for (int i = 0; i < 4; ++i) c[i] = next[i];
    key_low += 0x9E3779B9u;
    key_high += 0xBB67AE85u;
  }
  return counter;
}

/// Random numbers by position: element e of a stream is a function of (seed, stream, e) and of nothing else.
///
/// Elements are numbered globally, in row-major order of the whole tensor, so that cutting it over ranks or threads
/// changes nothing. A stream is one use: another layer, step or call takes another stream.
/// Determinism: the same bits everywhere.
class philox {
 public:
  HEDDLE_HD_FN constexpr philox(std::uint64_t seed, std::uint64_t stream) noexcept : seed_(seed), stream_(stream) {}

  HEDDLE_HD_FN constexpr std::uint64_t seed() const noexcept { return seed_; }
  HEDDLE_HD_FN constexpr std::uint64_t stream() const noexcept { return stream_; }

  /// The words of elements 4 b to 4 b + 3.
  HEDDLE_HD_FN constexpr philox_block block(std::uint64_t b) const {
    return philox_4x32({{low(b), high(b), low(stream_), high(stream_)}}, low(seed_), high(seed_));
  }
  /// 32 random bits.
  HEDDLE_HD_FN constexpr std::uint32_t bits(std::uint64_t element) const {
    return block(element / 4).word[element % 4];
  }
  /// A multiple of 2^-24 in [0, 1), each equally likely.
  HEDDLE_HD_FN constexpr float uniform(std::uint64_t element) const { return uniform_from(bits(element)); }
  /// An integer in [0, n), with a bias below n / 2^32. Pre: 1 <= n <= 2^32.
  HEDDLE_HD_FN constexpr std::uint64_t below(std::uint64_t element, std::uint64_t n) const {
    return (std::uint64_t{bits(element)} * n) >> 32;
  }
  /// Normally distributed with mean 0 and variance 1, by Box and Muller's transform of the words of elements 2 i and
  /// 2 i + 1. Numerics: |result| <= 6.8.
  HEDDLE_HD_FN float normal(std::uint64_t element) const {
    philox_block const b = block(element / 4);
    float pair[2];
    normal_pair(b.word[element % 4 / 2 * 2], b.word[element % 4 / 2 * 2 + 1], pair);
    return pair[element % 2];
  }
  /// `normal` of elements 4 b to 4 b + 3.
  HEDDLE_HD_FN void normals(std::uint64_t b, float (&out)[4]) const {
    philox_block const w = block(b);
    float pair[2];
    for (int i = 0; i < 4; i += 2) {
      normal_pair(w.word[i], w.word[i + 1], pair);
      out[i] = pair[0];
      out[i + 1] = pair[1];
    }
  }

  static HEDDLE_HD_FN constexpr float uniform_from(std::uint32_t bits) {
    return static_cast<float>(bits >> 8) * 0x1p-24f;  // exact
  }

 private:
  static HEDDLE_HD_FN constexpr std::uint32_t low(std::uint64_t x) { return static_cast<std::uint32_t>(x); }
  static HEDDLE_HD_FN constexpr std::uint32_t high(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); }
  static HEDDLE_HD_FN void normal_pair(std::uint32_t a, std::uint32_t b, float* pair) {
    float const u = fma(static_cast<float>(a), 0x1p-32f, 0x1p-33f);  // in (0, 1]
    float const radius = sqrt(mul(-2.0f, log(u)));
    float s, c;
    sincos(mul(0x1.921fb6p+2f, uniform_from(b)), s, c);
    pair[0] = mul(radius, c);
    pair[1] = mul(radius, s);
  }

  std::uint64_t seed_, stream_;
};

}  // namespace heddle
