// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/exec/queued.hpp>
#include <heddle/exec/serial_executor.hpp>

#include "toy.hpp"

#include <mutex>

namespace heddle {
namespace {

using pipeline::backward_form;
using test::on_stages;
using test::toy;

using compute_types = std::tuple<serial_executor, queued<serial_executor>>;

std::vector<pipeline::schedule> schedules(int stages, int microbatches) {
  std::vector<pipeline::schedule> all;
  for (backward_form f : {backward_form::fused, backward_form::split, backward_form::deferred}) {
    all.push_back(pipeline::gpipe(stages, microbatches, f));
    all.push_back(pipeline::one_forward_one_backward(stages, microbatches, f));
  }
  return all;
}

/// The losses and the gradients of all weights after one pass over `order`, put together from all stages.
struct everything {
  std::vector<float> losses, gradients;
};
template <class Compute>
everything run(pipeline::schedule const& order, std::vector<float> const& weights, std::vector<std::int32_t> const& x,
               float scale) {
  everything all;
  std::mutex lock;
  all.gradients.resize(weights.size());
  on_stages<Compute>(order.stages, toy(static_cast<index_t>(weights.size())), weights, [&](auto& rank, int stage) {
    auto const got = rank.run(order, x, scale);
    std::lock_guard<std::mutex> const guard(lock);
    if (stage + 1 == order.stages) all.losses = got.losses;
    for (std::size_t i = 0; i < got.gradients.size(); ++i)
      all.gradients[static_cast<std::size_t>(rank.stage().blocks.first) + i] = got.gradients[i];
  });
  return all;
}

using floats = std::vector<float>;

}  // namespace

// PP-1.
TEMPLATE_LIST_TEST_CASE("fewer microbatches than stages give the right gradients", "[pipeline]", compute_types) {
  for (pipeline::schedule const& order : schedules(4, 1)) {
    CAPTURE(order.provenance);
    everything const got = run<TestType>(order, {2, 3, 5, 7}, {1}, 1);
    REQUIRE(got.losses == floats{210});
    REQUIRE(got.gradients == floats{105, 70, 42, 30});
  }
  for (pipeline::schedule const& order : schedules(4, 2)) {
    CAPTURE(order.provenance);
    everything const got = run<TestType>(order, {2, 3, 5, 7}, {1, 2}, 0.5f);
    REQUIRE(got.losses == floats{210, 420});
    REQUIRE(got.gradients == floats{157.5f, 105, 63, 45});
  }
  for (pipeline::schedule const& order : schedules(3, 3))
    REQUIRE(run<TestType>(order, {2, 3, 5}, {1, 1, 1}, 1).gradients == floats{45, 30, 18});
}

TEMPLATE_LIST_TEST_CASE("any number of stages, empty ones too, gives the gradients of one", "[pipeline]",
                        compute_types) {
  std::vector<std::int32_t> const x = {1, 2, -3, 4, 5, 6, 7};
  for (int stages = 1; stages <= 5; ++stages)
    for (pipeline::schedule const& order : schedules(stages, 7)) {
      CAPTURE(order.provenance);
      everything const got = run<TestType>(order, {2, 3, 5}, x, 0.5f);  // with 5 stages two hold no block
      REQUIRE(got.losses == floats{30, 60, -90, 120, 150, 180, 210});
      REQUIRE(got.gradients == floats{165, 110, 66});
    }
}

// PP-6: 7, 16 and 1 are the faults.
TEMPLATE_LIST_TEST_CASE("the loss scale of a whole step is applied once", "[pipeline]", compute_types) {
  for (int stages : {1, 2}) {
    floats const ones(static_cast<std::size_t>(stages), 1.0f), fours(static_cast<std::size_t>(stages), 4.0f);
    auto const order = pipeline::one_forward_one_backward(stages, 4);
    REQUIRE(run<TestType>(order, ones, {1, 3, 5, 7}, 0.25f).gradients == fours);
    auto const half = pipeline::one_forward_one_backward(stages, 2);
    floats sum = run<TestType>(half, ones, {1, 3}, 0.25f).gradients;
    floats const second = run<TestType>(half, ones, {5, 7}, 0.25f).gradients;
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += second[i];
    REQUIRE(sum == fours);
  }
}

// PP-4.
TEMPLATE_LIST_TEST_CASE("a forward pass with its own number of microbatches leaves no trace", "[pipeline]",
                        compute_types) {
  auto const training = pipeline::one_forward_one_backward(4, 4);
  auto const evaluation = pipeline::forward_only(pipeline::gpipe(4, 3));
  std::mutex lock;
  floats evaluated, untouched, gradients(4), before(4);
  on_stages<TestType>(4, toy(4), {2, 3, 5, 7}, [&](auto& rank, int stage) {
    auto const first = rank.run(training, {1, 2, 3, 4}, 0.25f);
    auto const forward = rank.run(evaluation, {1, 2, 6}, 1);
    auto const again = rank.run(training, {1, 2, 3, 4}, 0.25f, [](auto& runner, auto& work) {
      runner.run_forward(work);  // the training schedule's own microbatches, forward alone
    });
    std::lock_guard<std::mutex> const guard(lock);
    if (stage == 3) evaluated = forward.losses;
    untouched.push_back(forward.gradients[0]);
    before[static_cast<std::size_t>(stage)] = first.gradients[0];
    gradients[static_cast<std::size_t>(stage)] = again.gradients[0];
  });
  CHECK(evaluated == floats{210, 420, 1260});
  CHECK(untouched == floats(4, 3 * 99.0f));  // every microbatch's gradient still holds its 99
  CHECK(gradients == floats{262.5f, 175, 105, 75});
  CHECK(gradients == before);
}

TEMPLATE_LIST_TEST_CASE("a stage that fails ends the pass of all others with its own error", "[pipeline]",
                        compute_types) {
  // The third microbatch is -1; stage s sees it as -1, -2, -6 or -30.
  for (float const forbidden : {-1.0f, -2.0f, -6.0f, -30.0f})
    for (pipeline::schedule const& order : schedules(4, 6)) {
      CAPTURE(forbidden, order.provenance);
      std::string message;
      try {
        on_stages<TestType>(4, toy(4, forbidden), {2, 3, 5, 7},
                            [&](auto& rank, int) { rank.run(order, {1, 2, -1, 4, 5, 6}, 1); });
      } catch (contract_error const& e) {
        message = e.what();
      }
      REQUIRE(message.find("a forbidden number") != std::string::npos);
    }
}

TEST_CASE("a pass tells when each operation ran", "[pipeline]") {
  auto const order = pipeline::gpipe(2, 3, backward_form::split);
  int wrong = 0;
  on_stages<queued<serial_executor>>(2, toy(2), {2, 3}, [&](auto& rank, int stage) {
    std::vector<pipeline::operation_times> times;
    rank.run(order, {1, 2, 3}, 1, [&](auto& runner, auto& work) {
      runner.run(work);
      rank.compute().synchronize();
      times = runner.times();
    });
    int faults = times.size() == order.on(stage).size() ? 0 : 1;
    std::int64_t last = 1;
    for (pipeline::operation_times const& t : times) {
      faults += t.begin < last || t.ready < t.begin || t.end < t.ready;
      last = t.end;
    }
    __atomic_add_fetch(&wrong, faults, __ATOMIC_RELAXED);
  });
  CHECK(wrong == 0);
  using runner = test::toy_rank<serial_executor>::runner_type;
  CHECK(runner::message_bytes(true, true, 3, 5) == 0);
  CHECK(runner::message_bytes(true, false, 3, 5) == 2 * 15 * 4);
  CHECK(runner::message_bytes(false, false, 3, 5) == 4 * 15 * 4);
}

}  // namespace heddle
