// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/exec/queued.hpp>
#include <heddle/exec/serial_executor.hpp>

#include "support/catch.hpp"
#include "tiny.hpp"

using namespace heddle;
using test::train_tiny;

namespace {

using compute = queued<serial_executor>;

auto tiny_model(bool recompute = false) {
  model::decoder_sizes s = test::tiny_sizes();
  s.recompute = recompute;
  return model::gpt2(s);
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
    if (c.gpipe) o.order = model::pipeline_order::gpipe;
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
    o.order = k & 1 ? model::pipeline_order::gpipe : model::pipeline_order::one_forward_one_backward;
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
  o.mesh.tp = 2;
  CHECK_THROWS_AS(model::check(o), contract_error);
  model::decoder_sizes s = test::tiny_sizes();
  s.heads = 3;
  CHECK_THROWS_AS(model::gpt2(s), contract_error);
}
