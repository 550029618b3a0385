// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "products.hpp"

#include <iterator>

using namespace heddle;

namespace {

// b is larger than 1 MiB, so that it is streamed where there are at most 256 rows: every width of register tile, one
// tile and several, strips that end inside a panel, one piece of k and several, blocks that end early.
constexpr index_t sizes[][3] = {{2, 67, 4100},  {3, 449, 600},  {4, 1025, 260},  {5, 131, 2050}, {6, 64, 4200},
                                {7, 130, 2100}, {8, 513, 530},  {9, 33, 8200},   {13, 300, 900}, {14, 2051, 130},
                                {15, 96, 2750}, {28, 270, 990}, {29, 1000, 265}, {43, 17, 15500}};

}  // namespace

TEST_CASE("streamed products: the rows of register tiles are all rows, in order", "[linalg]") {
  for (index_t const mr : {4, 6, 14})
    for (index_t m = 1; m <= 300; ++m) {
      index_t const tiles = (m + mr - 1) / mr;
      index_t next = 0;
      for (index_t t = 0; t < tiles; ++t) {
        part const rows = cpu::row_tile(m, mr, t);
        CAPTURE(m, mr, t);
        REQUIRE(rows.offset == next);
        REQUIRE((rows.size >= 1 && rows.size <= mr));
        if (tiles > 1) REQUIRE(2 * rows.size >= mr);  // the narrowest form of a tile of several
        next = rows.end();
      }
      REQUIRE(next == m);
    }
}

TEMPLATE_LIST_TEST_CASE("streamed products have the bits of the definition", "[linalg]", test::executor_cases) {
  TestType setup;
  for (int const i : {0, 4, 7})
    for (int const which : {0, 2})
      test::require_defined_bits<float, float>(setup.exec,
                                               test::transposed({1, sizes[i][0], sizes[i][1], sizes[i][2]}, which));
}

TEST_CASE("streamed products of every width have the bits of the definition", "[linalg]") {
  threads_executor exec(2);
  for (index_t place = 0; place < static_cast<index_t>(std::size(sizes)); place += test::stride)
    for (int const which : {0, 2})
      test::require_defined_bits<float, float>(
          exec, test::transposed({1, sizes[place][0], sizes[place][1], sizes[place][2]}, which));
}

TEST_CASE("streamed products of several bands have the bits of the definition", "[linalg]") {
  threads_executor exec(2);
  test::require_defined_bits<float, float>(exec, test::transposed({1, 259, 531, 515}, 0));
}

TEST_CASE("streamed products: gaps, pages that end with b, transposed c, factors", "[linalg]") {
  threads_executor exec(2);
  for (index_t const m : test::sampled({3, 8, 14, 30}))
    for (int which = 0; which < 8; which += test::stride) {
      test::product_problem p = test::transposed({1, m, 331, 820}, which);
      p.c.transposed = which & 4;
      p.a.end = p.b.end = p.c.end = test::guard::page;
      test::require_defined_bits<float, float>(exec, p);
      p.a.gap = 3, p.b.gap = 5, p.c.gap = 7;
      p.options = {0.5, 2};
      test::require_defined_bits<float, float>(exec, p);
    }
}

TEST_CASE("streamed products of other types", "[linalg]") {
  threads_executor exec(2);
  for (index_t const m : test::sampled({2, 5, 9, 15, 31}))
    for (int const which : {0, 2}) {
      test::require_defined_bits<double, double>(exec, test::transposed({1, m, 200, 700}, which));
      test::require_defined_bits<bf16, float>(exec, test::transposed({1, m, 600, 900}, which));
      test::require_defined_bits<fp16, fp16>(exec, test::transposed({1, m, 600, 900}, which));
    }
}
