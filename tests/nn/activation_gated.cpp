// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// SiLU and SwiGLU, the gated half of nn/activation.hpp: in a file of its own for the sake of compile time.

#include <heddle/core/bf16.hpp>
#include <heddle/nn/activation.hpp>

#include "results.hpp"

namespace heddle {
namespace {

using test::check_numbers;
using test::input;
using test::matrix;
using test::on_oracle;
using test::u;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

}  // namespace

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

TEMPLATE_LIST_TEST_CASE("SiLU and SwiGLU give the oracle's bits", "[nn]", test::tile_cases) {
  TestType setup;
  for (auto const& shape : test::shapes) {
    index_t const rows = shape[0], columns = shape[1], n = rows * columns;
    CAPTURE(rows, columns);
    input<float> x(n, 3, -9, 9), dy(n, 4), both(2 * n, 5, -9, 9);
    auto const xs = matrix<float const>(x.data(), rows, columns), dys = matrix<float const>(dy.data(), rows, columns);
    auto const wide = matrix<float const>(both.data(), rows, 2 * columns);
    test::agreed<float, float>(setup.exec, n, n, [&](auto& e, float* y, float* dx) {
      nn::silu(e, xs, matrix(y, rows, columns));
      nn::silu_backward(e, xs, dys, matrix(dx, rows, columns));
    });
    test::agreed<float, float>(setup.exec, n, 2 * n, [&](auto& e, float* y, float* dx) {
      nn::swiglu(e, wide, matrix(y, rows, columns));
      nn::swiglu_backward(e, wide, dys, matrix(dx, rows, 2 * columns));
    });
  }
  test::check_strided_map<float>(setup.exec, true, [](auto& e, auto x, auto y) { nn::silu(e, x, y); });
  test::check_strided_map<float>(setup.exec, true, [](auto& e, auto x, auto y) { nn::silu_backward(e, x, x, y); });
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

TEST_CASE("SwiGLU refuses what does not fit", "[nn]") {
  reference_executor exec;
  float x[8] = {}, y[8] = {};
  auto const in = matrix<float const>(x, 2, 4), half = matrix<float const>(x, 2, 2);
  CHECK_THROWS_AS(nn::silu(exec, in, matrix(y, 4, 2)), contract_error);
  CHECK_THROWS_AS(nn::swiglu(exec, in, matrix(y, 2, 3)), contract_error);
  CHECK_THROWS_AS(nn::swiglu_backward(exec, in, half, matrix(y, 2, 2)), contract_error);
  CHECK_THROWS_AS(nn::swiglu_backward(exec, half, half, matrix(y, 2, 2)), contract_error);
}

}  // namespace heddle
