// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/pipeline/generate.hpp>
#include <heddle/pipeline/simulate.hpp>

#include <support/catch.hpp>

namespace pl = heddle::pipeline;
using heddle::index_t;

namespace {
/// The least that costs are: the later a stage, the longer it takes.
struct by_stage {
  int operator()(pl::operation const& op) const { return op.stage + 1; }
};
struct of_a_kind {
  index_t operator()(pl::op_kind) const;
};
struct without_value {
  void operator()(pl::operation const&) const;
};
}  // namespace

TEST_CASE("costs are known by their call", "[pipeline]") {
  STATIC_REQUIRE((pl::operation_cost<pl::costs> && pl::operation_cost<by_stage>));
  STATIC_REQUIRE((!pl::operation_cost<of_a_kind> && !pl::operation_cost<without_value> && !pl::operation_cost<int>));
  // Two stages, one microbatch: F of 1 and 2 ticks, BW of 2 and 1.
  CHECK(pl::simulate(pl::gpipe(2, 1), by_stage{}).makespan == 6);
}
