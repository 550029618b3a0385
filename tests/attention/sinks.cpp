// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// @file
/// Sink logits: in the softmax of every row of their head, without a value.

#include "rules.hpp"

using namespace heddle;
using namespace heddle::test;
namespace at = heddle::attention;

namespace {

float const logits[] = {0.5f, -1.25f, 2, 0};

template <class Mask = at::causal>
at::options<Mask> sinking(index_t heads, bool in_lse, at::options<Mask> o = {}) {
  o.sinks = view<float const, 1>(logits, dims<1>(heads));
  o.sinks_in_lse = in_lse;
  return o;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("sink logits against naive attention", "[attention]", executor_cases) {
  TestType setup;
  for (bool in_lse : {true, false}) {
    check_rules<float>(setup.exec, {70, 150, 4, 2, 9, 11}, sinking(4, in_lse));
    check_rules<double>(setup.exec, {3, 150, 4, 1, 8, 8}, sinking(4, in_lse, at::options<>{.query_offset = -1}));
  }
}

TEMPLATE_LIST_TEST_CASE("gradients under sink logits", "[attention]", executor_cases) {
  TestType setup;
  for (bool in_lse : {true, false}) {
    check_rule_gradients(setup.exec, {5, 7, 4, 1, 3, 2}, sinking(4, in_lse));
    check_rule_gradients(setup.exec, {6, 4, 2, 2, 3, 2}, sinking(2, in_lse));  // two rows see no key
    auto both = sinking(2, in_lse, at::options<>{.softcap = 1.5});
    both.drop = {.probability = 0.3, .seed = 7};
    check_rule_gradients(setup.exec, {5, 6, 2, 1, 3, 2}, both);
  }
}

TEMPLATE_LIST_TEST_CASE("rows without keys keep the sink alone", "[attention]", executor_cases) {
  TestType setup;
  auto& exec = setup.exec;
  for (bool in_lse : {true, false}) {
    problem<float> p(shape{5, 2});
    array<float> dlse{2, 3, 5, 0, 0}, dsink(1, 1);
    p.dout = {0, 0, 0, 0, 0};
    auto const o = sinking(1, in_lse);
    p.forward(exec, o);
    at::backward(exec, p.q.rows(), p.k.rows(), p.v.rows(), p.out.rows(), p.lse.numbers(), p.dout.rows(),
                 view<float, 2>(dlse.data.data(), dims<2>(1, 5)), p.dq.rows(), p.dk.rows(), p.dv.rows(),
                 view<float, 1>(dsink.data.data(), dims<1>(1)), o);
    exec.synchronize();
    for (index_t i = 0; i < 3; ++i) {
      REQUIRE(p.out(i) == 0);
      REQUIRE(p.lse(0, i) == (in_lse ? 0.5f : static_cast<float>(-inf)));
      REQUIRE(p.dq(i) == 0);
    }
    REQUIRE(dsink(0) == (in_lse ? 10.0f : 0.0f));
  }
}

TEMPLATE_LIST_TEST_CASE("extreme sink logits", "[attention]", executor_cases) {
  TestType setup;
  problem<float> p(shape{2, 3, 2, 1, 4, 4}), plain(p);
  float const far[] = {static_cast<float>(-inf), 1e30f};
  at::options<> o;
  o.sinks = view<float const, 1>(far, dims<1>(2));
  p.forward(setup.exec, o);
  plain.forward(setup.exec, at::options<>{});
  for (index_t t = 0; t < 2; ++t) {
    for (index_t d = 0; d < 4; ++d) {
      REQUIRE(p.out(t, 0, d) == plain.out(t, 0, d));  // -inf is no sink
      REQUIRE(p.out(t, 1, d) == 0);
    }
    REQUIRE(p.lse(0, t) == plain.lse(0, t));
    REQUIRE(p.lse(1, t) == 1e30f);
  }
}

TEST_CASE("lists of sinks must fit the heads", "[attention]") {
  serial_executor exec;
  problem<float> p(shape{2, 2, 3, 1});
  REQUIRE_THROWS_AS(p.forward(exec, sinking(2, true)), contract_error);
  p.forward(exec, at::options<>{});
  float d[3];
  auto const call = [&](index_t n, at::options<> const& o) {
    at::backward(exec, p.q.rows(), p.k.rows(), p.v.rows(), p.out.rows(), p.lse.numbers(), p.dout.rows(), p.dq.rows(),
                 p.dk.rows(), p.dv.rows(), view<float, 1>(d, dims<1>(n)), o);
  };
  REQUIRE_NOTHROW(call(3, sinking(3, true)));
  REQUIRE_THROWS_AS(call(2, sinking(3, true)), contract_error);
  REQUIRE_THROWS_AS(call(3, at::options<>{}), contract_error);
}
