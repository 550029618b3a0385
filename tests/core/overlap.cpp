// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/core/overlap.hpp>

#include <support/catch.hpp>

#include <bitset>
#include <cstdint>
#include <vector>

using heddle::dims;
using heddle::expect_apart;
using heddle::expect_apart_or_same;
using heddle::index_t;
using heddle::surely_overlap;
using heddle::view;
using heddle::test::has_text;

namespace {

/// Which of the 64 numbers a view names.
std::bitset<64> elements_of(view<float, 3> const& v, float const* base) {
  constexpr std::size_t rank = 3;
  std::bitset<64> used;
  if (v.empty()) return used;
  index_t at[rank] = {};
  for (index_t e = 0; e < v.size(); ++e) {
    index_t rest = e, offset = v.data() - base;
    for (std::size_t d = rank; d-- > 0; rest /= v.extent(d)) {
      at[d] = rest % v.extent(d);
      offset += at[d] * v.stride(d);
    }
    used.set(static_cast<std::size_t>(offset));
  }
  return used;
}

std::vector<view<float, 3>> many_views(float* base) {
  std::vector<view<float, 3>> all;
  for (index_t first : {16, 17, 19, 20})
    for (index_t n : {0, 1, 2, 3})
      for (index_t m : {1, 3})
        for (index_t s : {-4, 0, 1, 4, 8})
          for (index_t t : {-1, 1, 2, 4}) all.emplace_back(base + first, dims<3>(2, n, m), 12, s, t);
  return all;
}

}  // namespace

TEST_CASE("what surely overlaps shares an element", "[core]") {
  float memory[64];
  auto const all = many_views(memory);
  int found = 0, missed = 0;
  for (auto const& a : all)
    for (auto const& b : all) {
      bool const share = (elements_of(a, memory) & elements_of(b, memory)).any();
      bool const told = surely_overlap(a, b);
      if (told && !share) FAIL("views that share nothing were said to overlap");
      found += told;
      missed += share && !told;
    }
  CHECK(found > 3 * missed);
}

TEST_CASE("the shapes of operands that overlap are found", "[core]") {
  float m[64];
  view<float, 1> const v(m, dims<1>(8));
  CHECK(surely_overlap(v, view<float, 1>(m + 7, dims<1>(8))));
  CHECK(!surely_overlap(v, view<float, 1>(m + 8, dims<1>(8))));
  CHECK(surely_overlap(view<float, 1>(m + 7, dims<1>(8), -1), v));
  view<float, 1> const even(m, dims<1>(8), 2), odd(m + 1, dims<1>(8), 2);
  CHECK(!surely_overlap(even, odd));
  CHECK(surely_overlap(even, view<float, 1>(m + 4, dims<1>(8), 2)));
  CHECK(surely_overlap(view<float, 1>(m + 14, dims<1>(8), -2), even));
  view<float, 2> const left(m, dims<2>(8, 4), 8, 1), right(m + 4, dims<2>(8, 4), 8, 1);
  CHECK(!surely_overlap(left, right));
  CHECK(surely_overlap(left, view<float, 2>(m + 3, dims<2>(8, 4), 8, 1)));
  CHECK(surely_overlap(view<float, 2>(m + 3, dims<2>(4, 7), 1, 8), left));
  CHECK(surely_overlap(left, view<float, 1>(m + 24, dims<1>(1))));
  CHECK(!surely_overlap(left, view<float, 1>(m + 28, dims<1>(4))));
  // Bytes of another type.
  CHECK(surely_overlap(v, view<std::uint8_t, 1>(reinterpret_cast<std::uint8_t*>(m) + 31, dims<1>(1))));
  CHECK(!surely_overlap(v, view<std::uint8_t, 1>(reinterpret_cast<std::uint8_t*>(m) + 32, dims<1>(1))));
  CHECK(!surely_overlap(v, view<float, 1>(nullptr, dims<1>(0))));
  CHECK(!surely_overlap(view<float, 1>(m, dims<1>(0)), v));
  CHECK(surely_overlap(view<float, 0>(m + 2, dims<0>()), v));
}

TEST_CASE("outputs stand apart, or are an input", "[core]") {
  float m[64];
  view<float, 1> const a(m, dims<1>(8)), next(m + 1, dims<1>(8)), far(m + 16, dims<1>(8));
  CHECK_NOTHROW(expect_apart("op", a, far));
  CHECK_THROWS_WITH(expect_apart("op", a, far, a), has_text("overlap no input") && has_text(" op"));
  CHECK_THROWS_WITH(expect_apart("op", a, next), has_text("overlap no input"));
  CHECK_NOTHROW(expect_apart_or_same("op", a, a, far));
  CHECK_THROWS_WITH(expect_apart_or_same("op", a, next), has_text("in place"));
  CHECK_THROWS_WITH(expect_apart_or_same("op", a, heddle::reverse(a)), has_text("in place"));
  CHECK_THROWS_WITH(expect_apart_or_same("op", a, view<float, 2>(m, dims<2>(2, 4))), has_text("in place"));
  CHECK_THROWS_WITH(
      expect_apart_or_same("op", a, view<std::uint16_t, 1>(reinterpret_cast<std::uint16_t*>(m), dims<1>(8))),
      has_text("in place"));
  CHECK_THROWS_WITH(expect_apart("op", view<float, 1>(m, dims<1>(8), 0)), has_text("stand twice"));
  CHECK_THROWS_WITH(expect_apart_or_same("op", view<float, 1>(m, dims<1>(8), 0), far), has_text("stand twice"));
  // Strides of dimensions with one element name nothing.
  CHECK_NOTHROW(
      expect_apart_or_same("op", view<float, 2>(m, dims<2>(1, 8), 5, 1), view<float, 2>(m, dims<2>(1, 8), 8, 1)));
  int lazy = 0;
  CHECK_NOTHROW(expect_apart("op", a, lazy));
}
