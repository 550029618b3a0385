// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "products.hpp"

#include <iterator>

using namespace heddle;

namespace {

// b is large enough to be read in place where there are at most 16 rows: ends of strips, of registers and of words, one
// piece of k and several.
constexpr index_t sizes[][3] = {{1, 1100, 67},  {2, 300, 219},  {3, 129, 511},  {4, 2112, 33},  {5, 63, 1043},
                                {7, 1, 66000},  {8, 1030, 130}, {9, 96, 701},   {13, 33, 4099}, {14, 577, 116},
                                {15, 257, 258}, {16, 520, 131}, {16, 16, 8197}, {17, 300, 220}};

template <class A, class Executor>
void require_exact(Executor& exec, test::product_problem const& p) {
  INFO(test::text_of(p));
  test::matrices<A> a(1, p.m, p.k, p.a);
  test::matrices<std::int8_t> b(1, p.k, p.n, p.b);
  test::matrices<std::int32_t> c(1, p.m, p.n, p.c);
  for (index_t i = 0; i < p.m * p.k; ++i)
    a.view()(0, i / p.k, i % p.k) = static_cast<A>(test::random_bits(1, i) % 3 ? test::random_bits(1, i) >> 9 : 0x80u);
  for (index_t i = 0; i < p.k * p.n; ++i)
    b.view()(0, i / p.n, i % p.n) = static_cast<std::int8_t>(test::random_bits(2, i) >> 7);
  std::vector<std::int32_t> want(static_cast<std::size_t>(p.m * p.n));
  for (index_t i = 0; i < p.m; ++i)
    for (index_t d = 0; d < p.k; ++d)
      for (index_t j = 0; j < p.n; ++j)
        want[static_cast<std::size_t>(i * p.n + j)] +=
            std::int32_t{a.view()(0, i, d)} * std::int32_t{b.view()(0, d, j)};
  matmul(exec, a.input(), b.input(), c.view());
  exec.synchronize();
  REQUIRE(c.values() == want);
  REQUIRE((a.intact() && b.intact() && c.intact()));
}

using decode_cases = std::tuple<test::serial_case, test::threads_case<2>, test::queued_threads_case>;

}  // namespace

TEMPLATE_LIST_TEST_CASE("few rows of bf16 and of bytes have the bits of the definition", "[linalg]", decode_cases) {
  TestType setup;
  for (std::size_t place = 0; place < std::size(sizes); place += test::stride)
    for (int which = 0; which < 8; which += which == 1 ? 3 : 1) {
      if (which & 2) continue;
      index_t const* const s = sizes[place];
      test::product_problem p = test::transposed({1, s[0], s[1], s[2]}, which);
      p.c.transposed = which & 4;
      p.a.end = p.b.end = p.c.end = test::guard::page;
      test::require_defined_bits<bf16, float>(setup.exec, p);
      require_exact<std::int8_t>(setup.exec, p);
      p.a.gap = 3, p.b.gap = 5, p.c.gap = 7;
      require_exact<std::uint8_t>(setup.exec, p);
      p.options = {0.5, 2};
      test::require_defined_bits<bf16, bf16>(setup.exec, p);
    }
}

TEST_CASE("few rows: every instruction set, and products of few columns", "[linalg]") {
  test::for_each_isa([&](isa set) {
    INFO(name(set));
    threads_executor exec(2);
    test::watch_scratch(exec);
    for (index_t const m : test::sampled({1, 2, 3, 6, 11, 16}))
      for (auto const& s : {dims<2>(330, 201), dims<2>(16, 4102)}) {
        test::product_problem const p{1, m, s[0], s[1]};
        test::require_defined_bits<bf16, float>(exec, p);
        require_exact<std::int8_t>(exec, p);
        require_exact<std::uint8_t>(exec, p);
        test::product_problem turned{1, s[0], m, s[1]};
        turned.a.transposed = turned.c.transposed = m > 2;
        test::require_defined_bits<bf16, float>(exec, turned);
      }
    test::check_scratch(exec);
  });
}
