// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "products.hpp"

#include <heddle/backend/cpu/matmul_swiglu.hpp>
#include <heddle/linalg/matmul_swiglu.hpp>
#include <heddle/linalg/packed_operand.hpp>

using namespace heddle;

namespace {

/// m, columns of y, k: few rows and columns, edges of register tiles and registers, no steps at all.
constexpr index_t sizes[][3] = {{1, 35, 9}, {3, 1, 5}, {30, 2, 8}, {15, 33, 17}, {29, 17, 20}, {4, 3, 0}, {0, 4, 3}};

template <class Y>
Y gated(float gate, float up) {
  return static_cast<Y>(linalg::detail::stored_number<Y>(mul(silu_value{}(gate), up)));
}

/// Elements of y, row by row, as the definition makes them of the whole product.
template <class T, class Y>
std::vector<Y> defined_gates(test::product_problem const& p) {
  std::vector<float> const both = test::defined_product<T, float>(p);
  std::vector<Y> out;
  for (std::size_t i = 0; i < both.size(); i += 2) out.push_back(gated<Y>(both[i], both[i + 1]));
  return out;
}

template <class T, class Y, class Executor>
std::vector<Y> gates_of(Executor& exec, test::product_problem const& p) {
  test::matrices<T> a(1, p.m, p.k, p.a), b(1, p.k, p.n, p.b);
  test::matrices<Y> y(1, p.m, p.n / 2, p.c);
  a.random(1), b.random(2);
  matmul_swiglu(exec, select(a.input(), 0, 0), select(b.input(), 0, 0), select(y.view(), 0, 0), p.options);
  exec.synchronize();
  CHECK(y.intact());
  return y.values();
}

template <class T, class Y, class Executor>
void check_gates(Executor& exec) {
  for (auto const& s : sizes)
    for (int which = 0; which < 8; ++which) {
      test::product_problem p = test::transposed({1, s[0], 2 * s[1], s[2]}, which);
      p.c.transposed = which & 4, p.c.gap = which & 1 ? 3 : 0;
      p.options.alpha = which & 2 ? 0.5 : 1;
      INFO(test::text_of(p));
      REQUIRE(test::same_bits(gates_of<T, Y>(exec, p), defined_gates<T, Y>(p)));
    }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("SwiGLU in one product", "[linalg]", test::executor_cases) {
  TestType setup;
  check_gates<float, float>(setup.exec);
  check_gates<bf16, bf16>(setup.exec);
}

TEMPLATE_LIST_TEST_CASE("SwiGLU of a product that is stored as bytes", "[linalg]", test::executor_cases) {
  TestType setup;
  test::product_problem const p{1, 15, 66, 9};
  std::vector<std::int8_t> const got = gates_of<float, std::int8_t>(setup.exec, p);
  REQUIRE(got == defined_gates<float, std::int8_t>(p));
}

using two_cases = std::tuple<test::reference_case, test::threads_case<3>>;
TEMPLATE_LIST_TEST_CASE("SwiGLU of products that stream their weight", "[linalg]", two_cases) {
  TestType setup;
  for (index_t const m : {1, 6}) {
    test::product_problem const p{1, m, 1030, 270};
    REQUIRE(test::same_bits(gates_of<float, float>(setup.exec, p), defined_gates<float, float>(p)));
    REQUIRE(test::same_bits(gates_of<bf16, float>(setup.exec, p), defined_gates<bf16, float>(p)));
  }
}

TEMPLATE_LIST_TEST_CASE("columns that take turns, packed", "[linalg]", test::executor_cases) {
  TestType setup;
  constexpr index_t m = 7, n = 19, k = 12;
  std::vector<float> const x = test::random_floats(m * k, 1, 1), g = test::random_floats(k * n, 2, 1),
                           u = test::random_floats(k * n, 3, 1);
  std::vector<float> weights(2 * k * n), y(m * n), again(m * n), gate(m * n), up(m * n);
  auto const in = view<float const, 2>(x.data(), dims<2>(m, k));
  auto const gates = view<float const, 2>(g.data(), dims<2>(k, n)), ups = view<float const, 2>(u.data(), dims<2>(k, n));
  auto const out = view<float, 2>(y.data(), dims<2>(m, n));
  auto& exec = setup.exec;
  // begin swiglu
  view<float, 2> const w(weights.data(), dims<2>(k, 2 * n));
  interleave_columns(exec, gates, ups, w);  // once, before many products
  matmul_swiglu(exec, in, w, out);          // out = SiLU(in gates) * (in ups)
  // end swiglu
  matmul(exec, in, gates, view<float, 2>(gate.data(), dims<2>(m, n)));
  matmul(exec, in, ups, view<float, 2>(up.data(), dims<2>(m, n)));
  exec.synchronize();
  for (std::size_t i = 0; i < y.size(); ++i) REQUIRE(y[i] == gated<float>(gate[i], up[i]));

  index_t const bytes = packed_operand_bytes<float>(exec, k, 2 * n);
  test::buffer<unsigned char> memory(bytes + 64);
  std::size_t const beyond = reinterpret_cast<std::uintptr_t>(memory.data()) % 64;
  unsigned char* const aligned = memory.data() + (64 - beyond) % 64;
  packed_operand<float> const packed = pack(exec, w, view<unsigned char, 1>(aligned, dims<1>(bytes)));
  matmul_swiglu(exec, in, packed, view<float, 2>(again.data(), dims<2>(m, n)));
  exec.synchronize();
  REQUIRE(test::same_bits(again, y));
}

TEST_CASE("SwiGLU of a product refuses what does not fit", "[linalg]") {
  reference_executor exec;
  float x[12] = {}, y[12] = {};
  view<float const, 2> const a(x, dims<2>(2, 2)), w(x, dims<2>(2, 4)), odd(x, dims<2>(2, 3));
  view<float, 2> const out(y, dims<2>(2, 2)), narrow(y, dims<2>(2, 1));
  CHECK_THROWS_AS(matmul_swiglu(exec, a, odd, narrow), contract_error);
  CHECK_THROWS_AS(matmul_swiglu(exec, a, w, narrow), contract_error);
  CHECK_THROWS_AS(matmul_swiglu(exec, a, w, out, {.beta = 1}), contract_error);
  CHECK_THROWS_AS(matmul_swiglu(exec, a, w, view<float, 2>(x, dims<2>(2, 2))), contract_error);
  CHECK_THROWS_AS(interleave_columns(exec, a, odd, view<float, 2>(y, dims<2>(2, 4))), contract_error);
  CHECK_THROWS_AS(interleave_columns(exec, a, view<float const, 2>(y, dims<2>(2, 2)), view<float, 2>(y, dims<2>(2, 4))),
                  contract_error);
}
