// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/optim/adam.hpp>
#include <heddle/optim/rule.hpp>
#include <heddle/optim/sgd.hpp>

#include <support/catch.hpp>
#include <support/executors.hpp>

#include <limits>
#include <vector>

using namespace heddle;

namespace {
// A rule of the minimum members: p <- p - lr·g, with no state.
struct plain_descent {
  static constexpr int arrays = 0;
  static char const* key(int) { return ""; }

  struct formula {
    optim::detail::step_pointers<float, 0> at;
    float lr;
    static constexpr char const* operation = "plain_descent";
    index_t flops() const { return 2; }
    void prepare(index_t) {}
    template <class V>
    HEDDLE_TILE void operator()(V& p, V const& g, V*) const {
      p = V(p - mul(g, splat<V>(lr)));
    }
  };
  template <executor E>
  void step(E& exec, view<float, 1> p, view<float const, 1> g, optim::state_views<float, 0> const& s,
            view<index_t, 1> applied, optim::step_args<float> const& a) const {
    optim::detail::submit_step(exec, formula{optim::detail::checked(p, g, s, applied, a), static_cast<float>(a.lr)});
  }
};
}  // namespace

TEST_CASE("the rules of the library and one of the user are update rules", "[optim]") {
  STATIC_REQUIRE(optim::update_rule_for<optim::sgd, serial_executor, float>);
  STATIC_REQUIRE(optim::update_rule_for<optim::adam, reference_executor, double>);
  STATIC_REQUIRE(optim::update_rule_for<plain_descent, serial_executor, float>);
  STATIC_REQUIRE_FALSE(optim::update_rule_for<plain_descent, serial_executor, double>);
}

TEMPLATE_LIST_TEST_CASE("a rule without state steps and counts, over several tiles", "[optim]", test::executor_cases) {
  TestType setup;
  index_t const n = 2 * optim::detail::step_tile + 5;
  std::vector<float> p(static_cast<std::size_t>(n), 1.0f), g(p.size(), 0.5f);
  index_t applied = 41;
  plain_descent().step(setup.exec, view<float, 1>(p.data(), dims<1>(n)), view<float const, 1>(g.data(), dims<1>(n)),
                       optim::state_views<float, 0>{}, view<index_t, 1>(&applied, dims<1>(1)), {.lr = 0.5});
  setup.exec.synchronize();
  CHECK(p == std::vector<float>(p.size(), 0.75f));
  CHECK(applied == 42);
}

TEST_CASE("a learning rate or weight decay that is no finite float is refused", "[optim]") {
  serial_executor exec;
  float p[2] = {}, g[2] = {};
  index_t n[1] = {};
  auto const step = [&](double lr, double decay) {
    optim::step_args<float> args;
    args.lr = lr;
    args.weight_decay = decay;
    plain_descent().step(exec, view<float, 1>(p, dims<1>(2)), view<float const, 1>(g, dims<1>(2)), {},
                      view<index_t, 1>(n, dims<1>(1)), args);
  };
  double const infinity = std::numeric_limits<double>::infinity();
  for (double wrong : {infinity, infinity - infinity, -1.0, 1e300}) {
    CHECK_THROWS_AS(step(wrong, 0), contract_error);
    CHECK_THROWS_AS(step(0.1, wrong), contract_error);
  }
  CHECK(n[0] == 0);
  CHECK_NOTHROW(step(1e30, 0));
}

TEST_CASE("a power in fp64, by squaring", "[optim]") {
  CHECK(optim::detail::power(0.5, 0) == 1);
  CHECK(optim::detail::power(0.5, 10) == 1.0 / 1024);
  CHECK(optim::detail::power(3, 5) == 243);
  CHECK(optim::detail::power(0.999, 1000) == Approx(0.36769542477096373).epsilon(1e-13));
}
