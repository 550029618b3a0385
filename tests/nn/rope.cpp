// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/core/bf16.hpp>
#include <heddle/nn/rope.hpp>

#include "results.hpp"

namespace heddle {
namespace {

using test::input;
using test::matrix;
using test::u;

nn::rope_options turning(index_t heads, index_t head_size, index_t tokens, index_t first = 0, double base = 10000) {
  return {.heads = heads, .head_size = head_size, .tokens = tokens, .first_position = first, .base = base};
}

}  // namespace

TEST_CASE("the oracle's rope is right", "[nn]") {
  reference_executor oracle;
  index_t const rows = 2 * 50, width = 2 * 12 + 5, half = 6;
  input<float> x(rows * width, 3, -2, 2);
  nn::rope_options const o = turning(2, 12, 50, 3000);
  auto const got = test::results_of<float, float>(oracle, rows * width, 0, [&](auto& e, float* y, float*) {
    nn::rope(e, matrix<float const>(x.data(), rows, width), matrix(y, rows, width), o);
  });
  for (index_t r = 0; r < rows; ++r)
    for (index_t c = 0; c < width; ++c) {
      float const y = got.y[static_cast<std::size_t>(r * width + c)];
      if (c >= 24) {
        REQUIRE(y == x[r * width + c]);
        continue;
      }
      index_t const in_head = c % 12, i = in_head % half, partner = in_head < half ? c + half : c - half;
      double const angle = static_cast<double>(3000 + r % 50) * std::pow(10000.0, -static_cast<double>(i) / half);
      double const own = x[r * width + c], other = x[r * width + partner];
      double const want = own * std::cos(angle) + (in_head < half ? -1 : 1) * other * std::sin(angle);
      // Sine and cosine are rounded once from fp64, the product once, the sum once.
      REQUIRE(std::abs(y - want) <= u * (std::abs(own) + 2 * std::abs(other) + std::abs(want)) + 1e-12);
    }
}

TEMPLATE_LIST_TEST_CASE("rope gives the oracle's bits and turns back", "[nn]", test::tile_cases) {
  TestType setup;
  struct { index_t sequences, tokens, heads, head_size, rest; } const sizes[] = {
      {0, 3, 1, 4, 0},   {1, 1, 1, 2, 0}, {3, 5, 2, 6, 7}, {1, 17, 1, 64, 1},
      {2, 33, 3, 10, 0}, {2, 4, 0, 8, 9}, {2, 4, 3, 0, 9}};
  for (auto const& s : sizes) {
    index_t const rows = s.sequences * s.tokens, width = s.heads * s.head_size + s.rest, n = rows * width;
    CAPTURE(rows, width, s.heads);
    input<float> x(n, 3, -2, 2);
    nn::rope_options o = turning(s.heads, s.head_size, s.tokens, 5, 500);
    auto const got = test::agreed<float, float>(setup.exec, n, n, [&](auto& e, float* y, float* back) {
      o.inverse = false;
      nn::rope(e, matrix<float const>(x.data(), rows, width), matrix(y, rows, width), o);
      o.inverse = true;
      nn::rope(e, matrix<float const>(y, rows, width), matrix(back, rows, width), o);
    });
    // A rotation whose cosine and sine are rounded stretches by 2 u at most; each turn rounds twice.
    for (index_t i = 0; i < n; ++i) REQUIRE(std::abs(got.s[static_cast<std::size_t>(i)] - x[i]) <= 12 * u * 2);
  }
}

TEMPLATE_LIST_TEST_CASE("rope of bf16 and of strided views", "[nn]", test::tile_cases) {
  TestType setup;
  test::check_strided_map<float>(setup.exec, false,
                                 [](auto& e, auto x, auto y) { nn::rope(e, x, y, turning(3, 24, 2)); });
  input<bf16> x(12 * 9, 3, -2, 2);
  auto const narrow = test::agreed<bf16, float>(setup.exec, 108, 0, [&](auto& e, bf16* y, float*) {
    nn::rope(e, matrix<bf16 const>(x.data(), 12, 9), matrix(y, 12, 9), turning(1, 8, 4));
  });
  // Position 0 does not turn.
  for (index_t r = 0; r < 12; r += 4)
    for (index_t c = 0; c < 9; ++c)
      REQUIRE(float(narrow.y[static_cast<std::size_t>(r * 9 + c)]) == float(x[r * 9 + c]));
}

TEST_CASE("rope refuses what does not fit", "[nn]") {
  reference_executor exec;
  float x[24] = {}, y[24] = {};
  auto const in = matrix<float const>(x, 4, 6);
  auto const out = matrix(y, 4, 6);
  CHECK_THROWS_AS(nn::rope(exec, in, out, turning(2, 3, 4)), contract_error);              // an odd head
  CHECK_THROWS_AS(nn::rope(exec, in, out, turning(2, 4, 4)), contract_error);              // heads wider than a row
  CHECK_THROWS_AS(nn::rope(exec, in, out, turning(1, 4, 3)), contract_error);              // a sequence cut in two
  CHECK_THROWS_AS(nn::rope(exec, in, out, turning(1, 4, 0)), contract_error);              // no sequence length
  CHECK_THROWS_AS(nn::rope(exec, in, out, turning(index_t{1} << 62, 4, 4)), contract_error);  // the width wraps to 0
  CHECK_THROWS_AS(nn::rope(exec, in, out, turning(0, index_t{1} << 62, 4)), contract_error);  // so would the table
  view<float, 2> const twice(y, dims<2>(4, 6), 0, 1);
  CHECK_THROWS_AS(nn::rope(exec, in, twice, turning(1, 4, 4)), contract_error);
  CHECK_THROWS_AS(nn::rope(exec, in, matrix(y, 6, 4), turning(1, 4, 4)), contract_error);  // other extents
}

}  // namespace heddle
