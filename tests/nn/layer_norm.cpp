// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/core/bf16.hpp>
#include <heddle/nn/layer_norm.hpp>

#include "results.hpp"

namespace heddle {
namespace {

using test::column;
using test::input;
using test::matrix;
using test::u;

/// Forward, or both backward operations, of rows x columns numbers around `offset`.
struct problem {
  index_t rows, columns;
  input<float> x, weight, bias, dy;
  std::vector<float> mean, rstd;

  problem(index_t r, index_t c, double offset = 0)
      : rows(r), columns(c), x(r * c, 3, offset - 3, offset + 3), weight(c, 4), bias(c, 5), dy(r * c, 6),
        mean(static_cast<std::size_t>(r), 0.25f), rstd(static_cast<std::size_t>(r), 0.5f) {}

  template <class E, class Y>
  void forward(E& e, Y* y, float* statistics) const {
    nn::layer_norm(e, matrix<float const>(x.data(), rows, columns), column<float const>(weight.data(), columns),
                   column<float const>(bias.data(), columns), matrix(y, rows, columns), column(statistics, rows),
                   column(statistics + rows, rows));
  }
  template <class E>
  void backward(E& e, float* dx, float* sums) const {
    auto const in = matrix<float const>(x.data(), rows, columns), g = matrix<float const>(dy.data(), rows, columns);
    auto const m = column(mean.data(), rows), r = column(rstd.data(), rows);
    nn::layer_norm_backward_input(e, in, column<float const>(weight.data(), columns), m, r, g,
                                  matrix(dx, rows, columns));
    nn::layer_norm_backward_weight(e, in, m, r, g, column(sums, columns), column(sums + columns, columns));
  }
};

}  // namespace

TEST_CASE("the oracle's layer norm is right", "[nn]") {
  reference_executor oracle;
  for (index_t const columns : {1, 7, 130, 1000}) {
    problem const p(3, columns, 1);
    auto const got = test::results_of<float, float>(oracle, 3 * columns, 6,
                                                    [&](auto& e, float* y, float* s) { p.forward(e, y, s); });
    double const n = static_cast<double>(columns), d = test::depth(columns);
    for (index_t r = 0; r < 3; ++r) {
      double mean = 0, square = 0;
      for (index_t c = 0; c < columns; ++c) mean += p.x[r * columns + c] / n;
      for (index_t c = 0; c < columns; ++c) square += std::pow(p.x[r * columns + c] - mean, 2) / n;
      double const rstd = 1 / std::sqrt(square + 1e-5), off = d * u * 4;  // |x| <= 4
      REQUIRE(std::abs(got.s[static_cast<std::size_t>(r)] - mean) <= off);
      // The deviations carry the error of the mean; their squares add up along the tree.
      double const relative = (d / 2 + 5) * u + off * off * rstd * rstd;
      REQUIRE(std::abs(got.s[static_cast<std::size_t>(3 + r)] - rstd) <= relative * rstd);
      for (index_t c = 0; c < columns; ++c) {
        double const hat = (p.x[r * columns + c] - mean) * rstd, want = hat * p.weight[c] + p.bias[c];
        double const bound = std::abs(p.weight[c]) * (rstd * off + std::abs(hat) * (relative + 3 * u));
        REQUIRE(std::abs(got.y[static_cast<std::size_t>(r * columns + c)] - want) <= bound + u * std::abs(want));
      }
    }
  }
}

TEST_CASE("the oracle's gradients of layer norm are right", "[nn]") {
  reference_executor oracle;
  index_t const rows = 70, columns = 130;
  problem const p(rows, columns);
  auto const got = test::results_of<float, float>(oracle, rows * columns, 2 * columns,
                                                  [&](auto& e, float* dx, float* s) { p.backward(e, dx, s); });
  double const n = static_cast<double>(columns), hat_max = 3.25 * 0.5, d = test::depth(columns);
  std::vector<double> weight(130), bias(130);
  for (index_t r = 0; r < rows; ++r) {
    double a = 0, b = 0;
    auto const hat = [&](index_t c) { return (double{p.x[r * columns + c]} - 0.25) * 0.5; };
    for (index_t c = 0; c < columns; ++c) {
      double const g = double{p.dy[r * columns + c]} * p.weight[c];
      a += g / n;
      b += g * hat(c) / n;
      weight[static_cast<std::size_t>(c)] += p.dy[r * columns + c] * hat(c);
      bias[static_cast<std::size_t>(c)] += p.dy[r * columns + c];
    }
    for (index_t c = 0; c < columns; ++c) {
      double const want = 0.5 * ((double{p.dy[r * columns + c]} * p.weight[c] - a) - hat(c) * b);
      // |g| <= 1: a is within (d + 2) u, b within (d + 5) u hat_max, and each is rounded with the sum.
      double const bound = 0.5 * u * ((d + 6) + hat_max * hat_max * (d + 9));
      REQUIRE(std::abs(got.y[static_cast<std::size_t>(r * columns + c)] - want) <= bound);
    }
  }
  for (std::size_t c = 0; c < 130; ++c) {
    REQUIRE(std::abs(got.s[c] - weight[c]) <= (test::depth(rows) + 3) * u * hat_max * rows);
    REQUIRE(std::abs(got.s[130 + c] - bias[c]) <= test::depth(rows) * u * rows);
  }
}

TEMPLATE_LIST_TEST_CASE("layer norm and its gradients give the oracle's bits", "[nn]", test::tile_cases) {
  TestType setup;
  for (auto const& shape : test::shapes) {
    problem const p(shape[0], shape[1]);
    CAPTURE(p.rows, p.columns);
    index_t const n = p.rows * p.columns;
    test::agreed<float, float>(setup.exec, n, 2 * p.rows, [&](auto& e, float* y, float* s) { p.forward(e, y, s); });
    test::agreed<float, float>(setup.exec, n, 2 * p.columns,
                               [&](auto& e, float* dx, float* s) { p.backward(e, dx, s); });
    test::agreed<bf16, float>(setup.exec, n, 2 * p.rows, [&](auto& e, bf16* y, float* s) { p.forward(e, y, s); });
  }
}

TEMPLATE_LIST_TEST_CASE("layer norm of strided views and in place", "[nn]", test::tile_cases) {
  TestType setup;
  input<float> const w(77, 8), b(77, 9), statistic(6, 10);
  float s[12];
  auto const ws = column<float const>(w.data(), 77), bs = column<float const>(b.data(), 77);
  auto const st = column<float const>(statistic.data(), 6);
  test::check_strided_map<float>(setup.exec, true, [&](auto& e, auto x, auto y) {
    nn::layer_norm(e, x, ws, bs, y, column(s, 6), column(s + 6, 6));
    e.synchronize();
  });
  test::check_strided_map<float>(setup.exec, true, [&](auto& e, auto dy, auto dx) {
    nn::layer_norm_backward_input(e, dy, ws, st, st, dy, dx);
  });
}

// NU-5: E[x^2] - E[x]^2 would give variance 0 and -37.06, or NaN.
TEMPLATE_LIST_TEST_CASE("layer norm of a large mean and a small spread", "[nn]", test::tile_cases) {
  TestType setup;
  float x[16], one[16], zero[16] = {};
  for (int i = 0; i < 16; ++i) {
    x[i] = 1024 + static_cast<float>(i) / 64;
    one[i] = 1;
  }
  auto const got = test::agreed<float, float>(setup.exec, 16, 2, [&](auto& e, float* y, float* s) {
    nn::layer_norm(e, matrix<float const>(x, 1, 16), column<float const>(one, 16), column<float const>(zero, 16),
                   matrix(y, 1, 16), column(s, 1), column(s + 1, 1), 1e-5);
  });
  CHECK(got.s[0] == 1024.1171875f);
  CHECK(1 / (got.s[1] * got.s[1]) - 1e-5 == Approx(0.00518798828125).epsilon(1e-5));
  double const end = 1.6254126724232087;
  for (std::size_t i = 0; i < 16; ++i)
    CHECK(std::abs(got.y[i] - (-end + 2 * end * static_cast<double>(i) / 15)) <= 1e-5);
}

TEST_CASE("layer norm refuses what does not fit", "[nn]") {
  reference_executor exec;
  float x[6] = {}, y[6] = {}, s[3] = {};
  auto const in = matrix<float const>(x, 2, 3);
  auto const w = column<float const>(x, 3);
  CHECK_THROWS_AS(nn::layer_norm(exec, in, w, w, matrix(y, 3, 2), column(s, 2), column(s, 2)), contract_error);
  CHECK_THROWS_AS(nn::layer_norm(exec, in, column<float const>(x, 2), w, matrix(y, 2, 3), column(s, 2), column(s, 2)),
                  contract_error);
  CHECK_THROWS_AS(nn::layer_norm(exec, in, w, w, matrix(y, 2, 3), column(s, 3), column(s, 2)), contract_error);
  CHECK_THROWS_AS(nn::layer_norm(exec, matrix<float const>(x, 2, 0), column<float const>(x, 0),
                                 column<float const>(x, 0), matrix(y, 2, 0), column(s, 2), column(s, 2)),
                  contract_error);
  auto const st = column<float const>(s, 2);
  CHECK_THROWS_AS(nn::layer_norm_backward_input(exec, in, w, st, st, matrix<float const>(x, 3, 2), matrix(y, 2, 3)),
                  contract_error);
  CHECK_THROWS_AS(nn::layer_norm_backward_weight(exec, in, st, st, in, column(y, 2), column(y, 3)), contract_error);
}

}  // namespace heddle
