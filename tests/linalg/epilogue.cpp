// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "products.hpp"

#include <heddle/core/math.hpp>
#include <heddle/linalg/epilogue.hpp>
#include <heddle/linalg/epilogue_activation.hpp>

using namespace heddle;

namespace {

// Few rows, few columns, edges of register tiles.
constexpr index_t sizes[][3] = {{1, 70, 9}, {3, 33, 5}, {30, 2, 8}, {15, 33, 17}, {29, 65, 20}, {4, 4, 0}};

/// What `f(value, row, col)` makes of the plain product, against the fused form, in every layout of c.
template <class Executor, class Epilogue, class F>
void require_applied(Executor& exec, Epilogue const& epilogue, F const& f) {
  for (auto const& s : sizes)
    for (int which = 0; which < 8; which += test::stride) {
      test::product_problem p = test::transposed({1, s[0], s[1], s[2]}, which);
      p.c.transposed = which & 4;
      p.options = {0.5, which & 1 ? 1.0 : 0.0};
      INFO(test::text_of(p));
      std::vector<float> want = test::defined_product<float, float>(p);
      for (index_t i = 0; i < p.m * p.n; ++i) {
        float& x = want[static_cast<std::size_t>(i)];
        x = f(x, i / p.n, i % p.n);
      }
      REQUIRE(test::same_bits(test::product_of<float, float>(exec, p, epilogue), want));
    }
}

struct halved {
  template <class V>
  HEDDLE_TILE V operator()(V const& x) const {
    return mul(splat<V>(0.5f), x);
  }
};
struct squashed {
  template <class V>
  HEDDLE_TILE V operator()(V const& x) const {
    return tanh(x);
  }
};

}  // namespace

TEMPLATE_LIST_TEST_CASE("epilogue: bias, residual and activation", "[linalg]", test::executor_cases) {
  TestType setup;
  std::vector<float> const bias = test::random_floats(70, 5, 1), residual = test::random_floats(30 * 80, 6, 1);
  require_applied(setup.exec, epilogue::add_bias<float>{bias.data()},
                  [&](float x, index_t, index_t col) { return x + bias[static_cast<std::size_t>(col)]; });
  require_applied(
      setup.exec, epilogue::add_residual<float>{residual.data(), 80},
      [&](float x, index_t row, index_t col) { return x + residual[static_cast<std::size_t>(row * 80 + col)]; });
  require_applied(setup.exec, epilogue::activation<squashed>{},
                  [](float x, index_t, index_t) { return heddle::tanh(x); });
}

TEMPLATE_LIST_TEST_CASE("epilogue: one after the other, in order", "[linalg]", test::executor_cases) {
  TestType setup;
  std::vector<float> const bias = test::random_floats(70, 5, 1);
  using biased = epilogue::add_bias<float>;
  using half = epilogue::activation<halved>;
  require_applied(setup.exec, epilogue::then<biased, half>{{bias.data()}, {}}, [&](float x, index_t, index_t col) {
    return mul(0.5f, x + bias[static_cast<std::size_t>(col)]);
  });
  require_applied(setup.exec, epilogue::then<half, biased>{{}, {bias.data()}}, [&](float x, index_t, index_t col) {
    return mul(0.5f, x) + bias[static_cast<std::size_t>(col)];
  });
}

TEMPLATE_LIST_TEST_CASE("epilogue: a lambda of the user that sees rows and columns", "[linalg]", test::executor_cases) {
  TestType setup;
  auto const f = [](auto const& x, index_t row, index_t, index_t n) HEDDLE_LAMBDA {
    using V = std::remove_cvref_t<decltype(x)>;
    return select(splat<V>(static_cast<float>(n > 0 ? row : -1)) < x, x, splat<V>(-1.0f));
  };
  require_applied(setup.exec, f, [](float x, index_t row, index_t) { return static_cast<float>(row) < x ? x : -1.0f; });
}

TEMPLATE_LIST_TEST_CASE("epilogue: a lambda of the user with memory of its own", "[linalg]", test::executor_cases) {
  TestType setup;
  std::vector<float> const factors = test::random_floats(70, 6, 1);
  // begin epilogue_with_memory
  float const* const scale = factors.data();  // one factor for each column
  auto const scaled = [scale](auto const& v, index_t, index_t col, index_t n) HEDDLE_LAMBDA {
    return mul(v, epilogue::load_like(v, scale + col, n));
  };
  // end epilogue_with_memory
  require_applied(setup.exec, scaled, [&](float x, index_t, index_t col) {
    return mul(x, factors[static_cast<std::size_t>(col)]);
  });
}

TEMPLATE_LIST_TEST_CASE("epilogue: activations have the bits of their formulas", "[linalg]", test::executor_cases) {
  TestType setup;
  require_applied(setup.exec, epilogue::gelu, [](float x, index_t, index_t) { return gelu_tanh_value{}(x); });
  require_applied(setup.exec, epilogue::gelu_erf, [](float x, index_t, index_t) { return gelu_erf_value{}(x); });
  require_applied(setup.exec, epilogue::silu, [](float x, index_t, index_t) { return silu_value{}(x); });
}

TEMPLATE_LIST_TEST_CASE("epilogue: bf16 bias and residual widen, the result is rounded once", "[linalg]",
                        test::executor_cases) {
  TestType setup;
  std::vector<bf16> side(40 * 40);
  test::fill_random(side.data(), 40 * 40, 9);
  epilogue::then<epilogue::add_bias<bf16>, epilogue::add_residual<bf16>> const f{{side.data()}, {side.data(), 40}};
  for (index_t const m : {1, 17}) {
    test::product_problem const p{1, m, 37, 11};
    std::vector<bf16> const got = test::product_of<bf16, bf16>(setup.exec, p, f);
    std::vector<float> const plain = test::defined_product<bf16, float>(p);
    for (index_t i = 0; i < m * p.n; ++i) {
      float const x = plain[static_cast<std::size_t>(i)] + static_cast<float>(side[static_cast<std::size_t>(i % p.n)]);
      bf16 const want(x + static_cast<float>(side[static_cast<std::size_t>(i / p.n * 40 + i % p.n)]));
      REQUIRE(got[static_cast<std::size_t>(i)].bits == want.bits);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("epilogue: a number and a gate as factors", "[linalg]", test::executor_cases) {
  TestType setup;
  std::vector<float> const gates = test::random_floats(30 * 80, 8, 1);
  require_applied(setup.exec, epilogue::scale{0.1}, [](float x, index_t, index_t) { return mul(x, 0.1f); });
  require_applied(setup.exec, epilogue::multiply_gate<float>{gates.data(), 80}, [&](float x, index_t row, index_t col) {
    return mul(x, gates[static_cast<std::size_t>(row * 80 + col)]);
  });
}

TEMPLATE_LIST_TEST_CASE("epilogue: chains are written with bars", "[linalg]", test::executor_cases) {
  TestType setup;
  std::vector<float> const b = test::random_floats(70, 5, 1), r = test::random_floats(30 * 80, 6, 1);
  test::product_problem const p{1, 30, 70, 9};
  // begin epilogue_chain
  view<float const, 1> const biases(b.data(), dims<1>(70));
  view<float const, 2> const inputs(r.data(), dims<2>(30, 70), 80, 1);
  auto const chain = epilogue::bias(biases) | epilogue::gelu | epilogue::residual(inputs);
  // end epilogue_chain
  std::vector<float> want = test::defined_product<float, float>(p);
  for (index_t i = 0; i < p.m * p.n; ++i) {
    float& x = want[static_cast<std::size_t>(i)];
    x = gelu_tanh_value{}(x + b[static_cast<std::size_t>(i % 70)]) + r[static_cast<std::size_t>(i / 70 * 80 + i % 70)];
  }
  REQUIRE(test::same_bits(test::product_of<float, float>(setup.exec, p, chain), want));
  auto const twice = [](auto const& x, index_t, index_t, index_t) HEDDLE_LAMBDA { return x + x; };
  require_applied(setup.exec, twice | epilogue::bias(b.data()) | epilogue::multiply_gate<float>{r.data(), 80},
                  [&](float x, index_t row, index_t col) {
                    return mul(x + x + b[static_cast<std::size_t>(col)], r[static_cast<std::size_t>(row * 80 + col)]);
                  });
}

TEST_CASE("epilogues refuse views of other extents than c", "[linalg]") {
  reference_executor exec;
  std::vector<float> const x(20, 1), narrow(3, 1);
  std::vector<float> y(20, -1);
  view<float const, 2> const a(x.data(), dims<2>(4, 4)), other(x.data(), dims<2>(4, 5));
  view<float, 2> const c(y.data(), dims<2>(4, 4));
  view<float const, 1> const bias(narrow.data(), dims<1>(3));
  REQUIRE_THROWS_AS(matmul(exec, a, a, c, {}, epilogue::bias(bias)), contract_error);
  REQUIRE_THROWS_AS(matmul(exec, a, a, c, {}, epilogue::residual(other)), contract_error);
  REQUIRE_THROWS_AS(matmul(exec, a, a, c, {}, epilogue::gate(transpose(transpose(other)))), contract_error);
  REQUIRE_THROWS_AS(matmul(exec, a, a, c, {}, epilogue::scale{2} | epilogue::bias(bias)), contract_error);
  REQUIRE(y == std::vector<float>(20, -1));
}
