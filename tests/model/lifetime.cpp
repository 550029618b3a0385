// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/exec/queued.hpp>
#include <heddle/exec/serial_executor.hpp>

#include "support/catch.hpp"
#include "tiny.hpp"

// Layers that declare a life too short: memory stays exact, so only empty views and poison can tell.

using namespace heddle;

namespace {

/// Keeps its statistics until B, though W reads them.
struct short_statistics : nn::layer_norm_layer {
  HEDDLE_FN plan make_plan(nn::planner& p, nn::layer_shape const& s) const {
    return {p.take_statistics(nn::life::saved, s.rows()), p.take_statistics(nn::life::saved, s.rows())};
  }
};

/// Asks for its input until B, though W reads it.
struct short_input : nn::linear {
  HEDDLE_FN nn::life keep_x() const { return nn::life::saved; }
};

/// Asks for its cotangent until the end of B, though W reads it.
struct short_cotangent : nn::linear {
  HEDDLE_FN nn::life keep_dy() const { return nn::life::bwd; }
};

template <class Norm, class Linear>
auto model_of(Norm const& norm, Linear const& linear) {
  auto const block = nn::residual{nn::sequence(nn::name<"norm">(norm), nn::name<"linear">(linear))};
  auto const back = nn::name<"head">(nn::linear{8, 19, false, nn::weight_layout::in_out, 0.1});
  nn::token_source<"tokens", "positions"> const source{19, 8, 0, 0.5};
  using blocks = nn::repeat<std::remove_const_t<decltype(block)>>;
  return nn::staged<std::remove_const_t<decltype(source)>, blocks, std::remove_const_t<decltype(back)>,
                    nn::cross_entropy_sink>{source, blocks{block, 0, 2}, back, {}, "blocks"};
}

template <class Model>
test::seen train(Model const& whole) {
  model::trainer_options o = test::tiny_options(2, 1);
  o.backward = pipeline::backward_form::deferred;  // B and W lie far apart
  o.schedule = model::pipeline_order::gpipe;
  return test::train_tiny<serial_executor>(whole, o, 2);
}

nn::layer_norm_layer const right_norm{8, 1e-5};
nn::linear const right_linear{8, 8, true, nn::weight_layout::in_out, 0.3};

}  // namespace

TEST_CASE("layers with the right lives train", "[model]") {
  test::seen const s = train(model_of(right_norm, right_linear));
  CHECK(s.memory_exact);
  CHECK_FALSE(s.skipped);
}

TEST_CASE("a slot that ends before its last use shows as NaN, while memory stays exact", "[model]") {
  test::seen const s = train(model_of(short_statistics{right_norm}, right_linear));
  CHECK(s.memory_exact);
  CHECK(s.skipped);
}

TEST_CASE("an input or cotangent that was not asked for arrives empty", "[model]") {
  CHECK_THROWS_AS(train(model_of(right_norm, short_input{right_linear})), contract_error);
  CHECK_THROWS_AS(train(model_of(right_norm, short_cotangent{right_linear})), contract_error);
}
