// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/core/bf16.hpp>
#include <heddle/nn/activation.hpp>

#include "results.hpp"

namespace heddle {
namespace {

using test::input;
using test::matrix;
using test::u;

double phi(double x) { return 0.5 * std::erfc(-x * M_SQRT1_2); }
double density(double x) { return 0.3989422804014327 * std::exp(-0.5 * x * x); }
double inner(double x) { return 0.7978845608028654 * (x + 0.044715 * x * x * x); }
double slope(double x) { return 0.7978845608028654 * (1 + 0.134145 * x * x); }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// Checks y[i] against want(x[i], dy[i]) within bound(x[i], dy[i], want).
template <class Want, class Bound>
void check_numbers(std::vector<float> const& y, float const* x, float const* dy, Want const& want, Bound const& bound) {
  for (std::size_t i = 0; i < y.size(); ++i) {
    double const w = want(double{x[i]}, double{dy[i]});
    CAPTURE(x[i], dy[i], y[i], w);
    REQUIRE(std::abs(y[i] - w) <= bound(double{x[i]}, double{dy[i]}, std::abs(w)));
  }
}

template <class Op>
std::vector<float> on_oracle(index_t n, Op const& op) {
  reference_executor oracle;
  return test::results_of<float, float>(oracle, n, 0, [&](auto& e, float* y, float*) { op(e, matrix(y, 1, n)); }).y;
}

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
                [](double v, double g, double y) { return std::abs(g) * u * (4 + 7 * std::abs(v) * slope(v)) + 3 * u * y; });
  // z erf'(z) < 0.49, so the error of the argument costs u.
  check_numbers(on_oracle(n, [&](auto& e, auto y) { nn::gelu(e, xs, y, nn::gelu_form::erf); }), x.data(), dy.data(),
                [](double v, double) { return v * phi(v); },
                [](double v, double, double y) { return 3 * u * std::abs(v) + 2 * u * y; });
  check_numbers(on_oracle(n, [&](auto& e, auto y) { nn::gelu_backward(e, xs, dys, y, nn::gelu_form::erf); }), x.data(),
                dy.data(), [](double v, double g) { return g * (phi(v) + v * density(v)); },
                [](double, double g, double y) { return 6 * u * std::abs(g) + 2 * u * y; });
}

TEST_CASE("the oracle's SiLU and SwiGLU are right", "[nn]") {
  index_t const n = 1001;
  input<float> x(2 * n, 3, -20, 20), dy(n, 4, -2, 2);
  auto const xs = matrix<float const>(x.data(), 1, n), dys = matrix<float const>(dy.data(), 1, n);
  auto const silu = [](double v, double) { return v * sigmoid(v); };
  auto const silu_slope = [](double v, double g) { return g * sigmoid(v) * (1 + v * (1 - sigmoid(v))); };
  auto const slope_bound = [](double v, double g, double y) {
    return std::abs(g) * sigmoid(v) * u * (5 * std::abs(v) + 2) + 8 * u * y;
  };
  check_numbers(on_oracle(n, [&](auto& e, auto y) { nn::silu(e, xs, y); }), x.data(), dy.data(), silu,
                [](double, double, double y) { return 4 * u * y; });
  check_numbers(on_oracle(n, [&](auto& e, auto y) { nn::silu_backward(e, xs, dys, y); }), x.data(), dy.data(),
                silu_slope, slope_bound);
  auto const both = matrix<float const>(x.data(), 1, 2 * n);
  float const* const up = x.data() + n;
  check_numbers(on_oracle(n, [&](auto& e, auto y) { nn::swiglu(e, both, y); }), x.data(), up,
                [&](double v, double w) { return silu(v, 0) * w; }, [](double, double, double y) { return 5 * u * y; });
  std::vector<float> const dx = on_oracle(2 * n, [&](auto& e, auto y) { nn::swiglu_backward(e, both, dys, y); });
  std::vector<float> through(static_cast<std::size_t>(n));
  for (index_t i = 0; i < n; ++i) through[static_cast<std::size_t>(i)] = dy[i] * up[i];
  check_numbers({dx.begin(), dx.begin() + n}, x.data(), through.data(), silu_slope, slope_bound);
  check_numbers({dx.begin() + n, dx.end()}, x.data(), dy.data(), [&](double v, double g) { return silu(v, 0) * g; },
                [](double, double, double y) { return 5 * u * y; });
}

TEMPLATE_LIST_TEST_CASE("activations give the oracle's bits", "[nn]", test::tile_cases) {
  TestType setup;
  for (auto const& shape : test::shapes) {
    index_t const rows = shape[0], columns = shape[1], n = rows * columns;
    CAPTURE(rows, columns);
    input<float> x(n, 3, -9, 9), dy(n, 4), both(2 * n, 5, -9, 9);
    auto const xs = matrix<float const>(x.data(), rows, columns), dys = matrix<float const>(dy.data(), rows, columns);
    auto const wide = matrix<float const>(both.data(), rows, 2 * columns);
    for (auto form : {nn::gelu_form::tanh, nn::gelu_form::erf})
      test::agreed<float, float>(setup.exec, n, n, [&](auto& e, float* y, float* dx) {
        nn::gelu(e, xs, matrix(y, rows, columns), form);
        nn::gelu_backward(e, xs, dys, matrix(dx, rows, columns), form);
      });
    test::agreed<float, float>(setup.exec, n, n, [&](auto& e, float* y, float* dx) {
      nn::silu(e, xs, matrix(y, rows, columns));
      nn::silu_backward(e, xs, dys, matrix(dx, rows, columns));
    });
    test::agreed<float, float>(setup.exec, n, 2 * n, [&](auto& e, float* y, float* dx) {
      nn::swiglu(e, wide, matrix(y, rows, columns));
      nn::swiglu_backward(e, wide, dys, matrix(dx, rows, 2 * columns));
    });
  }
}

TEMPLATE_LIST_TEST_CASE("activations of strided views and in place", "[nn]", test::tile_cases) {
  TestType setup;
  test::check_strided_map<float>(setup.exec, true, [](auto& e, auto x, auto y) { nn::gelu(e, x, y); });
  test::check_strided_map<float>(setup.exec, true, [](auto& e, auto x, auto y) { nn::silu(e, x, y); });
  test::check_strided_map<float>(setup.exec, true, [](auto& e, auto x, auto y) { nn::gelu_backward(e, x, x, y); });
  test::check_strided_map<float>(setup.exec, true, [](auto& e, auto x, auto y) { nn::silu_backward(e, x, x, y); });
}

TEMPLATE_LIST_TEST_CASE("activations at the ends of the range", "[nn]", test::tile_cases) {
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
    REQUIRE(std::isnan(y[8]));
  };
  run([](auto& e, auto a, auto b) { nn::gelu(e, a, b, nn::gelu_form::erf); });
  run([](auto& e, auto a, auto b) { nn::gelu(e, a, b, nn::gelu_form::tanh); });
}

TEMPLATE_LIST_TEST_CASE("swiglu_backward of bf16 rounds once", "[nn]", test::tile_cases) {
  TestType setup;
  index_t const rows = 3, width = 41, n = rows * width;
  input<bf16> x(2 * n, 3, -9, 9), dy(n, 4);
  auto const narrow = test::agreed<bf16, bf16>(setup.exec, n, 2 * n, [&](auto& e, bf16* y, bf16* dx) {
    nn::swiglu(e, matrix<bf16 const>(x.data(), rows, 2 * width), matrix(y, rows, width));
    nn::swiglu_backward(e, matrix<bf16 const>(x.data(), rows, 2 * width), matrix<bf16 const>(dy.data(), rows, width),
                        matrix(dx, rows, 2 * width));
  });
  input<float> wide_x(2 * n), wide_dy(n);
  for (index_t i = 0; i < 2 * n; ++i) wide_x[i] = float(x[i]);
  for (index_t i = 0; i < n; ++i) wide_dy[i] = float(dy[i]);
  auto const wide = test::agreed<float, float>(setup.exec, n, 2 * n, [&](auto& e, float* y, float* dx) {
    nn::swiglu(e, matrix<float const>(wide_x.data(), rows, 2 * width), matrix(y, rows, width));
    nn::swiglu_backward(e, matrix<float const>(wide_x.data(), rows, 2 * width),
                        matrix<float const>(wide_dy.data(), rows, width), matrix(dx, rows, 2 * width));
  });
  for (std::size_t i = 0; i < wide.y.size(); ++i) REQUIRE(narrow.y[i].bits == bf16(wide.y[i]).bits);
  for (std::size_t i = 0; i < wide.s.size(); ++i) REQUIRE(narrow.s[i].bits == bf16(wide.s[i]).bits);
}

TEST_CASE("activations refuse what does not fit", "[nn]") {
  reference_executor exec;
  float x[8] = {}, y[8] = {};
  CHECK_THROWS_AS(nn::gelu(exec, matrix<float const>(x, 2, 4), matrix(y, 4, 2)), contract_error);
  CHECK_THROWS_AS(nn::swiglu(exec, matrix<float const>(x, 2, 4), matrix(y, 2, 3)), contract_error);
  CHECK_THROWS_AS(nn::swiglu_backward(exec, matrix<float const>(x, 2, 4), matrix<float const>(x, 2, 2), matrix(y, 2, 2)),
                  contract_error);
}

}  // namespace heddle
