// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/exec/queued.hpp>
#include <heddle/exec/serial_executor.hpp>

#include "support/catch.hpp"
#include "tiny.hpp"

#include <algorithm>
#include <cmath>

using namespace heddle;
using test::train_tiny;

namespace {

using compute = queued<serial_executor>;

auto tiny_model(bool recompute = false) {
  model::decoder_sizes s = test::tiny_sizes();
  s.recompute = recompute;
  return model::gpt2(s);
}

constexpr std::int32_t ignored = -100;

/// Of each three rows two count, or the third where `others`; in microbatch 2 none does.
void masked_data(index_t step, index_t microbatch, std::int32_t* tokens, std::int32_t* targets, bool others = false) {
  test::tiny_data(step, microbatch, tokens, targets);
  for (index_t t = 0; t < 2 * test::tiny_tokens; ++t)
    if (microbatch == 2 ? !others : (t % 3 == 0) != others) targets[t] = ignored;
}

struct mesh_case {
  int pp, dp;
  bool gpipe, zero, recompute;
};

}  // namespace

TEST_CASE("elastic bits do not depend on mesh, schedule, ZeRO or recomputation", "[model]") {
  test::seen const one = train_tiny<compute>(tiny_model(), test::tiny_options(1, 1), 4);
  REQUIRE(one.losses.size() == 4);
  CHECK(one.losses.back() < one.losses.front());
  mesh_case const cases[] = {{2, 2, false, true, false}, {2, 2, true, false, true}, {3, 1, false, false, true},
                             {1, 3, false, true, true},  {4, 1, true, true, false}, {2, 3, true, true, true}};
  for (mesh_case const& c : cases) {
    CAPTURE(c.pp, c.dp, c.gpipe, c.zero, c.recompute);
    model::trainer_options o = test::tiny_options(c.pp, c.dp);
    if (c.gpipe) o.schedule = model::pipeline_order::gpipe;
    o.shard_optimizer = c.zero;
    test::seen const other = train_tiny<compute>(tiny_model(c.recompute), o, 4);
    CHECK(other.losses == one.losses);
    CHECK(other.memory_exact);
    CHECK(other.late_allocations == 0);
    CHECK_FALSE(other.skipped);
  }
}

TEST_CASE("repeatable bits do not depend on schedule, deferred weights, ZeRO or recomputation", "[model]") {
  model::trainer_options o = test::tiny_options(2, 2);
  o.policy.order = order_policy::repeatable;
  test::seen const first = train_tiny<compute>(tiny_model(), o, 3);
  for (int k = 1; k < 4; ++k) {
    CAPTURE(k);
    o.schedule = k & 1 ? model::pipeline_order::gpipe : model::pipeline_order::one_forward_one_backward;
    o.backward = k & 2 ? pipeline::backward_form::deferred : pipeline::backward_form::split;
    o.shard_optimizer = k == 2;
    test::seen const other = train_tiny<compute>(tiny_model(k == 3), o, 3);
    CHECK(other.losses == first.losses);
    CHECK(other.memory_exact);
  }
}

TEST_CASE("fewer microbatches than stages run", "[model]") {
  model::trainer_options o = test::tiny_options(3, 1);
  o.microbatches = 1;
  o.policy.order = order_policy::repeatable;
  test::seen const piped = train_tiny<compute>(tiny_model(), o, 2);
  o.mesh.pp = 1;
  test::seen const one = train_tiny<compute>(tiny_model(), o, 2);
  CHECK(piped.losses == one.losses);
}

TEST_CASE("the loss is the mean over the targets that count, on any mesh", "[model]") {
  auto const some = [](index_t s, index_t m, std::int32_t* x, std::int32_t* y) { masked_data(s, m, x, y); };
  auto const others = [](index_t s, index_t m, std::int32_t* x, std::int32_t* y) { masked_data(s, m, x, y, true); };
  auto const nothing = [](auto&, index_t) {};
  auto const run = [&](int pp, int dp, auto const& data) {
    return train_tiny<compute>(tiny_model(), test::tiny_options(pp, dp), 3, data, nothing);
  };
  test::seen const one = run(1, 1, some);
  int const meshes[][2] = {{1, 3}, {2, 2}, {3, 1}};
  for (auto const& mesh : meshes) {
    CAPTURE(mesh[0], mesh[1]);
    test::seen const other = run(mesh[0], mesh[1], some);
    CHECK(other.losses == one.losses);
    CHECK(other.memory_exact);
    CHECK(other.late_allocations == 0);
  }
  // Before anything is learnt the sums over both parts add up to the sum over all: 5 microbatches with 9 rows of 14
  // that count, and 5 with the other 5 beside one with all 14. Bound: each mean is of 84 terms at most, rounded once
  // per addition.
  double const all = run(1, 1, test::tiny_data).losses[0], rest = run(1, 1, others).losses[0];
  double const first = one.losses[0];
  CHECK(std::abs(45 * first + 39 * rest - 84 * all) <= 3 * 84 * all * 84 * 0x1p-24);
  CHECK(first != rest);
}

TEST_CASE("microbatches in which no target counts change neither loss nor gradient", "[model]") {
  auto const first_half = [](index_t s, index_t m, std::int32_t* x, std::int32_t* y) {
    test::tiny_data(s, m, x, y);
    if (m >= 3) std::fill(y, y + 2 * test::tiny_tokens, ignored);
  };
  std::vector<double> told[2];
  for (int run = 0; run < 2; ++run) {
    model::trainer_options o = test::tiny_options(1, 1);
    o.microbatches = run == 0 ? 3 : 6;
    run_ranks(1, [&](thread_communicator& comm) {
      model::memory_spaces spaces;
      compute exec;
      model::trainer<decltype(tiny_model()), float, compute, thread_communicator> trainer(exec, comm, spaces,
                                                                                          tiny_model(), o);
      trainer.initialize();
      for (index_t s = 0; s < 3; ++s) {
        model::step_result const r = trainer.step(s, 1e-2, first_half);
        told[run].insert(told[run].end(), {static_cast<double>(r.loss), r.norm});
      }
    });
  }
  CHECK(told[0] == told[1]);  // sums of zeros are exact
  CHECK(told[0][1] > 0);
}

TEST_CASE("where no target counts the loss is 0 and so are the gradients", "[model]") {
  auto const none = [](index_t s, index_t m, std::int32_t* x, std::int32_t* y) {
    test::tiny_data(s, m, x, y);
    std::fill(y, y + 2 * test::tiny_tokens, ignored);
  };
  int const meshes[][2] = {{1, 1}, {2, 2}};
  for (auto const& mesh : meshes) {
    model::trainer_options o = test::tiny_options(mesh[0], mesh[1]);
    o.weight_decay = 0;
    run_ranks(o.mesh.ranks(), [&](thread_communicator& comm) {
      model::memory_spaces spaces;
      compute exec;
      model::trainer<decltype(tiny_model()), float, compute, thread_communicator> trainer(exec, comm, spaces,
                                                                                          tiny_model(), o);
      trainer.initialize();
      std::vector<float> const before(trainer.parameters(), trainer.parameters() + trainer.state().list.stored_size());
      model::step_result const r = trainer.step(0, 1e-2, none);
      bool const same = std::equal(before.begin(), before.end(), trainer.parameters());
      bool const silent = r.loss == 0 && r.norm == 0 && !r.skipped && trainer.evaluate(none) == 0;
      if (!same || !silent) throw error(errc::mismatch, "ignored targets changed something", comm.rank());
    });
  }
  SUCCEED();
}

TEST_CASE("a stray tensor breaks the memory prediction", "[model]") {
  test::seen const s = train_tiny<compute>(tiny_model(), test::tiny_options(2, 2), 1, test::tiny_data,
                                           [&](auto& trainer, index_t) {
                                             model::memory_plan const before = trainer.measured();
                                             CHECK(before == trainer.predicted());
                                             tensor<float, 1> stray(trainer.compute(), trainer.spaces().activations,
                                                                    dims<1>(1));
                                             CHECK_FALSE(trainer.measured() == trainer.predicted());
                                           });
  CHECK_FALSE(s.memory_exact);
}

TEST_CASE("evaluation changes nothing that training sees", "[model]") {
  test::seen const plain = train_tiny<compute>(tiny_model(), test::tiny_options(2, 1), 3);
  test::seen const watched =
      train_tiny<compute>(tiny_model(), test::tiny_options(2, 1), 3, test::tiny_data,
                          [](auto& trainer, index_t) { CHECK(trainer.evaluate(test::tiny_data) > 0); });
  CHECK(plain.losses == watched.losses);
  CHECK(watched.memory_exact);
}

TEST_CASE("a rank that fails inside its queue ends the run with its own error", "[model]") {
  // Token 99 is no token: the first stage of replica 1 fails while it works, its peers must hear of it.
  auto const broken = [](index_t step, index_t microbatch, std::int32_t* tokens, std::int32_t* targets) {
    test::tiny_data(step, microbatch, tokens, targets);
    if (step == 1 && microbatch == 4) tokens[3] = 99;
  };
  CHECK_THROWS_WITH(train_tiny<compute>(tiny_model(), test::tiny_options(2, 2), 3, broken, [](auto&, index_t) {}),
                    test::has_text("a token must be in the vocabulary"));
}

TEST_CASE("a rank that throws while its queue still runs frees nothing too early", "[model]") {
  auto const interrupted = [](auto& trainer, index_t step) {
    if (step == 1 && trainer.world().rank() == 1) {
      float* const data = trainer.parameters();
      trainer.compute().for_each_tile(1, [data](index_t, int) {
        for (int i = 0; i < 200; ++i) {
          sched_yield();
          data[0] = data[0] + 1;  // a use after the end is what the sanitizers look for
        }
      });
      throw error(errc::interrupted, "stop here", 1);
    }
  };
  CHECK_THROWS_WITH(train_tiny<compute>(tiny_model(), test::tiny_options(2, 2), 3, test::tiny_data, interrupted),
                    test::has_text("stop here"));
}

TEST_CASE("options that no run can have are refused", "[model]") {
  model::trainer_options o = test::tiny_options(1, 3);
  o.microbatches = 2;
  CHECK_THROWS_AS(train_tiny<compute>(tiny_model(), o, 1), contract_error);
  o = test::tiny_options(1, 1);
  o.policy.storage = storage_policy::bf16;
  CHECK_THROWS_WITH(train_tiny<compute>(tiny_model(), o, 1), test::has_text("policy.storage must name the type"));
  o = test::tiny_options(1, 1);
  o.mesh.tp = 2;
  CHECK_THROWS_AS(model::check(o), contract_error);
  model::decoder_sizes s = test::tiny_sizes();
  s.heads = 3;
  CHECK_THROWS_AS(model::gpt2(s), contract_error);
}
