// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/core/bf16.hpp>
#include <heddle/linalg/row_statistics.hpp>
#include <heddle/nn/from_statistics.hpp>

#include "results.hpp"

namespace heddle {
namespace {

using test::column;
using test::input;
using test::matrix;

/// A matrix and the statistics of its rows.
template <class T>
struct rows_with_statistics {
  index_t rows, width;
  input<T> x;
  std::vector<float> sum, squares, peaks;

  rows_with_statistics(index_t m, index_t n)
      : rows(m), width(n), x(m * n, 4, -2, 3), sum(static_cast<std::size_t>(m)), squares(sum), peaks(sum) {
    reference_executor oracle;
    compute_row_statistics(oracle, view(),
                           row_statistics{column(sum.data(), m), column(squares.data(), m), column(peaks.data(), m)});
  }
  heddle::view<T const, 2> view() { return matrix<T const>(x.data(), rows, width); }
};

}  // namespace

TEMPLATE_LIST_TEST_CASE("RMS norm of rows whose sums of squares are known", "[nn]", test::tile_cases) {
  TestType setup;
  for (auto const& shape : test::shapes) {
    rows_with_statistics<float> m(shape[0], shape[1]);
    CAPTURE(m.rows, m.width);
    input<float> const w(m.width, 2);
    auto const got =
        test::results_of<float, float>(setup.exec, m.rows * m.width, m.rows, [&](auto& e, float* y, float* s) {
          nn::rms_norm_from_sums(e, m.view(), column<float const>(w.data(), m.width),
                                 column<float const>(m.squares.data(), m.rows), matrix(y, m.rows, m.width),
                                 column(s, m.rows), 0.5);
        });
    index_t wrong = 0;
    for (index_t r = 0; r < m.rows; ++r) {
      float const rstd = 1 / std::sqrt(m.squares[static_cast<std::size_t>(r)] / static_cast<float>(m.width) + 0.5f);
      wrong += got.s[static_cast<std::size_t>(r)] != rstd;
      for (index_t i = 0; i < m.width; ++i)
        wrong += got.y[static_cast<std::size_t>(r * m.width + i)] != mul(mul(m.x[r * m.width + i], rstd), w[i]);
    }
    REQUIRE(wrong == 0);
  }
}

TEMPLATE_LIST_TEST_CASE("layer norm of rows whose sums are known", "[nn]", test::tile_cases) {
  TestType setup;
  for (auto const& shape : test::shapes) {
    rows_with_statistics<bf16> m(shape[0], shape[1]);
    CAPTURE(m.rows, m.width);
    input<float> const w(m.width, 2), b(m.width, 3);
    auto const weight = column<float const>(w.data(), m.width), bias = column<float const>(b.data(), m.width);
    index_t const n = m.rows * m.width;
    auto const got = test::agreed<float, float>(setup.exec, n, 2 * m.rows, [&](auto& e, float* y, float* s) {
      nn::layer_norm_from_sums(e, m.view(), weight, bias, column<float const>(m.sum.data(), m.rows),
                               column<float const>(m.squares.data(), m.rows), matrix(y, m.rows, m.width),
                               column(s, m.rows), column(s + m.rows, m.rows), 0.25);
    });
    auto const two_passes = test::agreed<float, float>(setup.exec, n, 2 * m.rows, [&](auto& e, float* y, float* s) {
      nn::layer_norm(e, m.view(), weight, bias, matrix(y, m.rows, m.width), column(s, m.rows),
                     column(s + m.rows, m.rows), 0.25);
    });
    // Sizes are below 3 and epsilon is 1 / 4: the variance is wrong by 9 times the roundings of both sums, so rstd,
    // at most 2, by 16 times as much, and y by the distance from the mean, at most 6, of that.
    double const roundings = 2 * (test::depth(m.width) + 8) * test::u, bound = 6 * 4 * 9 * roundings + 64 * test::u;
    index_t wrong = 0;
    for (index_t i = 0; i < n; ++i)
      wrong +=
          !(std::abs(double{got.y[static_cast<std::size_t>(i)]} - two_passes.y[static_cast<std::size_t>(i)]) <= bound);
    REQUIRE(wrong == 0);
  }
}

TEMPLATE_LIST_TEST_CASE("rows whose largest sizes are known become the same small numbers", "[nn]", test::tile_cases) {
  TestType setup;
  for (auto const& shape : test::shapes) {
    rows_with_statistics<float> m(shape[0], shape[1]);
    CAPTURE(m.rows, m.width);
    index_t const n = m.rows * m.width;
    std::vector<std::int8_t> got(static_cast<std::size_t>(n), std::int8_t{-128}), want(got);
    std::vector<float> scale(static_cast<std::size_t>(m.rows), 7.0f), other(scale);
    nn::quantise_rows_from_peaks(setup.exec, m.view(), column<float const>(m.peaks.data(), m.rows),
                                 matrix(got.data(), m.rows, m.width), column(scale.data(), m.rows));
    setup.exec.synchronize();
    reference_executor oracle;
    nn::quantise_rows(oracle, m.view(), matrix(want.data(), m.rows, m.width), column(other.data(), m.rows));
    REQUIRE(got == want);
    REQUIRE(test::same_bits(scale, other));
  }
}

TEST_CASE("norms from sums refuse what does not fit", "[nn]") {
  reference_executor exec;
  float x[12] = {}, y[12] = {}, s[4] = {};
  std::int8_t q[12] = {};
  auto const in = matrix<float const>(x, 3, 4);
  auto const four = column<float const>(x, 4), three = column<float const>(x, 3);
  CHECK_THROWS_AS(nn::rms_norm_from_sums(exec, in, four, four, matrix(y, 3, 4), column(s, 3)), contract_error);
  CHECK_THROWS_AS(nn::rms_norm_from_sums(exec, in, three, three, matrix(y, 3, 4), column(s, 3)), contract_error);
  CHECK_THROWS_AS(
      nn::layer_norm_from_sums(exec, in, four, three, three, three, matrix(y, 3, 4), column(s, 3), column(s, 3)),
      contract_error);
  CHECK_THROWS_AS(nn::quantise_rows_from_peaks(exec, in, four, matrix(q, 3, 4), column(s, 3)), contract_error);
}

}  // namespace heddle
