// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/optim/clip.hpp>

#include <support/catch.hpp>
#include <support/executors.hpp>

#include <limits>

using namespace heddle;

TEST_CASE("the coefficient halves a norm of 13 at a limit of 6.5", "[optim]") {
  double const c = optim::decide_clip(13, 6.5).coefficient;
  CHECK(3 * c == Approx(1.5).epsilon(1e-7));
  CHECK(12 * c == Approx(6).epsilon(1e-7));
  CHECK(optim::decide_clip(5, 1).coefficient == 1 / (5 + 1e-6));
}

TEST_CASE("a norm below the limit is left alone to the bit", "[optim]") {
  CHECK(optim::decide_clip(6.4999999, 6.5).coefficient == 1);
  CHECK(optim::decide_clip(0, 6.5).coefficient == 1);
  CHECK(optim::decide_clip(6.5, 6.5).coefficient < 1);
}

TEST_CASE("a norm that is not finite skips, and a limit must be positive", "[optim]") {
  double const inf = std::numeric_limits<double>::infinity();
  CHECK(optim::decide_clip(inf, 1).skip);
  CHECK(optim::decide_clip(std::numeric_limits<double>::quiet_NaN(), 1).skip);
  CHECK_FALSE(optim::decide_clip(1e300, 1).skip);
  CHECK_THROWS_AS(optim::decide_clip(1, 0), contract_error);
  CHECK_THROWS_AS(optim::decide_clip(1, -1), contract_error);
}

TEMPLATE_LIST_TEST_CASE("the decision is written where the step reads it", "[optim]", test::executor_cases) {
  TestType setup;
  double norm = 4;
  float coefficient = -1;
  std::int32_t skip = -1;
  view<double const, 1> n(&norm, dims<1>(1));
  view<float, 1> c(&coefficient, dims<1>(1));
  view<std::int32_t, 1> s(&skip, dims<1>(1));
  optim::clip_from_norm(setup.exec, n, 2.0, c, s);
  setup.exec.synchronize();
  CHECK(coefficient == static_cast<float>(2 / (4 + 1e-6)));
  CHECK(skip == 0);
  norm = std::numeric_limits<double>::infinity();
  optim::clip_from_norm(setup.exec, n, 2.0, c, s);
  setup.exec.synchronize();
  CHECK(skip == 1);
  CHECK_THROWS_AS(optim::clip_from_norm(setup.exec, n, 0.0, c, s), contract_error);
}
