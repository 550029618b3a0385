// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/optim/sgd.hpp>

#include <support/catch.hpp>
#include <support/executors.hpp>

#include <cmath>
#include <vector>

using namespace heddle;

namespace {
template <class E>
std::vector<double> walk(E& exec, optim::sgd const& rule, double p, std::vector<double> const& gradients, double lr,
                         double decay) {
  double m = 0;
  index_t applied = 0;
  std::vector<double> out;
  for (double g : gradients) {
    optim::state_views<double, 1> state{{view<double, 1>(&m, dims<1>(1))}};
    rule.step(exec, view<double, 1>(&p, dims<1>(1)), view<double const, 1>(&g, dims<1>(1)), state,
              view<index_t, 1>(&applied, dims<1>(1)), optim::step_args<double>{.lr = lr, .weight_decay = decay});
    exec.synchronize();
    out.push_back(p);
  }
  CHECK(applied == static_cast<index_t>(gradients.size()));
  return out;
}
}  // namespace

TEMPLATE_LIST_TEST_CASE("sgd, momentum, Nesterov and decay", "[optim]", test::executor_cases) {
  TestType setup;
  auto& exec = setup.exec;
  CHECK(walk(exec, optim::sgd{}, 1.0, {0.5, -0.25}, 0.5, 0) == std::vector<double>{0.75, 0.875});
  // m = 0.5, then 0.25 - 0.25 = 0
  CHECK(walk(exec, optim::sgd{.momentum = 0.5}, 1.0, {0.5, -0.25}, 0.5, 0) == std::vector<double>{0.75, 0.75});
  // directions 0.5 + 0.25 and -0.25 + 0
  CHECK(walk(exec, optim::sgd{.momentum = 0.5, .nesterov = true}, 1.0, {0.5, -0.25}, 0.5, 0) ==
        std::vector<double>{0.625, 0.75});
  CHECK(walk(exec, optim::sgd{}, 2.0, {0.5}, 0.5, 0.25) == std::vector<double>{1.5});
  CHECK_THROWS_AS(walk(exec, optim::sgd{.momentum = 1.0}, 1.0, {0.5}, 0.5, 0), contract_error);
  STATIC_REQUIRE(optim::update_rule_for<optim::sgd, reference_executor, double>);
}

TEST_CASE("seven steps with momentum, one of them skipped, are what the formula says", "[optim]") {
  serial_executor exec;
  for (double const mu : {0.0, 0.5, 0.9})
    for (bool const nesterov : {false, true})
      for (double const decay : {0.0, 0.25}) {
        CAPTURE(mu, nesterov, decay);
        double p = 1.5, m = 0, right = p, right_m = 0;
        index_t applied = 0;
        for (int step = 0; step < 7; ++step) {
          double const g = 0.3 * ((step * 5) % 7 - 3);
          std::int32_t const skip = step == 2 ? 1 : 0;
          optim::sgd{.momentum = mu, .nesterov = nesterov}.step(
              exec, view<double, 1>(&p, dims<1>(1)), view<double const, 1>(&g, dims<1>(1)),
              optim::state_views<double, 1>{{view<double, 1>(&m, dims<1>(1))}}, view<index_t, 1>(&applied, dims<1>(1)),
              optim::step_args<double>{.lr = 0.125, .weight_decay = decay, .skip = &skip});
          if (skip == 0) {
            double const slope = g + decay * right;
            right_m = mu * right_m + slope;
            right -= 0.125 * (nesterov ? slope + mu * right_m : right_m);
          }
          REQUIRE(applied == (step < 2 ? step + 1 : step));
          // Eight roundings per step of numbers below 16.
          REQUIRE(std::abs(p - right) <= 8 * 16 * 0x1p-53 * (step + 1));
          REQUIRE(std::abs(m - right_m) <= 8 * 16 * 0x1p-53 * (step + 1));
        }
      }
}
