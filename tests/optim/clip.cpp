// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/comm/exact_sum.hpp>
#include <heddle/comm/transport/thread.hpp>
#include <heddle/optim/clip.hpp>

#include <support/catch.hpp>
#include <support/executors.hpp>

#include <cmath>
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

TEST_CASE("OP-5: a replicated gradient counts once in the norm, a sharded one on every rank", "[optim]") {
  double norms[2] = {};
  float clipped[2][2] = {};
  run_ranks(2, [&](thread_communicator& comm) {
    serial_executor exec;
    int const me = comm.rank();
    float const shard = me == 0 ? 3.0f : 4.0f, replicated = 12;
    std::uint64_t words[exact_sum_words] = {};
    view<std::uint64_t, 1> const sum(words, dims<1>(exact_sum_words));
    exact_sum_add(exec, view<float const, 1>(&shard, dims<1>(1)), sum);
    if (me == 0) exact_sum_add(exec, view<float const, 1>(&replicated, dims<1>(1)), sum);
    all_reduce(comm, exec, view<std::uint64_t const, 1>(sum), sum);
    double norm = 0;
    float factor = 0;
    std::int32_t skip = -1;
    exact_sum_round(exec, sum, view<double, 1>(&norm, dims<1>(1)));
    norm = std::sqrt(norm);
    optim::clip_from_norm(exec, view<double const, 1>(&norm, dims<1>(1)), 6.5, view<float, 1>(&factor, dims<1>(1)),
                          view<std::int32_t, 1>(&skip, dims<1>(1)));
    norms[me] = norm;
    clipped[me][0] = shard * factor;
    clipped[me][1] = replicated * factor;
  });
  for (double n : norms) CHECK(n == 13);
  // The limit is divided by the norm and 1e-6 beside it.
  CHECK(clipped[0][0] == Approx(1.5).epsilon(1e-7));
  CHECK(clipped[1][0] == Approx(2).epsilon(1e-7));
  for (auto const& rank : clipped) CHECK(rank[1] == Approx(6).epsilon(1e-7));
}
