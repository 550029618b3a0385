// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/core/bf16.hpp>
#include <heddle/nn/rms_norm.hpp>

#include "results.hpp"

namespace heddle {
namespace {

using test::column;
using test::input;
using test::matrix;
using test::u;

struct problem {
  index_t rows, columns;
  input<float> x, weight, dy;
  std::vector<float> rstd;

  problem(index_t r, index_t c)
      : rows(r), columns(c), x(r * c, 3, -3, 3), weight(c, 4), dy(r * c, 6), rstd(static_cast<std::size_t>(r), 0.5f) {}

  template <class E, class Y>
  void forward(E& e, Y* y, float* statistics) const {
    nn::rms_norm(e, matrix<float const>(x.data(), rows, columns), column<float const>(weight.data(), columns),
                 matrix(y, rows, columns), column(statistics, rows));
  }
  template <class E>
  void backward(E& e, float* dx, float* dweight) const {
    auto const in = matrix<float const>(x.data(), rows, columns), g = matrix<float const>(dy.data(), rows, columns);
    auto const r = column(rstd.data(), rows);
    nn::rms_norm_backward_input(e, in, column<float const>(weight.data(), columns), r, g, matrix(dx, rows, columns));
    nn::rms_norm_backward_weight(e, in, r, g, column(dweight, columns));
  }
};

}  // namespace

TEST_CASE("the oracle's RMS norm and gradients are right", "[nn]") {
  reference_executor oracle;
  index_t const rows = 70, columns = 130;
  problem const p(rows, columns);
  auto const got = test::results_of<float, float>(oracle, rows * columns, rows,
                                                  [&](auto& e, float* y, float* s) { p.forward(e, y, s); });
  auto const back = test::results_of<float, float>(oracle, rows * columns, columns,
                                                   [&](auto& e, float* dx, float* s) { p.backward(e, dx, s); });
  double const n = static_cast<double>(columns), d = test::depth(columns);
  std::vector<double> dweight(130);
  for (index_t r = 0; r < rows; ++r) {
    double square = 0, b = 0;
    for (index_t c = 0; c < columns; ++c) {
      double const x = p.x[r * columns + c], g = double{p.dy[r * columns + c]} * p.weight[c];
      square += x * x / n;
      b += g * x * 0.5 / n;
      dweight[static_cast<std::size_t>(c)] += p.dy[r * columns + c] * x * 0.5;
    }
    double const rstd = 1 / std::sqrt(square + 1e-5);
    REQUIRE(std::abs(got.s[static_cast<std::size_t>(r)] - rstd) <= (d / 2 + 5) * u * rstd);
    for (index_t c = 0; c < columns; ++c) {
      std::size_t const i = static_cast<std::size_t>(r * columns + c);
      double const x = p.x[r * columns + c], y = x * rstd * p.weight[c];
      REQUIRE(std::abs(got.y[i] - y) <= (d / 2 + 7) * u * std::abs(y));
      double const dx = 0.5 * (double{p.dy[r * columns + c]} * p.weight[c] - x * 0.5 * b);
      REQUIRE(std::abs(back.y[i] - dx) <= 0.5 * u * (4 + 1.5 * 1.5 * (d + 8)));  // |g| <= 1, |x rstd| <= 1.5
    }
  }
  for (std::size_t c = 0; c < 130; ++c)
    REQUIRE(std::abs(back.s[c] - dweight[c]) <= (test::depth(rows) + 2) * u * 1.5 * rows);
}

TEMPLATE_LIST_TEST_CASE("RMS norm and its gradients give the oracle's bits", "[nn]", test::tile_cases) {
  TestType setup;
  for (auto const& shape : test::shapes) {
    problem const p(shape[0], shape[1]);
    CAPTURE(p.rows, p.columns);
    index_t const n = p.rows * p.columns;
    test::agreed<float, float>(setup.exec, n, p.rows, [&](auto& e, float* y, float* s) { p.forward(e, y, s); });
    test::agreed<float, float>(setup.exec, n, p.columns, [&](auto& e, float* dx, float* s) { p.backward(e, dx, s); });
    test::agreed<bf16, float>(setup.exec, n, p.rows, [&](auto& e, bf16* y, float* s) { p.forward(e, y, s); });
  }
}

TEMPLATE_LIST_TEST_CASE("RMS norm of strided views and in place", "[nn]", test::tile_cases) {
  TestType setup;
  input<float> const w(77, 8), statistic(6, 10);
  float s[6];
  auto const ws = column<float const>(w.data(), 77);
  auto const st = column<float const>(statistic.data(), 6);
  test::check_strided_map<float>(setup.exec, true, [&](auto& e, auto x, auto y) {
    nn::rms_norm(e, x, ws, y, column(s, 6));
    e.synchronize();
  });
  test::check_strided_map<float>(setup.exec, true, [&](auto& e, auto dy, auto dx) {
    nn::rms_norm_backward_input(e, dy, ws, st, dy, dx);
  });
}

TEST_CASE("RMS norm refuses what does not fit", "[nn]") {
  reference_executor exec;
  float x[6] = {}, y[6] = {}, s[3] = {};
  auto const in = matrix<float const>(x, 2, 3);
  auto const w = column<float const>(x, 3);
  CHECK_THROWS_AS(nn::rms_norm(exec, in, w, matrix(y, 3, 2), column(s, 2)), contract_error);
  CHECK_THROWS_AS(nn::rms_norm(exec, in, column<float const>(x, 2), matrix(y, 2, 3), column(s, 2)), contract_error);
  CHECK_THROWS_AS(nn::rms_norm(exec, in, w, matrix(y, 2, 3), column(s, 3)), contract_error);
  CHECK_THROWS_AS(nn::rms_norm_backward_input(exec, in, w, column<float const>(s, 2), in, matrix(y, 3, 2)),
                  contract_error);
  CHECK_THROWS_AS(nn::rms_norm_backward_weight(exec, in, column<float const>(s, 2), in, column(y, 2)), contract_error);
}

}  // namespace heddle
