// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "products.hpp"

#include <heddle/backend/cpu/matmul_panels.hpp>

using namespace heddle;

namespace {

/// Whether the product in packed panels has the bits of the oracle; matmul takes it where b is large only.
template <class T, class Executor>
bool right_in_panels(Executor& exec, test::product_problem const& p, index_t bands) {
  test::matrices<T> a(1, p.m, p.k, p.a), b(1, p.k, p.n, p.b), c(1, p.m, p.n, p.c), d(1, p.m, p.n, p.c);
  a.random(1), b.random(2);
  if (p.options.beta != 0) c.random(3), d.random(3);
  reference_executor oracle;
  matmul(oracle, a.input(), b.input(), d.view(), p.options);
  auto const x = a.view(), y = b.view(), z = c.view();
  cpu::inputs<T> const in{x.data(),    y.data(), x.stride(1), x.stride(2), y.stride(1),
                          y.stride(2), p.m,      p.n,         p.k,         p.options.cuts(p.k).leaves};
  T const alpha = static_cast<T>(p.options.alpha), beta = static_cast<T>(p.options.beta);
  cpu::output<T, T, no_epilogue> const out{z.data(), z.stride(1), z.stride(2), alpha, beta, false, {}};
  cpu::submit_panels(exec, in, out, cpu::row_bands{0, p.m, bands});
  exec.synchronize();
  return a.intact() && b.intact() && c.intact() && c.values() == d.values();
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("products in panels have the bits of the oracle", "[linalg]", test::executor_cases) {
  TestType setup;
  // The last panel whole or not, one strip and several, blocks that end early, pieces of k, two bands.
  CHECK(right_in_panels<float>(setup.exec, test::transposed({1, 49, 300, 70}, 0), 1));
  CHECK(right_in_panels<float>(setup.exec, test::transposed({1, 15, 64, 1100}, 0), 1));
  CHECK(right_in_panels<double>(setup.exec, test::transposed({1, 37, 65, 257}, 0), 2));
}

TEST_CASE("products in panels: sizes around blocks, strips and tiles", "[linalg]") {
  threads_executor exec(2);
  for (index_t const m : {15, 16, 29, 57, 70})
    for (index_t const n : {1, 31, 32, 129, 257})
      for (index_t const k : {1, 256, 513}) {
        CAPTURE(m, n, k);
        CHECK(right_in_panels<float>(exec, test::transposed({1, m, n, k}, 0), m > 50 ? 2 : 1));
      }
  CHECK(right_in_panels<float>(exec, test::transposed({1, 20, 40, 4097}, 0), 1));
  CHECK(right_in_panels<float>(exec, test::transposed({1, 16, 140, 8200}, 0), 1));
}

TEST_CASE("products in panels: layouts, factors, leaves, memory that ends with b", "[linalg]") {
  threads_executor exec(2);
  for (int which = 0; which < 4; ++which) {
    test::product_problem p = test::transposed({1, 30, 140, 530}, which);
    p.b.end = p.c.end = test::guard::page;
    p.options.alpha = 0.5, p.options.beta = 2;
    CHECK(right_in_panels<float>(exec, p, 1));
    p.options = {.order = order_policy::elastic};
    CHECK(right_in_panels<float>(exec, p, 1));
  }
}
