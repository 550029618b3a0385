// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/algorithm/copy.hpp>
#include <heddle/core/bf16.hpp>
#include <heddle/exec/observed.hpp>
#include <heddle/nn/elementwise.hpp>

#include "results.hpp"

namespace heddle {
namespace {

using test::input;
using test::matrix;

}  // namespace

TEMPLATE_LIST_TEST_CASE("add rounds the sum of two elements once", "[nn]", test::tile_cases) {
  TestType setup;
  for (auto const& shape : test::shapes) {
    index_t const rows = shape[0], columns = shape[1], n = rows * columns;
    CAPTURE(rows, columns);
    input<float> a(n, 1, -3, 3), b(n, 2, -3, 3);
    auto const got = test::agreed<float, float>(setup.exec, n, 0, [&](auto& e, float* y, float*) {
      nn::add(e, matrix<float const>(a.data(), rows, columns), matrix<float const>(b.data(), rows, columns),
              matrix(y, rows, columns));
    });
    index_t wrong = 0;
    for (index_t i = 0; i < n; ++i) wrong += got.y[static_cast<std::size_t>(i)] != a[i] + b[i];
    REQUIRE(wrong == 0);
  }
  test::check_strided_map<float>(setup.exec, true, [](auto& e, auto x, auto y) { nn::add(e, x, x, y); });
}

TEMPLATE_LIST_TEST_CASE("add of bf16 sums in fp32", "[nn]", test::tile_cases) {
  TestType setup;
  input<bf16> a(35, 1, -3, 3), b(35, 2, -3, 3);
  auto const got = test::agreed<bf16, float>(setup.exec, 35, 0, [&](auto& e, bf16* y, float*) {
    nn::add(e, matrix<bf16 const>(a.data(), 5, 7), matrix<bf16 const>(b.data(), 5, 7), matrix(y, 5, 7));
  });
  for (index_t i = 0; i < 35; ++i)
    REQUIRE(got.y[static_cast<std::size_t>(i)].bits == bf16(float(a[i]) + float(b[i])).bits);
}

TEMPLATE_LIST_TEST_CASE("add of vectors of any length", "[nn]", test::tile_cases) {
  TestType setup;
  for (index_t const n : {0, 1, 63, 1023, 1024, 1025, 4096, 4097, 5000}) {
    CAPTURE(n);
    input<float> a(n, 1), b(n, 2);
    auto const sum = test::agreed<float, float>(setup.exec, n, n, [&](auto& e, float* y, float* z) {
      auto const right = test::column<float const>(b.data(), n);
      nn::add(e, test::column<float const>(a.data(), n), right, test::column(y, n));
      heddle::copy(e, test::column(y, n), test::column(z, n));
      nn::add(e, test::column(z, n), right, test::column(z, n));  // in place
    });
    index_t wrong = 0;
    for (index_t i = 0; i < n; ++i) {
      std::size_t const at = static_cast<std::size_t>(i);
      wrong += sum.y[at] != a[i] + b[i] || sum.s[at] != (a[i] + b[i]) + b[i];
    }
    REQUIRE(wrong == 0);
  }
}

TEST_CASE("operands of different extents are refused", "[nn]") {
  reference_executor exec;
  float x[6] = {}, y[6] = {};
  CHECK_THROWS_AS(nn::add(exec, matrix<float const>(x, 2, 3), matrix<float const>(x, 3, 2), matrix(y, 2, 3)),
                  contract_error);
}

TEST_CASE("a watched sum says what it is and what it moves", "[nn]") {
  reference_executor exec;
  input<float> x(12);
  float y[12];
  counter seen;
  observed<reference_executor, counter> watched(exec, seen);
  auto const xs = matrix<float const>(x.data(), 3, 4);
  nn::add(watched, xs, xs, matrix(y, 3, 4));
  CHECK(seen.operations == 1);
  CHECK(seen.bytes == 3 * 12 * 4);
}

}  // namespace heddle
