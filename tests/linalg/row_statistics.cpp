// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/core/bf16.hpp>
#include <heddle/core/tree.hpp>
#include <heddle/linalg/row_statistics.hpp>

#include "../nn/results.hpp"

namespace heddle {
namespace {

using test::column;
using test::matrix;

/// T over blocks of 64 columns, each filled up with zeros and combined along T(64).
template <class Op>
float defined(float const* x, index_t n, Op const& op, bool square) {
  index_t const blocks = (n + 63) / 64;
  if (blocks == 0) return 0;
  auto const block = [&](index_t b) {
    return tree_reduce(
        64,
        [&](index_t i) {
          index_t const e = b * 64 + i;
          float const v = e < n ? x[e] : 0.0f;
          return square ? v * v : v;
        },
        op);
  };
  return tree_reduce(blocks, block, op);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("sums, sums of squares and largest sizes of rows", "[linalg]", test::tile_cases) {
  TestType setup;
  for (auto const& shape : test::shapes) {
    index_t const rows = shape[0], n = shape[1];
    CAPTURE(rows, n);
    test::input<bf16> const x(rows * n, 5, -3, 3);
    auto const got = test::results_of<float, float>(setup.exec, 2 * rows, rows, [&](auto& e, float* y, float* s) {
      // begin row_statistics
      compute_row_statistics(e, matrix<bf16 const>(x.data(), rows, n),
                             row_statistics{column(y, rows), column(y + rows, rows), column(s, rows)});
      // end row_statistics
    });
    for (index_t r = 0; r < rows; ++r) {
      std::vector<float> row;
      float peak = 0;
      for (index_t i = 0; i < n; ++i)
        row.push_back(static_cast<float>(x[r * n + i])), peak = std::fmax(peak, std::fabs(row.back()));
      auto const plus = [](float a, float b) { return a + b; };
      REQUIRE(got.y[static_cast<std::size_t>(r)] == defined(row.data(), n, plus, false));
      REQUIRE(got.y[static_cast<std::size_t>(rows + r)] == defined(row.data(), n, plus, true));
      REQUIRE(got.s[static_cast<std::size_t>(r)] == peak);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("statistics of turned rows, of rows without elements, and only some of them", "[linalg]",
                        test::tile_cases) {
  TestType setup;
  float const x[] = {1, 2, 3, -4, 5, test::qnan};
  float sum[3] = {7, 7, 7}, peak[3] = {7, 7, 7};
  auto const turned = view<float const, 2>(x, dims<2>(2, 3), 1, 2);  // 1 3 5, and 2 -4 NaN
  view<float, 1> const none;
  compute_row_statistics(setup.exec, turned, row_statistics{column(sum, 2), none, column(peak, 2)});
  setup.exec.synchronize();
  CHECK((sum[0] == 9 && std::isnan(sum[1]) && sum[2] == 7));
  CHECK((peak[0] == 5 && std::isnan(peak[1]) && peak[2] == 7));
  compute_row_statistics(setup.exec, matrix(x, 3, 0), row_statistics{column(sum, 3), none, none});
  setup.exec.synchronize();
  CHECK((sum[0] == 0 && sum[1] == 0 && sum[2] == 0));
  CHECK_THROWS_AS(compute_row_statistics(setup.exec, turned, row_statistics{column(sum, 3), none, none}),
                  contract_error);
}

TEST_CASE("statistics of rows refuse to lie over the matrix or over each other", "[linalg]") {
  reference_executor exec;
  std::vector<float> x(8, 1), to(4);
  view<float, 2> const c(x.data(), dims<2>(2, 4));
  view<float, 1> const over(x.data(), dims<1>(2)), apart(to.data(), dims<1>(2)), none;
  CHECK_THROWS_AS(compute_row_statistics(exec, c, row_statistics{over, none, none}), contract_error);
  CHECK_THROWS_AS(compute_row_statistics(exec, c, row_statistics{apart, apart, none}), contract_error);
  CHECK_NOTHROW(compute_row_statistics(exec, c, row_statistics{apart, none, none}));
}

}  // namespace heddle
