// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "products.hpp"

using namespace heddle;

namespace {

template <class T, class C, class Executor>
void require_all_layouts(Executor& exec) {
  for (auto const& size :
       {dims<3>(1, 19, 33), dims<3>(4, 33, 7), dims<3>(17, 1, 9), dims<3>(15, 35, 18), dims<3>(30, 3, 31)})
    for (int which = 0; which < 8; ++which) {
      test::product_problem p = test::transposed({2, size[0], size[1], size[2]}, which);
      p.c.transposed = which & 4;
      p.a.end = p.b.end = p.c.end = test::guard::page;
      test::require_defined_bits<T, C>(exec, p);
      p.options = {1.5, -0.5};
      p.a.gap = p.b.gap = p.c.gap = 1;
      test::require_defined_bits<T, C>(exec, p);
    }
}

/// The error bound of a product with inputs as they are, in double.
template <class T, class C>
void require_near(double unit, double unit_out) {
  reference_executor exec;
  test::product_problem const p{1, 5, 6, 300};
  std::vector<C> const got = test::product_of<T, C>(exec, p);
  test::matrices<T> a(1, p.m, p.k), b(1, p.k, p.n);
  a.random(1), b.random(2);
  double const ku = static_cast<double>(p.k) * unit, bound = ku / (1 - ku);
  for (index_t i = 0; i < p.m * p.n; ++i) {
    double sum = 0, size = 0;
    for (index_t d = 0; d < p.k; ++d) {
      double const x = static_cast<double>(static_cast<accumulator_t<T>>(a.view()(0, i / p.n, d))) *
                       static_cast<double>(static_cast<accumulator_t<T>>(b.view()(0, d, i % p.n)));
      sum += x, size += std::fabs(x);
    }
    double const is = static_cast<double>(static_cast<accumulator_t<T>>(got[static_cast<std::size_t>(i)]));
    REQUIRE(std::fabs(is - sum) <= bound * size + unit_out * (std::fabs(sum) + bound * size));
  }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("matmul of doubles", "[linalg]", test::executor_cases) {
  TestType setup;
  require_all_layouts<double, double>(setup.exec);
}
TEMPLATE_LIST_TEST_CASE("matmul of bf16 into bf16 and into float", "[linalg]", test::executor_cases) {
  TestType setup;
  require_all_layouts<bf16, bf16>(setup.exec);
  require_all_layouts<bf16, float>(setup.exec);
}
TEMPLATE_LIST_TEST_CASE("matmul of fp16 into float", "[linalg]", test::executor_cases) {
  TestType setup;
  require_all_layouts<fp16, float>(setup.exec);
}

TEST_CASE("the oracle is within its error bound in every type", "[linalg]") {
  require_near<float, float>(0x1p-24, 0);
  require_near<bf16, float>(0x1p-24, 0);
  require_near<bf16, bf16>(0x1p-24, 0x1p-8);
  // Double against itself: the bound has room for both.
  require_near<double, double>(0x1p-52, 0);
}
