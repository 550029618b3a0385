// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/core/bf16.hpp>
#include <heddle/nn/quantise.hpp>

#include "results.hpp"

namespace heddle {
namespace {

using test::column;
using test::inf;
using test::input;
using test::matrix;
using test::qnan;

/// Runs op(exec, q, s) on n small numbers and m floats, all of which it must write. No integer is -128, no float 0xFF.
template <class Q, class E, class Op>
test::results<Q, float> small_results(E& exec, index_t n, index_t m, Op const& op) {
  unsigned char const poison = std::is_same_v<Q, std::int8_t> ? 0x80 : 0xFF;
  test::buffer<Q> q(n);
  test::buffer<float> s(m);
  if (n > 0) std::memset(q.data(), poison, static_cast<std::size_t>(n));
  op(exec, q.data(), s.data());
  exec.synchronize();
  index_t unwritten = 0;
  for (index_t i = 0; i < n; ++i) unwritten += std::memcmp(q.data() + i, &poison, 1) == 0;
  REQUIRE(unwritten == 0);
  REQUIRE(q.intact());
  return {{q.data(), q.data() + n}, test::taken(s)};
}

template <class Q, class E>
test::results<Q, float> quantised_rows(E& exec, std::vector<float> const& x, index_t rows) {
  index_t const columns = rows == 0 ? 3 : static_cast<index_t>(x.size()) / rows;
  return small_results<Q>(exec, rows * columns, rows, [&](auto& e, Q* q, float* s) {
    nn::quantise_rows(e, matrix<float const>(x.data(), rows, columns), matrix(q, rows, columns), column(s, rows));
  });
}

/// The scale and the numbers of a row as the definition reads.
template <class Q>
void check_row(Q const* q, float scale, float const* x, index_t n) {
  float peak = 0;
  for (index_t i = 0; i < n; ++i) peak = std::fmax(peak, std::fabs(x[i]));
  CHECK(scale == std::fmax(peak / nn::quantised_limit<Q>, 0x1p-126f));
  float const factor = 1 / scale;
  for (index_t i = 0; i < n; ++i) {
    float const y = x[i] * factor;
    if constexpr (std::is_same_v<Q, std::int8_t>) {
      CHECK(int{q[i]} == static_cast<int>(std::nearbyint(y)));
      CHECK(std::abs(double{x[i]} - static_cast<double>(q[i]) * scale) <= 0.5 * scale * (1 + 0x1p-14));
    } else {
      CHECK(q[i].bits == Q(y).bits);
    }
  }
}

template <class Q, class E>
void check_quantise(E& exec) {
  for (auto const& shape : test::shapes) {
    index_t const rows = shape[0], columns = shape[1];
    CAPTURE(rows, columns);
    input<float> const x(rows * columns, 7, -5, 5);
    std::vector<float> const all(x.data(), x.data() + rows * columns);
    auto const got = quantised_rows<Q>(exec, all, rows);
    for (index_t r = 0; r < rows && rows * columns <= 600; ++r)
      check_row(&got.y[static_cast<std::size_t>(r * columns)], got.s[static_cast<std::size_t>(r)], &all[r * columns],
                columns);
    reference_executor oracle;
    test::require_same_bits(got, quantised_rows<Q>(oracle, all, rows));
  }
}

template <class T, class Q, class E>
void check_norm(E& exec, index_t rows, index_t width) {
  CAPTURE(rows, width);
  input<T> const x(rows * width, 1, -3, 3);
  input<float> const w(width, 2);
  auto const in = matrix<T const>(x.data(), rows, width);
  auto const weight = column<float const>(w.data(), width);
  reference_executor oracle;
  std::vector<float> y(static_cast<std::size_t>(rows * width));
  auto const want = small_results<Q>(oracle, rows * width, 2 * rows, [&](auto& e, Q* q, float* s) {
    nn::rms_norm(e, in, weight, matrix(y.data(), rows, width), column(s, rows));
    nn::quantise_rows(e, matrix<float const>(y.data(), rows, width), matrix(q, rows, width), column(s + rows, rows));
  });
  auto const got = small_results<Q>(exec, rows * width, 2 * rows, [&](auto& e, Q* q, float* s) {
    nn::rms_norm_quantise(e, in, weight, matrix(q, rows, width), column(s + rows, rows), column(s, rows));
  });
  test::require_same_bits(got, want);
}

template <class T, class Q, class E>
void check_layer_norm(E& exec, index_t rows, index_t width) {
  CAPTURE(rows, width);
  input<T> const x(rows * width, 1, -3, 3);
  input<float> const w(width, 2), b(width, 3);
  auto const in = matrix<T const>(x.data(), rows, width);
  auto const weight = column<float const>(w.data(), width), bias = column<float const>(b.data(), width);
  reference_executor oracle;
  std::vector<float> y(static_cast<std::size_t>(rows * width));
  auto const want = small_results<Q>(oracle, rows * width, 3 * rows, [&](auto& e, Q* q, float* s) {
    nn::layer_norm(e, in, weight, bias, matrix(y.data(), rows, width), column(s, rows), column(s + rows, rows));
    nn::quantise_rows(e, matrix<float const>(y.data(), rows, width), matrix(q, rows, width),
                      column(s + 2 * rows, rows));
  });
  auto const got = small_results<Q>(exec, rows * width, 3 * rows, [&](auto& e, Q* q, float* s) {
    nn::layer_norm_quantise(e, in, weight, bias, matrix(q, rows, width), column(s + 2 * rows, rows), column(s, rows),
                            column(s + rows, rows));
  });
  test::require_same_bits(got, want);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("rows as small numbers and a scale", "[nn]", test::tile_cases) {
  TestType setup;
  check_quantise<std::int8_t>(setup.exec);
  check_quantise<fp8_e4m3>(setup.exec);
  check_quantise<fp8_e5m2>(setup.exec);
}

TEMPLATE_LIST_TEST_CASE("rows of zeros, of tiny numbers, and with infinities", "[nn]", test::tile_cases) {
  TestType setup;
  auto const got = quantised_rows<std::int8_t>(
      setup.exec, {0, 0, 0, 1e-44f, -1e-45f, 0, 1, inf, -1, 1, qnan, 2, 127, -126.5f, 2.5f}, 5);
  CHECK(got.s[0] == 0x1p-126f);
  CHECK(got.s[1] == 0x1p-126f);
  CHECK(got.s[2] == inf);
  CHECK(std::isnan(got.s[3]));
  CHECK(got.s[4] == 1);
  std::vector<std::int8_t> const want{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 127, -126, 2};
  CHECK(got.y == want);
}

TEMPLATE_LIST_TEST_CASE("small numbers turn into the numbers that they stand for", "[nn]", test::tile_cases) {
  TestType setup;
  constexpr index_t rows = 5, columns = 77;
  input<std::int8_t> q(rows * columns);
  for (index_t i = 0; i < rows * columns; ++i) q[i] = static_cast<std::int8_t>(i * 37 % 255 - 127);
  input<float> const scale(rows, 3, 0.1, 2);
  auto const run = [&](auto& e, auto* y) {
    nn::dequantise_rows(e, matrix<std::int8_t const>(q.data(), rows, columns), column<float const>(scale.data(), rows),
                        matrix(y, rows, columns));
  };
  auto const got =
      test::results_of<float, float>(setup.exec, rows * columns, 0, [&](auto& e, float* y, float*) { run(e, y); });
  auto const narrow =
      test::results_of<bf16, float>(setup.exec, rows * columns, 0, [&](auto& e, bf16* y, float*) { run(e, y); });
  for (index_t i = 0; i < rows * columns; ++i) {
    CHECK(got.y[static_cast<std::size_t>(i)] == static_cast<float>(q[i]) * scale[i / columns]);
    CHECK(narrow.y[static_cast<std::size_t>(i)].bits == bf16(got.y[static_cast<std::size_t>(i)]).bits);
  }
}

TEMPLATE_LIST_TEST_CASE("a norm that stores small numbers has the bits of two operations", "[nn]", test::tile_cases) {
  TestType setup;
  for (auto const& shape : test::shapes) check_norm<float, std::int8_t>(setup.exec, shape[0], shape[1]);
  check_norm<bf16, std::int8_t>(setup.exec, 5, 77);
  check_norm<float, fp8_e4m3>(setup.exec, 5, 77);
  for (auto const& shape : test::shapes) check_layer_norm<float, std::int8_t>(setup.exec, shape[0], shape[1]);
  check_layer_norm<bf16, fp8_e4m3>(setup.exec, 5, 77);
}

TEST_CASE("small numbers refuse what does not fit", "[nn]") {
  reference_executor exec;
  float x[12] = {}, s[3] = {};
  std::int8_t q[12] = {};
  CHECK_THROWS_AS(nn::quantise_rows(exec, matrix<float const>(x, 3, 4), matrix(q, 4, 3), column(s, 3)), contract_error);
  CHECK_THROWS_AS(nn::quantise_rows(exec, matrix<float const>(x, 3, 4), matrix(q, 3, 4), column(s, 2)), contract_error);
  CHECK_THROWS_AS(nn::dequantise_rows(exec, matrix<std::int8_t const>(q, 3, 4), column(s, 3), matrix(x, 4, 3)),
                  contract_error);
  CHECK_THROWS_AS(nn::rms_norm_quantise(exec, matrix<float const>(x, 3, 4), column<float const>(x, 3), matrix(q, 3, 4),
                                        column(s, 3), column(s, 3)),
                  contract_error);
  auto const four = column<float const>(x, 4), three = column<float const>(x, 3);
  CHECK_THROWS_AS(nn::layer_norm_quantise(exec, matrix<float const>(x, 3, 4), four, three, matrix(q, 3, 4),
                                          column(s, 3), column(s, 3), column(s, 3)),
                  contract_error);
}

}  // namespace heddle
