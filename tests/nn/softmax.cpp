// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/nn/softmax.hpp>

#include <support/catch.hpp>
#include <support/executors.hpp>
#include <support/numbers.hpp>

#include <cmath>
#include <limits>
#include <vector>

namespace heddle {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float qnan = std::numeric_limits<float>::quiet_NaN();

template <class T>
std::vector<T> reference_softmax(std::vector<T> const& x, index_t rows, index_t columns) {
  reference_executor oracle;
  std::vector<T> y(x.size(), T(qnan));
  nn::softmax(oracle, view<T const, 2>(x.data(), dims<2>(rows, columns)), view<T, 2>(y.data(), dims<2>(rows, columns)));
  return y;
}

constexpr index_t sizes[][2] = {{1, 1},    {3, 7},    {4, 16},   {5, 63},   {2, 64},   {9, 65},   {1, 127},
                                {7, 1000}, {3, 4095}, {2, 4096}, {3, 4097}, {1, 8192}, {2, 13000}};

}  // namespace

TEST_CASE("the oracle's softmax is right", "[nn]") {
  std::vector<float> const x = test::random_floats(3 * 1000, 1, 8.0f);
  std::vector<float> const y = reference_softmax(x, 3, 1000);
  for (int r = 0; r < 3; ++r) {
    double peak = -inf, sum = 0;
    for (int c = 0; c < 1000; ++c) peak = std::fmax(peak, x[r * 1000 + c]);
    for (int c = 0; c < 1000; ++c) sum += std::exp(x[r * 1000 + c] - peak);
    for (int c = 0; c < 1000; ++c) {
      double const want = std::exp(x[r * 1000 + c] - peak) / sum;
      // v - m is exact to u * |v - m| <= 16 u; exp 2 u, tree sum 10 + 16 u, reciprocal and product 2 u.
      REQUIRE(std::abs(y[r * 1000 + c] - want) <= 48 * 0x1p-24 * want);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("softmax gives the oracle's bits", "[nn]", test::tile_cases) {
  TestType setup;
  for (auto const& size : sizes) {
    index_t const rows = size[0], columns = size[1];
    std::vector<float> const x = test::random_floats(rows * columns, 7, 20.0f);
    std::vector<float> const want = reference_softmax(x, rows, columns);
    std::vector<float> y(x.size(), qnan);
    nn::softmax(setup.exec, view<float const, 2>(x.data(), dims<2>(rows, columns)),
                view<float, 2>(y.data(), dims<2>(rows, columns)));
    setup.exec.synchronize();
    INFO(rows << " x " << columns);
    REQUIRE(test::same_bits(y, want));
    std::vector<float> in_place = x;
    view<float, 2> const v(in_place.data(), dims<2>(rows, columns));
    nn::softmax(setup.exec, v, v);
    setup.exec.synchronize();
    REQUIRE(test::same_bits(in_place, want));
  }
}

TEMPLATE_LIST_TEST_CASE("softmax in double gives the oracle's bits", "[nn]", test::tile_cases) {
  TestType setup;
  std::vector<double> x(5 * 131);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(double(i)) * 30;
  std::vector<double> y(x.size(), qnan);
  nn::softmax(setup.exec, view<double const, 2>(x.data(), dims<2>(5, 131)), view<double, 2>(y.data(), dims<2>(5, 131)));
  setup.exec.synchronize();
  REQUIRE(test::same_bits(y, reference_softmax(x, 5, 131)));
}

TEMPLATE_LIST_TEST_CASE("softmax reads and writes strided views", "[nn]", test::tile_cases) {
  TestType setup;
  index_t const rows = 6, columns = 77;
  std::vector<float> const x = test::random_floats(rows * columns, 3, 5.0f);
  std::vector<float> const want = reference_softmax(x, rows, columns);
  std::vector<float> gap(rows * 100, qnan), turned(rows * columns);
  for (index_t r = 0; r < rows; ++r)
    for (index_t c = 0; c < columns; ++c) turned[c * rows + r] = x[r * columns + c];
  nn::softmax(setup.exec, view<float const, 2>(turned.data(), dims<2>(rows, columns), 1, rows),
              view<float, 2>(gap.data(), dims<2>(rows, columns), 100, 1));
  setup.exec.synchronize();
  for (index_t r = 0; r < rows; ++r) {
    for (index_t c = 0; c < columns; ++c) REQUIRE(gap[r * 100 + c] == want[r * columns + c]);
    for (index_t c = columns; c < 100; ++c) REQUIRE(std::isnan(gap[r * 100 + c]));
  }
  nn::softmax(setup.exec, view<float const, 2>(x.data(), dims<2>(rows, columns), columns, 1),
              view<float, 2>(gap.data() + 1, dims<2>(rows, columns), 100, 1));
  setup.exec.synchronize();
  for (index_t r = 0; r < rows; ++r)
    for (index_t c = 0; c < columns; ++c) REQUIRE(gap[1 + r * 100 + c] == want[r * columns + c]);
}

TEMPLATE_LIST_TEST_CASE("softmax of rows with infinities", "[nn]", test::tile_cases) {
  TestType setup;
  float const x[] = {0, -inf, -inf, /**/ -inf, -inf, -inf, /**/ -inf, 0, -inf, /**/ 1000, 1000, -inf, /**/ 0, qnan, 0};
  float const want[] = {1, 0, 0, /**/ 0, 0, 0, /**/ 0, 1, 0, /**/ 0.5f, 0.5f, 0};
  float y[15];
  for (float& v : y) v = qnan;
  nn::softmax(setup.exec, view<float const, 2>(x, dims<2>(5, 3)), view<float, 2>(y, dims<2>(5, 3)));
  setup.exec.synchronize();
  for (int i = 0; i < 12; ++i) REQUIRE(y[i] == want[i]);
  for (int i = 12; i < 15; ++i) REQUIRE(std::isnan(y[i]));
}

TEMPLATE_LIST_TEST_CASE("softmax of nothing, and of views that don't fit", "[nn]", test::tile_cases) {
  TestType setup;
  float y[4] = {7, 7, 7, 7};
  nn::softmax(setup.exec, view<float const, 2>(y, dims<2>(0, 4)), view<float, 2>(y, dims<2>(0, 4)));
  nn::softmax(setup.exec, view<float const, 2>(y, dims<2>(4, 0)), view<float, 2>(y, dims<2>(4, 0)));
  setup.exec.synchronize();
  REQUIRE(y[0] == 7);
  REQUIRE_THROWS_AS(nn::softmax(setup.exec, view<float, 2>(y, dims<2>(2, 2)), view<float, 2>(y, dims<2>(1, 4))),
                    contract_error);
}

TEMPLATE_LIST_TEST_CASE("softmax_backward of weights that are 0", "[nn]", test::tile_cases) {
  TestType setup;
  float const y[] = {0, 0, 0, /**/ 0.25f, 0, 0.75f, /**/ 0, 1, 0},
              dy[] = {inf, 1, qnan, /**/ 4, -inf, 8, /**/ qnan, 3, inf};
  float const want[] = {0, 0, 0, /**/ -0.75f, 0, 0.75f, /**/ 0, 0, 0};
  float dx[9];
  for (float& v : dx) v = qnan;
  dims<2> const e(3, 3);
  nn::softmax_backward(setup.exec, view<float const, 2>(y, e), view<float const, 2>(dy, e), view<float, 2>(dx, e));
  setup.exec.synchronize();
  for (int i = 0; i < 9; ++i) REQUIRE(dx[i] == want[i]);
}

TEMPLATE_LIST_TEST_CASE("softmax_backward", "[nn]", test::tile_cases) {
  TestType setup;
  index_t const rows = 3, columns = 70;
  std::vector<float> const x = test::random_floats(rows * columns, 3, 3.0f),
                           dy = test::random_floats(rows * columns, 4, 1.0f);
  std::vector<float> const y = reference_softmax(x, rows, columns);
  std::vector<float> dx(x.size(), qnan), want(x.size(), qnan);
  dims<2> const e(rows, columns);
  view<float const, 2> const yv(y.data(), e), dyv(dy.data(), e);
  nn::softmax_backward(setup.exec, yv, dyv, view<float, 2>(dx.data(), e));
  setup.exec.synchronize();
  reference_executor oracle;
  nn::softmax_backward(oracle, yv, dyv, view<float, 2>(want.data(), e));
  REQUIRE(test::same_bits(dx, want));
  for (index_t r = 0; r < rows; ++r) {
    double dot = 0, size = 0;
    for (index_t c = 0; c < columns; ++c) {
      dot += double(y[r * columns + c]) * dy[r * columns + c];
      size += std::abs(double(y[r * columns + c]) * dy[r * columns + c]);
    }
    // The dot product passes a product, the additions of a lane and six of the tree; then a difference and a product.
    double const depth = std::ceil(columns / 64.0) + 7, u = 0x1p-24;
    for (index_t c = 0; c < columns; ++c) {
      double const w = y[r * columns + c], g = dy[r * columns + c];
      double const bound = 1.001 * u * w * (depth * size + 2 * std::abs(g - dot));
      REQUIRE(std::abs(dx[r * columns + c] - w * (g - dot)) <= bound);
    }
  }
}

}  // namespace heddle
