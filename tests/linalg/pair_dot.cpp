// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "products.hpp"

#include <heddle/linalg/pair_dot.hpp>

#include <cstring>

using namespace heddle;

namespace {

float const normal = 0x1p-126f;

bf16 number(std::uint64_t seed, index_t i, int exponent, int spread) {
  std::uint64_t const r = test::random_bits(seed, i);
  int const e = exponent + static_cast<int>(r % static_cast<std::uint64_t>(spread));
  return bf16::from_bits(static_cast<std::uint16_t>((r >> 20 & 0x8000u) | static_cast<std::uint64_t>(e) << 7 |
                                                    (r >> 50 & 1 ? 0 : r >> 40 & 0x7Fu)));
}

/// Chains of k steps near the smallest normal number, by every instruction set, against `dot_pair`.
void require_chains(int exponent, int spread, std::uint64_t seed) {
  index_t const m = 29, n = 67, k = 6;
  test::matrices<bf16> a(1, m, k), b(1, k, n);
  for (index_t i = 0; i < m * k; ++i) a.view()(0, i / k, i % k) = number(seed, i, exponent, spread);
  for (index_t i = 0; i < k * n; ++i) b.view()(0, i / n, i % n) = number(seed + 1, i, exponent, spread);
  std::vector<float> want;
  for (index_t i = 0; i < m * n; ++i) {
    auto const x = [&](index_t d) { return a.view()(0, i / n, d); };
    auto const y = [&](index_t d) { return b.view()(0, d, i % n); };
    float sum = 0;
    for (index_t d = 0; d < k; d += 2) sum = dot_pair(sum, x(d), x(d + 1), y(d), y(d + 1));
    want.push_back(sum);
  }
  test::for_each_isa([&](isa set) {
    INFO(name(set) << " " << exponent << " " << seed);
    serial_executor exec;
    test::matrices<float> c(1, m, n);
    matmul(exec, a.input(), b.input(), c.view());
    REQUIRE(test::same_bits(c.values(), want));
  });
}

}  // namespace

TEST_CASE("a flushed multiply-add is zero where the rounded result is below the normal numbers", "[linalg]") {
  REQUIRE(fma_flushed(2, 3, 4) == 10);
  REQUIRE(fma_flushed(0x1p-70f, 0x1p-56f, 0) == normal);
  REQUIRE(bit_cast<std::uint32_t>(fma_flushed(0x1p-70f, -0x1p-57f, 0)) == 0x80000000u);
  REQUIRE(bit_cast<std::uint32_t>(fma_flushed(0x1p-70f, 0x1p-57f, 0)) == 0);
  // 2^-126 less a quarter of 2^-149 rounds to 2^-126; a half of it is too much to be missing.
  REQUIRE(fma_flushed(-0x1p-75f, 0x1p-76f, normal) == normal);
  REQUIRE(fma_flushed(-0x1.8p-75f, 0x1p-76f, normal) == 0);
  REQUIRE(fma_flushed(-0x1p-75f, 0x1p-75f, normal) == 0);
  REQUIRE(bit_cast<std::uint32_t>(fma_flushed(0x1p-75f, 0x1p-75f, -normal)) == 0x80000000u);
  REQUIRE(fma_flushed(0x1p-75f, 0x1p-75f, normal) == normal);
  // The other way round: a product of normal size that a tiny number of the other sign does not reach.
  REQUIRE(fma_flushed(0x1p-63f, 0x1p-63f, normal) == 2 * normal);
  REQUIRE(fma_flushed(2, 3, __builtin_inff()) == __builtin_inff());
  float const none = fma_flushed(0, 3, __builtin_nanf(""));
  REQUIRE(none != none);
}

TEST_CASE("a pair is added upper half first, subnormal inputs are zeros", "[linalg]") {
  bf16 const one(1.0f), big(0x1p30f), tiny = bf16::from_bits(1);
  REQUIRE(dot_pair(-0x1p60f, one, big, one, big) == 1);  // the upper product meets its opposite first
  REQUIRE(dot_pair(-0x1p60f, big, one, big, one) == 0);  // the upper one is lost before the lower comes
  REQUIRE(dot_pair(0, tiny, tiny, bf16(0x1p100f), bf16(0x1p100f)) == 0);
}

TEST_CASE("pairs: the same bits from every instruction set at the edge of the normal numbers", "[linalg]") {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    require_chains(52, 3, seed);   // products near 2^-149
    require_chains(60, 5, seed);   // products near 2^-126
    require_chains(0, 128, seed);  // subnormal inputs among others
    require_chains(124, 6, seed);
  }
}

TEST_CASE("matmul of bf16: strict widens and keeps subnormal numbers", "[linalg]") {
  bf16 const tiny = bf16::from_bits(1), big(0x1p100f);
  test::for_each_isa([&](isa) {
    serial_executor exec;
    float c = -1;
    view<bf16 const, 2> const a(&tiny, dims<2>(1, 1)), b(&big, dims<2>(1, 1));
    view<float, 2> const out(&c, dims<2>(1, 1));
    matmul(exec, a, b, out);
    REQUIRE(c == 0);
    matmul(exec, a, b, out, {.strict = true});
    REQUIRE(c == 0x1p-33f);
  });
}

TEMPLATE_LIST_TEST_CASE("matmul of bf16: strict has the bits of widened operands", "[linalg]", test::executor_cases) {
  TestType setup;
  for (int which = 0; which < 8; ++which) {
    test::product_problem p = test::transposed({2, 19, 35, 45}, which);
    p.c.transposed = which & 4;
    p.options.strict = true;
    test::require_defined_bits<bf16, float>(setup.exec, p);
  }
}
