// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/pipeline/run/runner.hpp>

#include <support/catch.hpp>

using namespace heddle;

namespace {
struct least {
  int weights();
  nn::token_batch batch(int);
  nn::loss_views loss(int);
  view<float const, 1> scale();
  int begin_call(int);
  int gradients(int);
};
struct without_scale {
  int weights();
  nn::token_batch batch(int);
  nn::loss_views loss(int);
  int begin_call(int);
  int gradients(int);
};
struct batch_by_reference : least {
  nn::token_batch const& batch(int);
};
}  // namespace

TEST_CASE("the work of a stage is known by its members", "[pipeline]") {
  STATIC_REQUIRE(pipeline::stage_work<least>);
  STATIC_REQUIRE((!pipeline::stage_work<without_scale> && !pipeline::stage_work<batch_by_reference>));
}
