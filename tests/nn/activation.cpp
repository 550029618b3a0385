// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/nn/activation.hpp>

#include "results.hpp"

namespace heddle {
namespace {

using test::input;
using test::matrix;
using test::check_numbers;
using test::on_oracle;
using test::u;

double phi(double x) { return 0.5 * std::erfc(-x * M_SQRT1_2); }
double density(double x) { return 0.3989422804014327 * std::exp(-0.5 * x * x); }
double inner(double x) { return 0.7978845608028654 * (x + 0.044715 * x * x * x); }
double slope(double x) { return 0.7978845608028654 * (1 + 0.134145 * x * x); }

}  // namespace

TEST_CASE("the oracle's GELU is right", "[nn]") {
  index_t const n = 1001;
  input<float> x(n, 3, -6, 6), dy(n, 4, -2, 2);
  auto const xs = matrix<float const>(x.data(), 1, n), dys = matrix<float const>(dy.data(), 1, n);
  // The argument is within 6 u and z sech^2 z < 0.45, so tanh is within 5 u with its own error; 1 + t rounds by 2 u.
  check_numbers(on_oracle(n, [&](auto& e, auto y) { nn::gelu(e, xs, y); }), x.data(), dy.data(),
                [](double v, double) { return 0.5 * v * (1 + std::tanh(inner(v))); },
                [](double v, double, double y) { return 4 * u * std::abs(v) + 2 * u * y; });
  // 1 - t^2 is within 13 u, and is multiplied by |x| slope / 2.
  check_numbers(on_oracle(n, [&](auto& e, auto y) { nn::gelu_backward(e, xs, dys, y); }), x.data(), dy.data(),
                [](double v, double g) {
                  double const t = std::tanh(inner(v));
                  return g * (0.5 * (1 + t) + 0.5 * v * (1 - t * t) * slope(v));
                },
                [](double v, double g, double y) {
                  return std::abs(g) * u * (4 + 7 * std::abs(v) * slope(v)) + 3 * u * y;
                });
  // z erf'(z) < 0.49, so the error of the argument costs u.
  check_numbers(on_oracle(n, [&](auto& e, auto y) { nn::gelu(e, xs, y, nn::gelu_form::erf); }), x.data(), dy.data(),
                [](double v, double) { return v * phi(v); },
                [](double v, double, double y) { return 3 * u * std::abs(v) + 2 * u * y; });
  check_numbers(on_oracle(n, [&](auto& e, auto y) { nn::gelu_backward(e, xs, dys, y, nn::gelu_form::erf); }), x.data(),
                dy.data(), [](double v, double g) { return g * (phi(v) + v * density(v)); },
                [](double, double g, double y) { return 6 * u * std::abs(g) + 2 * u * y; });
}

TEMPLATE_LIST_TEST_CASE("GELU gives the oracle's bits", "[nn]", test::tile_cases) {
  TestType setup;
  for (auto const& shape : test::shapes) {
    index_t const rows = shape[0], columns = shape[1], n = rows * columns;
    CAPTURE(rows, columns);
    input<float> x(n, 3, -9, 9), dy(n, 4);
    auto const xs = matrix<float const>(x.data(), rows, columns), dys = matrix<float const>(dy.data(), rows, columns);
    for (auto form : {nn::gelu_form::tanh, nn::gelu_form::erf})
      test::agreed<float, float>(setup.exec, n, n, [&](auto& e, float* y, float* dx) {
        nn::gelu(e, xs, matrix(y, rows, columns), form);
        nn::gelu_backward(e, xs, dys, matrix(dx, rows, columns), form);
      });
  }
}

TEMPLATE_LIST_TEST_CASE("GELU of strided views and in place", "[nn]", test::tile_cases) {
  TestType setup;
  test::check_strided_map<float>(setup.exec, true, [](auto& e, auto x, auto y) { nn::gelu(e, x, y); });
  test::check_strided_map<float>(setup.exec, true, [](auto& e, auto x, auto y) { nn::gelu_backward(e, x, x, y); });
}

TEMPLATE_LIST_TEST_CASE("GELU at the ends of the range", "[nn]", test::tile_cases) {
  TestType setup;
  float const big = 3e38f;
  float const x[] = {0, -0.0f, 100, -100, big, -big, test::inf, -test::inf, test::qnan};
  float y[9];
  auto const xs = matrix<float const>(x, 1, 9);
  auto const run = [&](auto const& op) {
    for (float& v : y) v = 7;
    op(setup.exec, xs, matrix(y, 1, 9));
    setup.exec.synchronize();
    for (int i : {0, 1, 3, 5}) REQUIRE(y[i] == 0);
    REQUIRE(y[2] == 100);
    REQUIRE(y[4] == big);
    REQUIRE(y[6] == test::inf);
    for (int i : {7, 8}) REQUIRE(std::isnan(y[i]));
  };
  run([](auto& e, auto a, auto b) { nn::gelu(e, a, b, nn::gelu_form::erf); });
  run([](auto& e, auto a, auto b) { nn::gelu(e, a, b, nn::gelu_form::tanh); });
}

TEMPLATE_LIST_TEST_CASE("an infinite activation makes its gradient NaN", "[nn]", test::tile_cases) {
  TestType setup;
  float const x[] = {test::inf, -test::inf, 1, 3e38f}, dy[] = {1, 1, 1, 1};
  float y[4];
  auto const xs = matrix<float const>(x, 1, 4), dys = matrix<float const>(dy, 1, 4);
  auto const run = [&](auto const& op) {
    for (float& v : y) v = 7;
    op(setup.exec, xs, matrix(y, 1, 4));
    setup.exec.synchronize();
  };
  auto const run_backward = [&](auto const& op) {
    run(op);
    REQUIRE((std::isnan(y[0]) && std::isnan(y[1]) && !std::isnan(y[2])));
  };
  run_backward([&](auto& e, auto a, auto b) { nn::gelu_backward(e, a, dys, b, nn::gelu_form::erf); });
  REQUIRE(y[3] == 1);
  run_backward([&](auto& e, auto a, auto b) { nn::gelu_backward(e, a, dys, b, nn::gelu_form::tanh); });
  REQUIRE(std::isnan(y[3]));  // by the slope of its argument, which overflows
  run_backward([&](auto& e, auto a, auto b) { nn::silu_backward(e, a, dys, b); });
  run([](auto& e, auto a, auto b) { nn::silu(e, a, b); });
  REQUIRE((y[0] == test::inf && std::isnan(y[1])));
}

TEST_CASE("GELU refuses what does not fit", "[nn]") {
  reference_executor exec;
  float x[8] = {}, y[8] = {};
  auto const in = matrix<float const>(x, 2, 4);
  CHECK_THROWS_AS(nn::gelu(exec, in, matrix(y, 4, 2)), contract_error);
  CHECK_THROWS_AS(nn::gelu_backward(exec, in, matrix<float const>(x, 2, 3), matrix(y, 2, 4)), contract_error);
}

}  // namespace heddle
