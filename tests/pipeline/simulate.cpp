// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/pipeline/generate.hpp>
#include <heddle/pipeline/simulate.hpp>
#include <heddle/pipeline/verify.hpp>
#include <support/catch.hpp>

#include <algorithm>

namespace pl = heddle::pipeline;
using heddle::index_t;
using pl::backward_form;

namespace {
std::vector<index_t> idle(pl::simulation const& r) {
  std::vector<index_t> all;
  for (pl::device_time const& d : r.devices) all.push_back(d.idle());
  return all;
}
using ticks = std::vector<index_t>;
}  // namespace

TEST_CASE("worked examples 1 and 2: equal costs, free links", "[pipeline]") {
  pl::schedule reversed = pl::gpipe(4, 8);
  for (int d = 0; d < 4; ++d) std::reverse(reversed.on(d).begin() + 8, reversed.on(d).end());
  for (auto const& s : {pl::gpipe(4, 8), reversed, pl::one_forward_one_backward(4, 8)}) {
    pl::simulation const r = pl::simulate(s, pl::costs({1, 1, 1}));
    CHECK(r.makespan == 33);
    CHECK(idle(r) == ticks{9, 9, 9, 9});
    CHECK(r.bubble_makespan() == 36.0 / 132.0);
    CHECK(r.span == 33);
    CHECK(r.bubble_span() == 9.0 / 33.0);
  }
}

TEST_CASE("worked examples 4 and 4b: a link of half a tick", "[pipeline]") {
  pl::costs const two({2, 2, 2});
  pl::simulation const f = pl::simulate(pl::one_forward_one_backward(4, 8), two, 1);
  CHECK(f.makespan == 2 * 41);
  CHECK(idle(f) == ticks{34, 34, 34, 34});
  pl::simulation const g = pl::simulate(pl::gpipe(4, 8), two, 1);
  CHECK(g.makespan == 2 * 36);
  CHECK(idle(g) == ticks{24, 24, 24, 24});
}

TEST_CASE("worked example 6: uneven layers", "[pipeline]") {
  pl::costs const layers(std::vector<pl::stage_cost>{{7, 7, 7}, {8, 8, 8}, {8, 8, 8}, {7, 7, 7}});
  pl::simulation const r = pl::simulate(pl::one_forward_one_backward(4, 8), layers);
  CHECK(r.makespan == 255);
  CHECK(idle(r) == ticks{87, 63, 63, 87});
}

TEST_CASE("worked example 16: GPipe with all W at the end", "[pipeline]") {
  pl::simulation const r = pl::simulate(pl::gpipe(4, 4, backward_form::deferred), pl::costs({1, 1, 1}));
  CHECK(r.makespan == 18);
  CHECK(idle(r) == ticks{6, 6, 6, 6});
  CHECK(r.bubble_makespan() == 24.0 / 72.0);
  // 1F1B with strictly trailing W is no better.
  CHECK(pl::simulate(pl::one_forward_one_backward(4, 4, backward_form::deferred), pl::costs({1, 1, 1})).makespan == 18);
  for (int p = 1; p <= 8; ++p)
    for (int m = 1; m <= 9; ++m) {
      pl::simulation const all = pl::simulate(pl::gpipe(p, m, backward_form::deferred), pl::costs({1, 1, 1}));
      CHECK(all.makespan == 2 * (p - 1) + 3 * m);
    }
}

TEST_CASE("GPipe takes (M+P-1)(f+b+w) + 2(P-1)c", "[pipeline]") {
  pl::stage_cost const kinds[] = {{1, 1, 1}, {2, 3, 1}, {3, 4, 2}, {1, 2, 3}, {5, 1, 1}};
  for (int p = 1; p <= 8; ++p)
    for (int m = 1; m <= 13; ++m)
      for (auto const& k : kinds)
        for (index_t c : {0, 1, 4}) {
          index_t const each = k.forward + k.backward_input + k.backward_weight;
          CHECK(pl::simulate(pl::gpipe(p, m), pl::costs(k), c).makespan == (m + p - 1) * each + 2 * (p - 1) * c);
        }
}

TEST_CASE("1F1B takes 2c floor((M-1)(P-1)/P) more than GPipe", "[pipeline]") {
  pl::stage_cost const kinds[] = {{16, 16, 16}, {32, 48, 16}, {48, 64, 32}, {16, 32, 16}, {32, 32, 16}};
  for (int p = 1; p <= 7; ++p)
    for (int m = 1; m <= 13; ++m)
      for (auto const& k : kinds)
        for (index_t c : {0, 1, 8, 16, 80}) {
          index_t const each = k.forward + k.backward_input + k.backward_weight;
          index_t const expected = (m + p - 1) * each + 2 * (p - 1) * c + 2 * c * ((m - 1) * (p - 1) / p);
          CHECK(pl::simulate(pl::one_forward_one_backward(p, m), pl::costs(k), c).makespan == expected);
        }
}

TEST_CASE("every device's time adds up, and the critical path fills the makespan", "[pipeline]") {
  for (int p = 1; p <= 5; ++p)
    for (int m = 1; m <= 7; ++m)
      for (auto form : {backward_form::fused, backward_form::split, backward_form::deferred}) {
        pl::schedule const s = pl::one_forward_one_backward(p, m, form);
        pl::simulation const r = pl::simulate(s, pl::costs({2, 3, 1}), 0);
        for (pl::device_time const& d : r.devices) {
          CHECK(d.busy == 6 * m);
          CHECK(d.busy + d.idle() == r.makespan);
          CHECK((d.fill >= 0 && d.stall >= 0 && d.drain >= 0));
        }
        index_t reached = 0;
        for (pl::op_place const& at : r.critical_path) {
          auto const& t = r.ops[static_cast<std::size_t>(at.device)][static_cast<std::size_t>(at.position)];
          CHECK(t.start == reached);
          reached = t.end;
        }
        CHECK(reached == r.makespan);
      }
}

TEST_CASE("the memory curve reaches the peak and returns to nothing", "[pipeline]") {
  for (int m = 1; m <= 9; ++m)
    for (auto form : {backward_form::fused, backward_form::split, backward_form::deferred}) {
      pl::schedule const s = pl::one_forward_one_backward(3, m, form);
      std::vector<pl::stage_bytes> const bytes{{100, 10, 1}};
      auto const curves = pl::memory_curve(s, pl::simulate(s, pl::costs({2, 3, 1}), 1), bytes);
      for (std::size_t d = 0; d < 3; ++d) {
        index_t most = 0, before = -1;
        for (pl::memory_point const& at : curves[d]) {
          CHECK(at.time > before);
          before = at.time;
          most = std::max(most, at.bytes);
        }
        CHECK(most == pl::peak_bytes(s, bytes)[d]);
        CHECK(curves[d].back().bytes == 0);
      }
    }
}

TEST_CASE("what can't run is refused", "[pipeline]") {
  pl::schedule s = pl::gpipe(2, 2);
  std::swap(s.on(0)[0], s.on(0)[3]);
  CHECK_THROWS_AS(pl::simulate(s, pl::costs()), heddle::contract_error);
  CHECK_THROWS_AS(pl::simulate(pl::gpipe(2, 2), pl::costs(), -1), heddle::contract_error);
  CHECK_THROWS_AS(pl::simulate(pl::gpipe(2, 2), [](pl::operation const&) { return -1; }), heddle::contract_error);
  pl::costs const too_few(std::vector<pl::stage_cost>(2));
  CHECK_THROWS_AS(pl::simulate(pl::gpipe(3, 2), too_few), heddle::contract_error);
}
