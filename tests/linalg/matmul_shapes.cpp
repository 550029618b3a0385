// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "products.hpp"

using namespace heddle;

namespace {

// Around the edges of register tiles (4, 6 and 14 rows; 8, 16 and 32 columns), of the few-row form and of vectors.
constexpr index_t sizes[][3] = {{1, 1, 1},   {1, 33, 5},  {2, 31, 9},   {3, 65, 4},  {4, 32, 17},  {5, 5, 5},
                                {5, 33, 8},  {6, 16, 15}, {7, 17, 16},  {13, 8, 33}, {14, 32, 31}, {15, 33, 32},
                                {28, 63, 1}, {29, 64, 3}, {33, 1, 20},  {40, 2, 21}, {37, 3, 40},  {31, 4, 64},
                                {17, 5, 47}, {43, 97, 2}, {57, 129, 65}};

}  // namespace

TEMPLATE_LIST_TEST_CASE("matmul: sizes around every tile edge, four transpositions", "[linalg]", test::executor_cases) {
  TestType setup;
  for (auto const& size : sizes)
    for (int which = 0; which < 4; ++which)
      test::require_defined_bits<float, float>(setup.exec, test::transposed({1, size[0], size[1], size[2]}, which));
}

TEMPLATE_LIST_TEST_CASE("matmul: lines with gaps, transposed c", "[linalg]", test::executor_cases) {
  TestType setup;
  for (auto const& size : {dims<3>(3, 35, 21), dims<3>(15, 33, 18), dims<3>(30, 2, 19), dims<3>(16, 64, 64)})
    for (int which = 0; which < 8; ++which) {
      test::product_problem p = test::transposed({1, size[0], size[1], size[2]}, which);
      p.c.transposed = which & 4;
      p.a.gap = 3, p.b.gap = 5, p.c.gap = 7;
      test::require_defined_bits<float, float>(setup.exec, p);
      p.options = {0.5, 2};
      test::require_defined_bits<float, float>(setup.exec, p);
    }
}

TEMPLATE_LIST_TEST_CASE("matmul: operands that end where memory ends", "[linalg]", test::executor_cases) {
  TestType setup;
  for (auto const& size : {dims<3>(1, 33, 5), dims<3>(2, 1, 19), dims<3>(4, 47, 33), dims<3>(15, 31, 17),
                           dims<3>(29, 3, 65), dims<3>(13, 65, 16)})
    for (int which = 0; which < 8; ++which) {
      test::product_problem p = test::transposed({1, size[0], size[1], size[2]}, which);
      p.c.transposed = which & 4;
      p.a.end = p.b.end = p.c.end = test::guard::page;
      test::require_defined_bits<float, float>(setup.exec, p);
    }
}

TEMPLATE_LIST_TEST_CASE("matmul: chains are cut at multiples of 4096", "[linalg]", test::executor_cases) {
  TestType setup;
  for (index_t const k : {4095, 4096, 4097, 8193, 12288, 20481})
    for (int which = 0; which < 4; ++which) {
      test::require_defined_bits<float, float>(setup.exec, test::transposed({1, 1, 3, k}, which));
      test::require_defined_bits<float, float>(setup.exec, test::transposed({1, 7, 5, k}, which));
      test::require_defined_bits<float, float>(setup.exec, test::transposed({1, 3, 34, k}, which));
    }
}

TEMPLATE_LIST_TEST_CASE("matmul: batches, and one matrix for all of them", "[linalg]", test::executor_cases) {
  TestType setup;
  for (index_t const m : {2, 9})
    for (index_t const batch : {0, 1, 2, 5}) {
      test::product_problem p{batch, m, 33, 12};
      p.a.gap = 2;
      test::require_defined_bits<float, float>(setup.exec, p);
      test::matrices<float> a(batch, m, 12), b(1, 12, 33), many(batch, 12, 33), c(batch, m, 33), d(batch, m, 33);
      a.random(1), b.random(2);
      for (index_t i = 0; i < batch; ++i)
        for (index_t j = 0; j < 12 * 33; ++j) many.view()(i, j / 33, j % 33) = b.view()(0, j / 33, j % 33);
      view<float const, 3> const repeated(b.view().data(), dims<3>(batch, 12, 33), index_t{0}, index_t{33}, index_t{1});
      matmul(setup.exec, a.input(), repeated, c.view());
      matmul(setup.exec, a.input(), many.input(), d.view());
      setup.exec.synchronize();
      REQUIRE(test::same_bits(c.values(), d.values()));
    }
}
