// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/core/bf16.hpp>
#include <heddle/nn/embedding.hpp>

#include "results.hpp"

namespace heddle {
namespace {

using test::column;
using test::input;
using test::matrix;

struct problem {
  index_t vocabulary, width, sequences, sequence, rows;
  input<float> table, positions, dy;
  input<std::int32_t> tokens;

  problem(index_t v, index_t w, index_t s, index_t t)
      : vocabulary(v), width(w), sequences(s), sequence(t), rows(s * t), table(v * w, 1), positions((t + 2) * w, 2),
        dy(rows * w, 3), tokens(rows) {
    for (index_t r = 0; r < rows; ++r) tokens[r] = static_cast<std::int32_t>(test::random_below(4, r, v));
  }
  view<std::int32_t const, 1> ids() const { return column(tokens.data(), rows); }
};

constexpr index_t sizes[][4] = {{5, 3, 0, 4},    {1, 1, 1, 1},    {7, 5, 3, 9},
                                {64, 33, 2, 17}, {65, 8, 1, 130}, {300, 16, 2, 3}};

}  // namespace

TEMPLATE_LIST_TEST_CASE("embedding adds the row of a token and that of its position", "[nn]", test::tile_cases) {
  TestType setup;
  for (auto const& s : sizes) {
    problem const p(s[0], s[1], s[2], s[3]);
    CAPTURE(p.vocabulary, p.width, p.rows);
    index_t const n = p.rows * p.width;
    auto const table = matrix(p.table.data(), p.vocabulary, p.width);
    auto const got = test::agreed<float, float>(setup.exec, n, n, [&](auto& e, float* with, float* without) {
      nn::embedding(e, table, matrix(p.positions.data(), p.sequence + 2, p.width), p.ids(), p.sequence,
                    matrix(with, p.rows, p.width));
      nn::embedding(e, table, view<float const, 2>(), p.ids(), 0, matrix(without, p.rows, p.width));
    });
    for (index_t r = 0; r < p.rows; ++r)
      for (index_t c = 0; c < p.width; ++c) {
        float const row = p.table[p.tokens[r] * p.width + c], at = p.positions[r % p.sequence * p.width + c];
        REQUIRE(got.y[static_cast<std::size_t>(r * p.width + c)] == row + at);
        REQUIRE(got.s[static_cast<std::size_t>(r * p.width + c)] == row);
      }
  }
}

TEMPLATE_LIST_TEST_CASE("gradients of both tables sum their rows in ascending order", "[nn]", test::tile_cases) {
  TestType setup;
  for (auto const& s : sizes) {
    problem const p(s[0], s[1], s[2], s[3]);
    CAPTURE(p.vocabulary, p.width, p.rows);
    index_t const positions = p.sequence + 2;  // the last two are never used: zero
    auto const dy = matrix(p.dy.data(), p.rows, p.width);
    auto const got = test::agreed<float, float>(
        setup.exec, p.vocabulary * p.width, positions * p.width, [&](auto& e, float* dtable, float* dpositions) {
          nn::embedding_backward(e, p.ids(), dy, matrix(dtable, p.vocabulary, p.width));
          nn::position_backward(e, p.sequence, dy, matrix(dpositions, positions, p.width));
        });
    std::vector<float> table(got.y.size(), 0.0f), at(got.s.size(), 0.0f);
    for (index_t r = 0; r < p.rows; ++r)
      for (index_t c = 0; c < p.width; ++c) {
        table[static_cast<std::size_t>(p.tokens[r] * p.width + c)] += p.dy[r * p.width + c];
        at[static_cast<std::size_t>(r % p.sequence * p.width + c)] += p.dy[r * p.width + c];
      }
    REQUIRE(test::same_bits(got.y, table));
    REQUIRE(test::same_bits(got.s, at));
  }
}

TEMPLATE_LIST_TEST_CASE("embedding of bf16, and of strided tables", "[nn]", test::tile_cases) {
  TestType setup;
  problem const p(9, 6, 2, 4);
  input<bf16> table(9 * 6, 1), positions(4 * 6, 2);
  auto const got = test::agreed<bf16, float>(setup.exec, 48, 48, [&](auto& e, bf16* y, float* strided) {
    nn::embedding(e, matrix<bf16 const>(table.data(), 9, 6), matrix<bf16 const>(positions.data(), 4, 6), p.ids(), 4,
                  matrix(y, 8, 6));
    nn::embedding(e, view<float const, 2>(p.table.data(), dims<2>(9, 6), 1, 9), view<float const, 2>(), p.ids(), 0,
                  view<float, 2>(strided, dims<2>(8, 6), 1, 8));
  });
  for (index_t r = 0; r < 8; ++r)
    for (index_t c = 0; c < 6; ++c) {
      float const sum = float(table[p.tokens[r] * 6 + c]) + float(positions[r % 4 * 6 + c]);
      REQUIRE(got.y[static_cast<std::size_t>(r * 6 + c)].bits == bf16(sum).bits);
      REQUIRE(got.s[static_cast<std::size_t>(c * 8 + r)] == p.table[c * 9 + p.tokens[r]]);
    }
}

TEMPLATE_LIST_TEST_CASE("a token outside the vocabulary is an error when the work runs", "[nn]", test::tile_cases) {
  TestType setup;
  problem p(5, 3, 1, 4);
  float y[12];
  for (std::int32_t const wrong : {5, -1}) {
    p.tokens[2] = wrong;
    REQUIRE_THROWS_AS((nn::embedding(setup.exec, matrix<float const>(p.table.data(), 5, 3), view<float const, 2>(),
                                     p.ids(), 0, matrix(y, 4, 3)),
                       setup.exec.synchronize()),
                      contract_error);
    // The backward pass refuses it too, also where no row of the table would have met it.
    float dtable[15];
    REQUIRE_THROWS_AS((nn::embedding_backward(setup.exec, p.ids(), matrix<float const>(p.dy.data(), 4, 3),
                                              matrix(dtable, 5, 3)),
                       setup.exec.synchronize()),
                      contract_error);
    REQUIRE_THROWS_AS(nn::embedding_backward(setup.exec, p.ids(), matrix<float const>(p.dy.data(), 4, 3),
                                             matrix(dtable, 0, 3)),
                      contract_error);
  }
}

TEST_CASE("embedding refuses what does not fit", "[nn]") {
  reference_executor exec;
  problem const p(5, 3, 2, 4);
  float y[24] = {};
  auto const table = matrix(p.table.data(), 5, 3), dy = matrix(p.dy.data(), 8, 3);
  auto const none = view<float const, 2>();
  auto const at = [&](index_t n, index_t width) { return matrix(p.positions.data(), n, width); };
  CHECK_THROWS_AS(nn::embedding(exec, table, none, p.ids(), 0, matrix(y, 4, 3)), contract_error);
  CHECK_THROWS_AS(nn::embedding(exec, table, none, p.ids(), 0, matrix(y, 8, 2)), contract_error);
  CHECK_THROWS_AS(nn::embedding(exec, table, at(3, 3), p.ids(), 4, matrix(y, 8, 3)), contract_error);
  CHECK_THROWS_AS(nn::embedding(exec, table, at(6, 2), p.ids(), 4, matrix(y, 8, 3)), contract_error);
  CHECK_THROWS_AS(nn::embedding(exec, table, at(6, 3), p.ids(), 0, matrix(y, 8, 3)), contract_error);
  CHECK_THROWS_AS(nn::embedding_backward(exec, p.ids(), dy, matrix(y, 5, 2)), contract_error);
  CHECK_THROWS_AS(nn::position_backward(exec, 0, dy, matrix(y, 4, 3)), contract_error);
  CHECK_THROWS_AS(nn::position_backward(exec, 4, dy, matrix(y, 3, 3)), contract_error);
}

}  // namespace heddle
