// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/core/bf16.hpp>
#include <heddle/nn/column_sum.hpp>

#include "results.hpp"

namespace heddle {

using test::column;
using test::input;
using test::matrix;

TEMPLATE_LIST_TEST_CASE("column_sum follows the canonical order over rows", "[nn]", test::tile_cases) {
  TestType setup;
  index_t const sizes[][2] = {{0, 5}, {1, 1}, {7, 3}, {64, 5}, {65, 2}, {33, 17}, {130, 9}, {4097, 2}, {3, 130}};
  for (auto const& size : sizes) {
    index_t const rows = size[0], columns = size[1];
    CAPTURE(rows, columns);
    input<float> x(rows * columns, 3, -2, 2);
    auto const got = test::agreed<float, float>(setup.exec, columns, 0, [&](auto& e, float* y, float*) {
      nn::column_sum(e, matrix<float const>(x.data(), rows, columns), column(y, columns));
    });
    for (index_t c = 0; c < columns; ++c) {
      double sum = 0, size_of_terms = 0;
      for (index_t r = 0; r < rows; ++r) {
        sum += x[r * columns + c];
        size_of_terms += std::abs(double{x[r * columns + c]});
      }
      REQUIRE(std::abs(got.y[static_cast<std::size_t>(c)] - sum) <= test::depth(rows) * test::u * size_of_terms);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("column_sum of bf16 grows beyond 256 and takes strided views", "[nn]", test::tile_cases) {
  TestType setup;
  index_t const rows = 1000, columns = 3;
  input<bf16> x(rows * columns);
  for (bf16& v : x) v = bf16(1.0f);
  auto const sums = test::agreed<float, bf16>(setup.exec, columns, columns, [&](auto& e, float* wide, bf16* narrow) {
    nn::column_sum(e, matrix<bf16 const>(x.data(), rows, columns), column(wide, columns));
    nn::column_sum(e, view<bf16 const, 2>(x.data(), dims<2>(rows, columns), 1, rows), column(narrow, columns));
  });
  for (std::size_t c = 0; c < 3; ++c) {
    CHECK(sums.y[c] == 1000);
    CHECK(float(sums.s[c]) == 1000);
  }
}

TEST_CASE("column_sum needs one sum per column", "[nn]") {
  reference_executor exec;
  float x[6] = {}, y[2] = {};
  CHECK_THROWS_AS(nn::column_sum(exec, matrix<float const>(x, 2, 3), column(y, 2)), contract_error);
}

}  // namespace heddle
