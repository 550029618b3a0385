// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "products.hpp"

#include <heddle/exec/plan.hpp>
#include <heddle/linalg/gemv.hpp>

#include <cstring>

using namespace heddle;

namespace {

float const none = __builtin_nanf(""), infinite = __builtin_inff();

template <class T>
view<T, 2> matrix(T* data, index_t rows, index_t columns) {
  return {data, dims<2>(rows, columns)};
}

template <class F>
std::string refusal(F f) {
  try {
    f();
  } catch (contract_error const& e) {
    return e.what();
  }
  return "accepted";
}
bool holds(std::string const& text, char const* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEMPLATE_LIST_TEST_CASE("matmul: a factor of zero reads nothing", "[linalg]", test::executor_cases) {
  TestType setup;
  float a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8}, nans[] = {none, none, none, none};
  float poisoned[] = {none, infinite, -infinite, none}, kept[] = {1, 2, 3, 4}, both[] = {none, none, infinite, none};
  matmul(setup.exec, matrix<float const>(a, 2, 2), matrix<float const>(b, 2, 2), matrix(poisoned, 2, 2));
  matmul(setup.exec, matrix<float const>(nans, 2, 2), matrix<float const>(nans, 2, 2), matrix(kept, 2, 2), {0, 2});
  matmul(setup.exec, matrix<float const>(nans, 2, 2), matrix<float const>(nans, 2, 2), matrix(both, 2, 2), {0, 0});
  setup.exec.synchronize();
  float const right_a[] = {19, 22, 43, 50}, right_b[] = {2, 4, 6, 8}, right_c[] = {0, 0, 0, 0};
  REQUIRE(std::memcmp(poisoned, right_a, sizeof right_a) == 0);
  REQUIRE(std::memcmp(kept, right_b, sizeof right_b) == 0);
  REQUIRE(std::memcmp(both, right_c, sizeof right_c) == 0);
}

TEMPLATE_LIST_TEST_CASE("matmul: zero dimensions", "[linalg]", test::executor_cases) {
  TestType setup;
  auto& exec = setup.exec;
  float const* const nothing = nullptr;
  float halved[] = {2, 4, 6, 8}, cleared[] = {none, none, none, none}, ordered[] = {0, 0, 0, 0}, some[12] = {};
  matmul(exec, matrix(nothing, 2, 0), matrix(nothing, 0, 2), matrix(halved, 2, 2), {1, 0.5});
  matmul(exec, matrix(nothing, 2, 0), matrix(nothing, 0, 2), matrix(cleared, 2, 2));
  matmul(exec, matrix(nothing, 0, 4), matrix<float const>(some, 4, 3), matrix<float>(nullptr, 0, 3));
  matmul(exec, matrix<float const>(some, 3, 4), matrix(nothing, 4, 0), matrix<float>(nullptr, 3, 0));
  // Behind work of the same queue that writes c.
  exec.for_each_tile(4, [to = ordered](index_t i, int) { to[i] = static_cast<float>(2 * i + 2); });
  matmul(exec, matrix(nothing, 2, 0), matrix(nothing, 0, 2), matrix(ordered, 2, 2), {1, 0.5});
  exec.synchronize();
  float const half[] = {1, 2, 3, 4}, zero[] = {0, 0, 0, 0};
  REQUIRE(std::memcmp(halved, half, sizeof half) == 0);
  REQUIRE(std::memcmp(cleared, zero, sizeof zero) == 0);
  REQUIRE(std::memcmp(ordered, half, sizeof half) == 0);
}

TEMPLATE_LIST_TEST_CASE("matmul: a long sum of narrow ones does not stop growing", "[linalg]", test::executor_cases) {
  TestType setup;
  // Few rows, few columns, one register tile and many.
  for (index_t const m : {1, 3, 16, 40})
    for (index_t const n : {1, 5, 40}) {
      std::vector<bf16> const a(static_cast<std::size_t>(m * 1000), bf16(1.0f));
      std::vector<bf16> const b(static_cast<std::size_t>(n * 1000), bf16(1.0f));
      std::vector<bf16> narrow(static_cast<std::size_t>(m * n), bf16(none));
      std::vector<float> wide(static_cast<std::size_t>(m * n), none);
      matmul(setup.exec, matrix(a.data(), m, 1000), matrix(b.data(), 1000, n), matrix(narrow.data(), m, n));
      matmul(setup.exec, matrix(a.data(), m, 1000), matrix(b.data(), 1000, n), matrix(wide.data(), m, n));
      setup.exec.synchronize();
      for (bf16 const x : narrow) REQUIRE(static_cast<float>(x) == 1000);
      for (float const x : wide) REQUIRE(x == 1000);
    }
}

TEMPLATE_LIST_TEST_CASE("matmul: alpha and beta", "[linalg]", test::executor_cases) {
  TestType setup;
  for (double const alpha : {1.0, 0.3, -2.0})
    for (double const beta : {0.0, 1.0, 0.7, -1.0})
      for (index_t const m : {1, 4, 5, 17}) {
        test::product_problem p{1, m, 35, 19};
        p.options = {alpha, beta};
        test::require_defined_bits<float, float>(setup.exec, p);
        p.c.transposed = true;
        test::require_defined_bits<float, float>(setup.exec, p);
      }
}

TEST_CASE("matmul refuses extents that do not fit", "[linalg]") {
  serial_executor exec;
  float a[24] = {}, c[24] = {};
  auto const two = [&](index_t m, index_t k, index_t k2, index_t n, index_t cm, index_t cn) {
    return refusal(
        [&] { matmul(exec, matrix<float const>(a, m, k), matrix<float const>(a, k2, n), matrix(c, cm, cn)); });
  };
  REQUIRE(two(2, 3, 3, 4, 2, 4) == "accepted");
  REQUIRE(holds(two(2, 3, 4, 4, 2, 4), "the columns of a must be the rows of b"));
  REQUIRE(holds(two(2, 3, 3, 4, 3, 4), "a and c must have the same rows"));
  REQUIRE(holds(two(2, 3, 3, 4, 2, 5), "b and c must have the same columns"));
  view<float const, 3> const pair(a, dims<3>(2, 2, 2));
  view<float, 3> const three(c, dims<3>(3, 2, 2));
  REQUIRE(holds(refusal([&] { matmul(exec, pair, pair, three); }), "batch extents must agree"));
}

TEST_CASE("matmul refuses an output that lies over an input", "[linalg]") {
  serial_executor exec;
  float x[4 * 48] = {};
  // Three matrices of 4 x 16 side by side in lines of 48, as queries, keys and values lie.
  auto const third = [&](index_t i) { return view<float, 2>(x + 16 * i, dims<2>(4, 16), index_t{48}, index_t{1}); };
  auto const square = [&](index_t from) { return view<float, 2>(x + from, dims<2>(4, 4), index_t{48}, index_t{1}); };
  auto const run = [&](auto const& a, auto const& b, auto const& c) {
    return refusal([&] { matmul(exec, a, b, c); });
  };
  char const* const text = "c must not overlap a or b";
  REQUIRE(run(square(0), third(1), third(2)) == "accepted");
  REQUIRE(run(square(16), transpose(transpose(third(2))), third(0)) == "accepted");
  REQUIRE(holds(run(square(0), third(1), third(1)), text));
  REQUIRE(holds(run(square(32), third(1), third(2)), text));
  REQUIRE(holds(run(square(44), third(1), third(2)), text));
  REQUIRE(holds(run(square(0), transpose(third(1)), transpose(square(30))), "the columns of a"));
  view<float const, 2> const a = matrix<float const>(x, 4, 4), b = matrix<float const>(x + 16, 4, 4);
  REQUIRE(run(a, b, matrix(x + 32, 4, 4)) == "accepted");
  REQUIRE(holds(run(a, b, matrix(x + 15, 4, 4)), text));
  REQUIRE(holds(run(a, b, matrix(x + 31, 4, 4)), text));
  REQUIRE(holds(run(a, b, transpose(matrix(x + 20, 4, 4))), text));
  // Memory that nobody reads or writes can't overlap.
  REQUIRE(run(matrix<float const>(x, 4, 0), matrix<float const>(x, 0, 4), matrix(x, 4, 4)) == "accepted");
}

TEST_CASE("matmul refuses an output whose elements stand twice", "[linalg]") {
  reference_executor exec;
  float a[16] = {}, b[16] = {}, c[64] = {};
  auto const in = [](float* at) { return view<float const, 2>(at, dims<2>(4, 4)); };
  for (auto const& [s, t] : {std::pair<index_t, index_t>{0, 1}, {1, 0}, {1, 1}, {2, 1}, {-3, 1}, {0, 0}}) {
    view<float, 2> const out(c + 20, dims<2>(4, 4), s, t);
    CHECK_THROWS_AS(matmul(exec, in(a), in(b), out), contract_error);
  }
  view<float, 3> const batch(c, dims<3>(2, 4, 4), 0, 4, 1);
  view<float const, 3> const x(a, dims<3>(2, 4, 4), 0, 4, 1);
  CHECK_THROWS_AS(matmul(exec, x, x, batch), contract_error);
  CHECK_THROWS_AS(gemv(exec, in(a), view<float const, 1>(b, dims<1>(4)), view<float, 1>(c, dims<1>(4), 0)),
                  contract_error);
  CHECK_NOTHROW(matmul(exec, in(a), in(b), view<float, 2>(c, dims<2>(4, 4), 1, 4)));
  CHECK_NOTHROW(matmul(exec, in(a), in(b), view<float, 2>(c + 40, dims<2>(4, 4), -4, -1)));
}

TEST_CASE("the oracle is near the product in double", "[linalg]") {
  reference_executor exec;
  for (index_t const k : {1, 7, 512, 5000}) {
    index_t const m = 6, n = 7;
    test::product_problem const p{1, m, n, k};
    std::vector<float> const got = test::product_of<float, float>(exec, p);
    test::matrices<float> a(1, m, k), b(1, k, n);
    a.random(1), b.random(2);
    double const u = 0x1p-24, bound = static_cast<double>(k) * u / (1 - static_cast<double>(k) * u);
    for (index_t i = 0; i < m * n; ++i) {
      double sum = 0, size = 0;
      for (index_t d = 0; d < k; ++d) {
        double const x = static_cast<double>(a.view()(0, i / n, d)) * static_cast<double>(b.view()(0, d, i % n));
        sum += x, size += std::fabs(x);
      }
      REQUIRE(std::fabs(static_cast<double>(got[static_cast<std::size_t>(i)]) - sum) <= bound * size);
    }
    REQUIRE(test::same_bits(got, test::defined_product<float, float>(p)));
  }
}

TEST_CASE("factors of a product are numbers in the type of its sums", "[linalg]") {
  reference_executor exec;
  float a[] = {1, 2, 3, 4}, c[] = {1, 2, 3, 4};
  double wide[] = {1, 2, 3, 4}, out[4];
  for (double const wrong : {1e60, 1e-60, static_cast<double>(none), static_cast<double>(infinite)}) {
    auto const alpha = [&] { matmul(exec, matrix(a, 2, 2), matrix(a, 2, 2), matrix(c, 2, 2), {wrong, 0}); };
    auto const beta = [&] { matmul(exec, matrix(a, 2, 2), matrix(a, 2, 2), matrix(c, 2, 2), {1, wrong}); };
    CHECK(holds(refusal(alpha), "finite in the type"));
    CHECK(holds(refusal(beta), "finite in the type"));
  }
  matmul(exec, matrix(wide, 2, 2), matrix(wide, 2, 2), matrix(out, 2, 2), {1e60, 0});
  CHECK(out[0] == 1e60 * 7);
}

TEST_CASE("the plan of a huge product does not wrap", "[linalg]") {
  reference_executor exec;
  index_t const n = index_t{1} << 21;
  float* const nowhere = nullptr;
  auto const p = plan(exec, [&] { matmul(exec, matrix(nowhere, n, n), matrix(nowhere, n, n), matrix(nowhere, n, n)); });
  CHECK(p.flops == 0x7fffffffffffffff);
}
