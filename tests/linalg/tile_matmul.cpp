// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/linalg/tile_matmul.hpp>

#include <support/catch.hpp>
#include <support/executors.hpp>
#include <support/numbers.hpp>

#include <limits>
#include <vector>

using namespace heddle;

namespace {

constexpr float poison = std::numeric_limits<float>::quiet_NaN();

// The definition: one fma chain per piece of 4096, pieces of at most four added along T.
std::vector<float> product_of(std::vector<float> const& a, std::vector<float> const& b, index_t m, index_t n,
                              index_t k) {
  std::vector<float> c;
  for (index_t i = 0; i < m; ++i)
    for (index_t j = 0; j < n; ++j) {
      std::vector<float> pieces;
      for (index_t lo = 0; lo == 0 || lo < k; lo += 4096) {
        float sum = 0;
        for (index_t d = lo; d < k && d < lo + 4096; ++d) sum = fma(a[i * k + d], b[d * n + j], sum);
        pieces.push_back(sum);
      }
      if (pieces.size() == 3) pieces = {pieces[0] + pieces[1], pieces[2]};
      c.push_back(pieces.size() == 2 ? pieces[0] + pieces[1] : pieces[0]);
    }
  return c;
}

view<float const, 2> input(std::vector<float> const& v, index_t rows, index_t columns) {
  return view<float const, 2>(v.data(), dims<2>(rows, columns));
}

constexpr index_t sizes[][3] = {{1, 1, 1},    {5, 7, 6},     {13, 31, 17}, {14, 32, 64}, {15, 33, 65}, {65, 63, 257},
                                {169, 17, 3}, {29, 257, 40}, {3, 3, 4096}, {3, 2, 4097}, {2, 3, 9000}, {4, 4, 0}};

}  // namespace

TEMPLATE_LIST_TEST_CASE("matmul is one chain per element", "[linalg]", test::tile_cases) {
  TestType setup;
  for (auto const& size : sizes) {
    index_t const m = size[0], n = size[1], k = size[2];
    std::vector<float> const a = test::random_floats(m * k, 1, 1), b = test::random_floats(k * n, 2, 1);
    std::vector<float> c(m * n, poison);
    linalg::tile_matmul(setup.exec, input(a, m, k), input(b, k, n), view<float, 2>(c.data(), dims<2>(m, n)));
    setup.exec.synchronize();
    INFO(m << " x " << n << " x " << k);
    REQUIRE(test::same_bits(c, product_of(a, b, m, n, k)));
  }
}

TEMPLATE_LIST_TEST_CASE("matmul of transposed and strided views, with an epilogue", "[linalg]", test::tile_cases) {
  TestType setup;
  index_t const m = 33, n = 37, k = 29;
  std::vector<float> const a = test::random_floats(m * k, 1, 1), b = test::random_floats(k * n, 2, 1);
  std::vector<float> at(m * k), bt(k * n), want = product_of(a, b, m, n, k), c(m * 50, poison), ct(m * n, poison);
  for (index_t i = 0; i < m; ++i)
    for (index_t d = 0; d < k; ++d) at[d * m + i] = a[i * k + d];
  for (index_t d = 0; d < k; ++d)
    for (index_t j = 0; j < n; ++j) bt[j * k + d] = b[d * n + j];
  auto const twice = [](auto const& v) HEDDLE_LAMBDA { return v + v; };
  linalg::tile_matmul(setup.exec, transpose(input(at, k, m)), transpose(input(bt, n, k)),
                      view<float, 2>(c.data(), dims<2>(m, n), 50, 1), twice);
  linalg::tile_matmul(setup.exec, input(a, m, k), input(b, k, n), transpose(view<float, 2>(ct.data(), dims<2>(n, m))));
  setup.exec.synchronize();
  for (index_t i = 0; i < m; ++i) {
    for (index_t j = 0; j < n; ++j) {
      REQUIRE(c[i * 50 + j] == 2 * want[i * n + j]);
      REQUIRE(ct[j * m + i] == want[i * n + j]);
    }
    for (index_t j = n; j < 50; ++j) REQUIRE(c[i * 50 + j] != c[i * 50 + j]);
  }
}

TEMPLATE_LIST_TEST_CASE("matmul of bf16 sums in float", "[linalg]", test::tile_cases) {
  TestType setup;
  index_t const m = 17, n = 35, k = 70;
  std::vector<float> const a = test::random_floats(m * k, 1, 1), b = test::random_floats(k * n, 2, 1);
  std::vector<bf16> x, y, c(m * n);
  std::vector<float> xf, yf;
  for (float v : a) x.push_back(bf16(v)), xf.push_back(float(x.back()));
  for (float v : b) y.push_back(bf16(v)), yf.push_back(float(y.back()));
  linalg::tile_matmul(setup.exec, view<bf16 const, 2>(x.data(), dims<2>(m, k)),
                      view<bf16 const, 2>(y.data(), dims<2>(k, n)), view<bf16, 2>(c.data(), dims<2>(m, n)));
  setup.exec.synchronize();
  std::vector<float> const want = product_of(xf, yf, m, n, k);
  for (index_t i = 0; i < m * n; ++i) REQUIRE(c[i].bits == bf16(want[i]).bits);
}

TEMPLATE_LIST_TEST_CASE("matmul keeps a negative zero of an unfinished chain", "[linalg]", test::tile_cases) {
  TestType setup;
  // The product underflows to -0; zeros added behind the last k would make it +0.
  float const a[] = {-1e-30f}, b[] = {1e-30f};
  float c[] = {poison};
  linalg::tile_matmul(setup.exec, view<float const, 2>(a, dims<2>(1, 1)), view<float const, 2>(b, dims<2>(1, 1)),
                      view<float, 2>(c, dims<2>(1, 1)));
  setup.exec.synchronize();
  REQUIRE(bit_cast<std::uint32_t>(c[0]) == 0x80000000u);
}

TEMPLATE_LIST_TEST_CASE("matmul refuses operands that don't fit", "[linalg]", test::tile_cases) {
  TestType setup;
  std::vector<float> v(12, 1.0f), c(12, 7.0f);
  REQUIRE_THROWS_AS(
      linalg::tile_matmul(setup.exec, input(v, 3, 4), input(v, 3, 4), view<float, 2>(c.data(), dims<2>(3, 4))),
      contract_error);
  REQUIRE_THROWS_AS(
      linalg::tile_matmul(setup.exec, input(v, 3, 4), input(v, 4, 3), view<float, 2>(c.data(), dims<2>(3, 3), 0, 1)),
      contract_error);
  linalg::tile_matmul(setup.exec, input(v, 0, 4), input(v, 4, 3), view<float, 2>(c.data(), dims<2>(0, 3)));
  setup.exec.synchronize();
  REQUIRE(c[0] == 7.0f);
}
