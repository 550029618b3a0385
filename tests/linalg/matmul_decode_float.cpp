// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "products.hpp"

using namespace heddle;

namespace {

// b is larger than 1 MiB: ends of vectors and of strips, steps that are no multiple of eight, one piece of k and two.
constexpr index_t sizes[][3] = {{2, 4129, 66}, {3, 65, 4101},  {5, 513, 516},  {7, 97, 2750},
                                {8, 8259, 33}, {13, 519, 507}, {16, 4161, 65}, {16, 71, 4112}};

}  // namespace

TEST_CASE("few rows of floats and doubles have the bits of the definition for every instruction set", "[linalg]") {
  test::for_each_isa([&](isa set) {
    INFO(name(set));
    threads_executor exec(2);
    test::watch_scratch(exec);
    for (auto const& s : sizes) {
      test::product_problem p{1, s[0], s[1], s[2]};
      test::require_defined_bits<float, float>(exec, p);
      p.a.transposed = s[0] % 2, p.c.transposed = s[0] > 7;
      p.a.gap = 3, p.b.gap = 5, p.c.gap = 7;
      p.options = {0.5, 2};
      p.b.end = test::guard::page;
      if (s[0] != 8) test::require_defined_bits<double, double>(exec, p);
    }
    test::check_scratch(exec);
  });
}

TEST_CASE("few rows: which products are taken", "[linalg]") {
  auto const takes = [](index_t m, index_t column, index_t leaves) {
    cpu::inputs<float> const in{nullptr, nullptr, 1, 1, 1, column, m, 5, 5, leaves};
    return cpu::decodes_floats(in);
  };
  REQUIRE((takes(2, 1, 0) && takes(16, 1, 0) && takes(9, 1, 1)));
  REQUIRE_FALSE((takes(1, 1, 0) || takes(17, 1, 0) || takes(4, 2, 0) || takes(4, 1, 8)));
}
