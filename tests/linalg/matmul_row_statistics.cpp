// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "products.hpp"

#include <heddle/backend/cpu/matmul_row_statistics.hpp>
#include <heddle/linalg/epilogue_activation.hpp>
#include <heddle/linalg/matmul_row_statistics.hpp>
#include <heddle/linalg/quantise.hpp>

using namespace heddle;

namespace {

constexpr index_t sizes[][3] = {{1, 70, 9}, {3, 33, 5}, {30, 2, 8}, {15, 130, 17}, {29, 65, 20}, {4, 4, 0}, {5, 1, 7}};

/// For element types beside float: what differs between executors does not depend on them.
using two_cases = std::tuple<test::reference_case, test::threads_case<3>>;

/// The product with statistics against the product alone and a pass over it on the oracle.
template <class T, class C, class Executor, class Epilogue = no_epilogue>
void check_statistics(Executor& exec, test::product_problem const& p, Epilogue const& epilogue = {}) {
  using number = accumulator_t<T>;
  INFO(test::text_of(p));
  test::matrices<T> a(1, p.m, p.k, p.a), b(1, p.k, p.n, p.b);
  test::matrices<C> c(1, p.m, p.n, p.c), want(1, p.m, p.n);
  a.random(1), b.random(2), c.random(3), want.random(3);
  test::buffer<number> got(3 * p.m), plain(3 * p.m);
  auto const views = [&](number* data) {
    dims<1> const rows(p.m);
    return row_statistics{view<number, 1>(data, rows), view<number, 1>(data + p.m, rows),
                          view<number, 1>(data + 2 * p.m, rows)};
  };
  auto const left = select(a.input(), 0, 0), right = select(b.input(), 0, 0);
  matmul_row_statistics(exec, left, right, select(c.view(), 0, 0), views(got.data()), p.options, epilogue);
  exec.synchronize();
  reference_executor oracle;
  matmul(oracle, left, right, select(want.view(), 0, 0), p.options, epilogue);
  compute_row_statistics(oracle, select(want.input(), 0, 0), views(plain.data()));
  REQUIRE(c.intact());
  REQUIRE(got.intact());
  REQUIRE(test::same_bits(c.values(), want.values()));
  REQUIRE(std::memcmp(got.data(), plain.data(), static_cast<std::size_t>(3 * p.m) * sizeof(number)) == 0);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("a product gives the statistics of its rows", "[linalg]", test::executor_cases) {
  TestType setup;
  for (auto const& s : sizes)
    for (int which = 0; which < 8; ++which) {
      test::product_problem p = test::transposed({1, s[0], s[1], s[2]}, which);
      p.c.transposed = which & 4, p.c.gap = which & 1 ? 3 : 0;
      p.options = {which & 2 ? 0.5 : 1.0, which & 1 ? 1.0 : 0.0};
      check_statistics<float, float>(setup.exec, p);
    }
}

TEMPLATE_LIST_TEST_CASE("statistics are those of what is stored", "[linalg]", two_cases) {
  TestType setup;
  test::product_problem const p{1, 15, 131, 9};
  check_statistics<bf16, bf16>(setup.exec, p, epilogue::silu | epilogue::scale{3});
  check_statistics<float, std::int8_t>(setup.exec, p, epilogue::quantise{0.02f});
  check_statistics<double, double>(setup.exec, p);
}

TEMPLATE_LIST_TEST_CASE("statistics of products that stream their weight, and of rows of many blocks", "[linalg]",
                        two_cases) {
  TestType setup;
  for (index_t const m : {1, 6, 20}) {
    check_statistics<float, float>(setup.exec, {1, m, 1030, 270});
    check_statistics<bf16, float>(setup.exec, {1, m, 1030, 270});
  }
  check_statistics<float, float>(setup.exec, {1, 2, 4300, 3});
}

TEMPLATE_LIST_TEST_CASE("only the statistics that are wanted", "[linalg]", test::executor_cases) {
  TestType setup;
  float const a[] = {1, 2}, b[] = {3, -4, 5};
  float c[6], peaks[2], squares[2];
  auto& exec = setup.exec;
  view<float const, 2> const x(a, dims<2>(2, 1)), w(b, dims<2>(1, 3));
  view<float, 2> const y(c, dims<2>(2, 3));
  // begin matmul_row_statistics
  view<float, 1> const none, per_row(squares, dims<1>(2));
  matmul_row_statistics(exec, x, w, y, row_statistics{none, per_row, none});
  // end matmul_row_statistics
  exec.synchronize();
  CHECK((squares[0] == 50 && squares[1] == 200));
  matmul_row_statistics(exec, x, w, y, row_statistics{none, none, view<float, 1>(peaks, dims<1>(2))});
  matmul_row_statistics(exec, x, w, y, row_statistics{none, none, none}, {.alpha = 2});
  exec.synchronize();
  CHECK((peaks[0] == 5 && peaks[1] == 10 && c[0] == 6));
  CHECK_THROWS_AS(matmul_row_statistics(exec, x, w, y, row_statistics{none, none, view<float, 1>(c, dims<1>(3))}),
                  contract_error);
}
