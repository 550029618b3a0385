// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/core/philox.hpp>
#include <heddle/core/tree.hpp>

#include "support/catch.hpp"

#include <cmath>

using heddle::philox;
using heddle::philox_block;

namespace {
void require_words(philox_block const& b, std::uint32_t w0, std::uint32_t w1, std::uint32_t w2, std::uint32_t w3) {
  REQUIRE(b.word[0] == w0);
  REQUIRE(b.word[1] == w1);
  REQUIRE(b.word[2] == w2);
  REQUIRE(b.word[3] == w3);
}

std::uint32_t const right[6][4] = {
    {0x2090b348, 0xda7cf0ab, 0x4401906f, 0xcbca470e}, {0x9eeede35, 0x1cbe137c, 0xfa277093, 0x147edd50},
    {0x3fc9c8d8, 0xfc06fa38, 0xcc170b27, 0x891d3b11}, {0xb6269a3e, 0x23b73d6b, 0x72cd7b67, 0xe87c375e},
    {0x14a762d7, 0xeb02ba3a, 0x0bb4bef5, 0xf998a4bd}, {0xca2921c9, 0x3342f66b, 0xb1f2cfa6, 0x96051f38}};
}  // namespace

TEST_CASE("published Philox vectors", "[core]") {
  std::uint32_t const ones = 0xFFFFFFFFu;
  require_words(heddle::philox_4x32({{0, 0, 0, 0}}, 0, 0), 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8);
  require_words(heddle::philox_4x32({{ones, ones, ones, ones}}, ones, ones), 0x408f276d, 0x41c83b0e, 0xa20bc7c6,
                0x6d5451fd);
  require_words(heddle::philox_4x32({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0xa4093822, 0x299f31d0),
                0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1);
}

TEST_CASE("RN-1: the numbers of a 6x4 tensor, whichever way it is cut", "[core]") {
  philox const random(1234, 0);
  for (int parts : {1, 2, 3, 4, 5, 8})
    for (int dim : {0, 1}) {
      int const rows = 6, columns = 4;
      int seen = 0;
      for (int rank = 0; rank < parts; ++rank) {
        auto const p = heddle::balanced_part(dim == 0 ? rows : columns, parts, rank);
        for (int i = dim == 0 ? int(p.offset) : 0; i < (dim == 0 ? int(p.end()) : rows); ++i)
          for (int j = dim == 1 ? int(p.offset) : 0; j < (dim == 1 ? int(p.end()) : columns); ++j) {
            REQUIRE(random.bits(static_cast<std::uint64_t>(i) * columns + static_cast<std::uint64_t>(j)) ==
                    right[i][j]);
            ++seen;
          }
      }
      REQUIRE(seen == 24);
    }
  char const* const mask = "101001011000011010100100";
  for (std::uint64_t e = 0; e < 24; ++e) REQUIRE((random.bits(e) < 0x80000000u) == (mask[e] == '1'));
}

TEST_CASE("RN-1: another stream, another seed, another number", "[core]") {
  require_words(philox(1234, 1).block(0), 0xd115a128, 0x52fc7c75, 0xc7f33f17, 0x0f1539db);
  REQUIRE(philox(1235, 0).bits(0) != right[0][0]);
  REQUIRE(philox(1234 + (std::uint64_t{1} << 32), 0).bits(0) != right[0][0]);
  REQUIRE(philox(1234, std::uint64_t{1} << 32).bits(0) != right[0][0]);
  REQUIRE(philox(1234, 0).bits(std::uint64_t{1} << 34) != right[0][0]);
}

TEST_CASE("uniform and bounded numbers", "[core]") {
  philox const random(7, 3);
  double sum = 0;
  std::uint64_t count[5] = {};
  std::uint64_t const n = 40000;
  for (std::uint64_t e = 0; e < n; ++e) {
    float const u = random.uniform(e);
    REQUIRE((u >= 0 && u < 1));
    sum += static_cast<double>(u);
    std::uint64_t const k = random.below(e, 5);
    REQUIRE(k < 5);
    ++count[k];
  }
  // Standard deviations: sqrt(1/12 n) of the mean, sqrt(0.16 n) of a count; five of them.
  REQUIRE(std::fabs(sum / n - 0.5) < 5 * std::sqrt(1.0 / (12.0 * n)));
  for (std::uint64_t c : count) REQUIRE(std::fabs(double(c) - n / 5.0) < 5 * std::sqrt(0.16 * n));
  REQUIRE(philox::uniform_from(0xFFFFFFFFu) == 1.0f - 0x1p-24f);
  REQUIRE(philox::uniform_from(0xFFu) == 0.0f);
}

TEST_CASE("normal numbers", "[core]") {
  philox const random(11, 0);
  double s1 = 0, s2 = 0, s4 = 0;
  std::uint64_t const n = 40000;
  for (std::uint64_t b = 0; b < n / 4; ++b) {
    float four[4];
    random.normals(b, four);
    for (std::uint64_t i = 0; i < 4; ++i) {
      REQUIRE(four[i] == random.normal(4 * b + i));
      double const x = four[i];
      REQUIRE(std::fabs(x) < 6.8);
      s1 += x;
      s2 += x * x;
      s4 += x * x * x * x;
    }
  }
  // Five standard deviations of the sample moments: variances 1, 2 and 96 over n.
  REQUIRE(std::fabs(s1 / n) < 5 * std::sqrt(1.0 / n));
  REQUIRE(std::fabs(s2 / n - 1) < 5 * std::sqrt(2.0 / n));
  REQUIRE(std::fabs(s4 / n - 3) < 5 * std::sqrt(96.0 / n));
}
