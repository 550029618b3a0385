// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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

TEMPLATE_LIST_TEST_CASE("copy converts between storage types", "[nn]", test::tile_cases) {
  TestType setup;
  input<float> x(5 * 70, 3, -9, 9);
  x[0] = 1 + 0x1p-8f;      // half-way between two bf16: to even, which is 1
  x[1] = 1 + 3 * 0x1p-8f;  // half-way, to even, which is above
  auto const narrow = test::agreed<bf16, float>(setup.exec, 350, 0, [&](auto& e, bf16* y, float*) {
    nn::copy(e, matrix<float const>(x.data(), 5, 70), matrix(y, 5, 70));
  });
  CHECK(float(narrow.y[0]) == 1);
  CHECK(float(narrow.y[1]) == 1 + 0x1p-6f);
  for (index_t i = 0; i < 350; ++i) REQUIRE(narrow.y[static_cast<std::size_t>(i)].bits == bf16(x[i]).bits);
  auto const wide = test::agreed<float, float>(setup.exec, 350, 0, [&](auto& e, float* y, float*) {
    nn::copy(e, matrix<bf16 const>(narrow.y.data(), 5, 70), matrix(y, 5, 70));
  });
  for (std::size_t i = 0; i < 350; ++i) REQUIRE(wide.y[i] == float(narrow.y[i]));
}

TEMPLATE_LIST_TEST_CASE("flat spans of any length", "[nn]", test::tile_cases) {
  TestType setup;
  for (index_t const n : {0, 1, 63, 1023, 1024, 1025, 2048, 5000}) {
    CAPTURE(n);
    input<float> a(n, 1), b(n, 2);
    auto const sum = test::agreed<float, float>(setup.exec, n, n, [&](auto& e, float* y, float* z) {
      nn::add_flat(e, a.data(), b.data(), y, n);
      nn::copy_flat(e, y, z, n);
      nn::add_flat(e, z, b.data(), z, n);  // in place
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
  CHECK_THROWS_AS(nn::copy(exec, matrix<float const>(x, 2, 3), matrix(y, 2, 2)), contract_error);
}

TEST_CASE("a watched map says what it is and what it moves", "[nn]") {
  reference_executor exec;
  input<float> x(12);
  float y[12];
  counter seen;
  observed<reference_executor, counter> watched(exec, seen);
  nn::copy(watched, matrix<float const>(x.data(), 3, 4), matrix(y, 3, 4));
  CHECK(seen.operations == 1);
  CHECK(seen.bytes == 2 * 12 * 4);
}

}  // namespace heddle
