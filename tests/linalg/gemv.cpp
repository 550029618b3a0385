// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "products.hpp"

#include <heddle/linalg/gemv.hpp>

using namespace heddle;

namespace {

template <class T>
view<T, 1> every(T* data, index_t n, index_t stride) {
  return {data, dims<1>(n), stride};
}

/// gemv against the definition of the product of one column, with x and y at a stride.
template <class T, class C, class Executor>
void require_column(Executor& exec, index_t m, index_t k, bool transposed, index_t stride,
                    matmul_options const& options) {
  test::product_problem p{1, m, 1, k};
  p.a.transposed = transposed;
  p.options = options;
  test::matrices<T> a(1, m, k, {transposed, 0, test::guard::page}), b(1, k, 1);
  test::matrices<C> c(1, m, 1);
  a.random(1), b.random(2);
  if (options.beta != 0) c.random(3);
  test::buffer<T> x(k * stride);
  test::buffer<C> y(m * stride);
  for (index_t i = 0; i < k; ++i) x[i * stride] = b.view()(0, i, 0);
  for (index_t i = 0; i < m; ++i) y[i * stride] = c.view()(0, i, 0);
  gemv(exec, select(a.input(), 0, 0), every<T const>(x.data(), k, stride), every(y.data(), m, stride), options);
  exec.synchronize();
  std::vector<C> got;
  for (index_t i = 0; i < m; ++i) got.push_back(y[i * stride]);
  INFO(test::text_of(p) << " stride " << stride);
  REQUIRE(test::same_bits(got, test::defined_product<T, C>(p)));
  REQUIRE(y.intact());
}

template <class T, class C, class Executor>
void require_columns(Executor& exec) {
  for (auto const& size : {dims<2>(1, 1), dims<2>(3, 40), dims<2>(17, 16), dims<2>(33, 15), dims<2>(70, 65)})
    for (int which = 0; which < 8; ++which)
      require_column<T, C>(exec, size[0], size[1], which & 1, which & 2 ? 3 : 1,
                           which & 4 ? matmul_options{0.5, -2} : matmul_options{});
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("gemv: both transpositions, strides, alpha and beta", "[linalg]", test::executor_cases) {
  TestType setup;
  require_columns<float, float>(setup.exec);
  require_columns<bf16, float>(setup.exec);
}
TEMPLATE_LIST_TEST_CASE("gemv of doubles", "[linalg]", test::executor_cases) {
  TestType setup;
  require_columns<double, double>(setup.exec);
}

TEMPLATE_LIST_TEST_CASE("gemv: long and wide", "[linalg]", test::executor_cases) {
  TestType setup;
  for (int transposed = 0; transposed < 2; ++transposed) {
    require_column<float, float>(setup.exec, 3, 8193, transposed, 1, {});
    require_column<float, float>(setup.exec, 5000, 9, transposed, 1, {});
    require_column<float, float>(setup.exec, 1100, 130, transposed, 1, {});
  }
}

TEST_CASE("gemv: the same bits for every instruction set", "[linalg]") {
  test::for_each_isa([](isa) {
    threads_executor exec(3);
    for (int transposed = 0; transposed < 2; ++transposed) {
      require_column<float, float>(exec, 515, 1030, transposed, 1, {});
      require_column<float, float>(exec, 19, 4100, transposed, 1, {});
    }
  });
}

TEST_CASE("gemv: no columns, and extents that do not fit", "[linalg]") {
  serial_executor exec;
  float y[] = {2, 4}, x[3] = {}, a[6] = {};
  view<float, 1> const out(y, dims<1>(2));
  gemv(exec, view<float const, 2>(nullptr, dims<2>(2, 0)), view<float const, 1>(nullptr, dims<1>(0)), out, {1, 0.5});
  REQUIRE((y[0] == 1 && y[1] == 2));
  view<float const, 2> const matrix(a, dims<2>(2, 3));
  REQUIRE_THROWS_AS(gemv(exec, matrix, view<float const, 1>(x, dims<1>(2)), out), contract_error);
  view<float const, 1> const fits(x, dims<1>(3));
  REQUIRE_THROWS_AS(gemv(exec, matrix, fits, view<float, 1>(a, dims<1>(3))), contract_error);
  REQUIRE_THROWS_AS(gemv(exec, matrix, fits, view<float, 1>(x, dims<1>(2))), contract_error);
}
