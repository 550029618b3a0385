// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "products.hpp"

#include <heddle/backend/cpu/matmul_direct.hpp>

#include <array>

using namespace heddle;

TEST_CASE("products in place: every register tile, at the ends of pages", "[linalg]") {
  serial_executor exec;
  for (index_t m = 5; m <= 31; m += test::stride)
    for (index_t const n : test::sampled({1, 5, 8, 9, 15, 16, 17, 31, 32, 33, 47, 49, 100}))
      for (int which = 0; which < 4; which += test::stride) {
        test::product_problem p = test::transposed({1, m, n, 9}, which);
        p.a.end = p.b.end = p.c.end = test::guard::page;
        CAPTURE(m, n, which);
        test::require_defined_bits<float, float>(exec, p);
      }
}

TEST_CASE("products in place: depth, gaps, factors", "[linalg]") {
  threads_executor exec(3);
  for (index_t const k : test::sampled({1, 2, 63, 64, 65, 1024, 4095, 4096, 4097}))
    for (int which = 0; which < 8; which += test::stride) {
      test::product_problem p = test::transposed({1, 29, 45, k}, which);
      p.c.transposed = which & 4;
      test::require_defined_bits<float, float>(exec, p);
      p.a.gap = 3, p.b.gap = 5, p.c.gap = 7;
      p.options = {0.5, 2};
      test::require_defined_bits<float, float>(exec, p);
    }
}

TEMPLATE_LIST_TEST_CASE("products in place are shared by workers", "[linalg]", test::executor_cases) {
  TestType setup;
  for (auto const& size : {std::array<index_t, 3>{15, 700, 80}, {700, 33, 40}, {140, 140, 140}, {64, 64, 512}})
    for (int const which : {0, 1})
      test::require_defined_bits<float, float>(setup.exec, test::transposed({1, size[0], size[1], size[2]}, which));
}

TEST_CASE("products in place of doubles", "[linalg]") {
  serial_executor exec;
  for (index_t m = 5; m <= 16; ++m)
    for (index_t const n : {3, 4, 5, 8, 9, 17})
      test::require_defined_bits<double, double>(exec, test::transposed({1, m, n, 33}, 0));
}

TEMPLATE_LIST_TEST_CASE("matmul: batches of small products are shared out whole", "[linalg]", test::executor_cases) {
  TestType setup;
  for (auto const& size : {dims<3>(16, 16, 8), dims<3>(1, 1, 1), dims<3>(5, 33, 17), dims<3>(40, 7, 3)})
    for (index_t const batch : {2, 7, 65})
      for (int which = 0; which < 8; which += test::stride) {
        test::product_problem p = test::transposed({batch, size[0], size[1], size[2]}, which);
        p.c.transposed = which & 4;
        p.a.gap = which & 1 ? 3 : 0;
        test::require_defined_bits<float, float>(setup.exec, p);
        p.options = {0.5, 2};
        test::require_defined_bits<float, float>(setup.exec, p);
      }
}

TEST_CASE("matmul: as many products in one call as 16 bits count, and more", "[linalg]") {
  threads_executor exec(2);
  test::require_defined_bits<float, float>(exec, {65537, 16, 16, 8});
  // The last numbers of 16 bits, and the first that has more.
  test::require_defined_bits<float, float>(exec, {65535, 3, 5, 2});
  test::require_defined_bits<float, float>(exec, {65536, 3, 5, 2});
}

TEST_CASE("tiles are dealt out evenly", "[linalg]") {
  CHECK(cpu::even_parts(37, 3, 2) == 12);  // 4 + 5 * 3 tiles for the first worker, 19 as of two parts
  CHECK(cpu::even_parts(19, 1, 2) == 10);
  CHECK(cpu::even_parts(64, 1, 4) == 32);
  CHECK(cpu::even_parts(3, 1, 4) == 3);
  CHECK(cpu::even_parts(1, 1, 2) == 1);
  CHECK(cpu::even_parts(100, 40, 2) == 40);
  CHECK(cpu::even_parts(100, 41, 4) == 44);
}

TEST_CASE("which products are read in place, and how they are cut", "[linalg]") {
  auto const product = [](index_t m, index_t n, index_t k, index_t gap = 0) {
    return cpu::inputs<float>{nullptr, nullptr, k, 1, n + gap, 1, m, n, k};
  };
  CHECK(cpu::reads_in_place(product(32, 32, 32)));
  CHECK(cpu::reads_in_place(product(64, 64, 4096)));
  CHECK_FALSE(cpu::reads_in_place(product(64, 64, 4097)));   // two chains
  CHECK_FALSE(cpu::reads_in_place(product(512, 512, 512)));  // b of 1 MiB
  CHECK_FALSE(cpu::reads_in_place(product(32, 32, 0)));
  cpu::output<float, float, no_epilogue> const out{nullptr, 100, 1, 1, 0, false, {}};
  auto const plan = cpu::plan_direct(product(100, 100, 100), out, 14, 32, 2);
  CHECK(plan.row_tiles == 8);
  CHECK(plan.column_tiles == 4);
  CHECK(plan.row_parts == 8);
  CHECK_FALSE(plan.packs_b);
  CHECK(cpu::plan_direct(product(20, 20, 20), out, 14, 32, 2).row_parts == 1);  // too small to be shared
  CHECK(cpu::plan_direct(product(100, 1000, 16, 24), out, 14, 32, 2).packs_b);  // rows of b 4 KiB apart
}
