// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/pipeline/generate.hpp>
#include <heddle/pipeline/slots.hpp>
#include <support/catch.hpp>

#include <algorithm>

namespace pl = heddle::pipeline;
using pl::backward_form;
using pl::span;

namespace {
// Marks the life of each microbatch on each stage by brute force, and checks that no two that overlap share a slot.
void check_disjoint(pl::schedule const& s, pl::slot_table const& t, span which) {
  for (int v = 0; v < s.stages; ++v) {
    std::vector<int> holder(static_cast<std::size_t>(t.count(v, which)), -1);
    int live = 0, most = 0;
    for (pl::operation const& op : s.on(s.device_of(v))) {
      if (op.stage != v) continue;
      bool const b = op.kind == pl::op_kind::backward_input, w = op.kind == pl::op_kind::backward_weight;
      bool const bw = op.kind == pl::op_kind::backward;
      bool const opens = which == span::deferred ? b || bw : op.kind == pl::op_kind::forward;
      bool const closes = which == span::saved ? b || bw : w || bw;
      int const slot = t.slot(v, which, op.microbatch);
      REQUIRE(slot >= 0);
      REQUIRE(slot < t.count(v, which));
      int& in = holder[static_cast<std::size_t>(slot)];
      if (opens) {
        CHECK(in == -1);
        in = op.microbatch;
        most = std::max(most, ++live);
      }
      if (closes) {
        CHECK(in == op.microbatch);
        in = -1;
        --live;
      }
    }
    CHECK(most == t.count(v, which));
  }
}
}  // namespace

TEST_CASE("slots of live spans never overlap and are as few as the spans allow", "[pipeline]") {
  for (int p = 1; p <= 5; ++p)
    for (int m = 1; m <= 9; ++m)
      for (auto form : {backward_form::fused, backward_form::split, backward_form::deferred})
        for (auto const& s : {pl::gpipe(p, m, form), pl::one_forward_one_backward(p, m, form)}) {
          INFO(s.provenance);
          pl::slot_table const t = pl::slots(s);
          for (span which : {span::saved, span::kept, span::deferred}) check_disjoint(s, t, which);
        }
}

TEST_CASE("slot counts follow the closed formulas", "[pipeline]") {
  for (int p = 1; p <= 6; ++p)
    for (int m = 1; m <= 12; ++m)
      for (int v = 0; v < p; ++v) {
        pl::slot_table const g = pl::slots(pl::gpipe(p, m, backward_form::split));
        pl::slot_table const f = pl::slots(pl::one_forward_one_backward(p, m, backward_form::split));
        pl::slot_table const d = pl::slots(pl::one_forward_one_backward(p, m, backward_form::deferred));
        CHECK(g.count(v, span::kept) == m);
        CHECK(g.count(v, span::deferred) == 1);
        CHECK(f.count(v, span::saved) == std::min(m, p - v));
        CHECK(f.count(v, span::kept) == std::min(m, p - v));
        CHECK(f.count(v, span::deferred) == 1);
        CHECK(d.count(v, span::saved) == std::min(m, p - v));
        CHECK(d.count(v, span::kept) == m);
        CHECK(d.count(v, span::deferred) == m);
        CHECK(f.bytes(v, {100, 10, 1}) == 110 * std::min(m, p - v) + 1);
      }
}

TEST_CASE("evaluation holds one microbatch at a time", "[pipeline]") {
  pl::slot_table const t = pl::slots(pl::forward_only(pl::gpipe(3, 5)));
  for (int v = 0; v < 3; ++v) {
    CHECK(t.count(v, span::saved) == 1);
    CHECK(t.count(v, span::kept) == 1);
    CHECK(t.count(v, span::deferred) == 0);
    CHECK(t.slot(v, span::deferred, 4) == -1);
  }
}

TEST_CASE("slots of an impossible order are refused", "[pipeline]") {
  pl::schedule s(1, 1, 1);
  s.on(0) = {{pl::op_kind::backward_weight, 0, 0}, {pl::op_kind::forward, 0, 0}};
  CHECK_THROWS_AS(pl::slots(s), heddle::contract_error);
  s.on(0) = {{pl::op_kind::forward, 0, 1}};
  CHECK_THROWS_AS(pl::slots(s), heddle::contract_error);
  s.on(0) = {{pl::op_kind::forward, 1, 0}};
  CHECK_THROWS_AS(pl::slots(s), heddle::contract_error);
}
