// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/attention/bias.hpp>

#include "rules.hpp"

using namespace heddle;
using namespace heddle::test;
namespace at = heddle::attention;

TEST_CASE("slopes follow the published series", "[attention]") {
  double const six[] = {1.0 / 4, 1.0 / 16, 1.0 / 64, 1.0 / 256, 1.0 / 2, 1.0 / 8};
  for (index_t h = 0; h < 6; ++h) REQUIRE(at::alibi(6).slope(h) == six[h]);
  // Twelve: those of eight heads, then every second one of sixteen.
  double const twelve[] = {0x1p-1, 0x1p-2, 0x1p-3, 0x1p-4, 0x1p-5, 0x1p-6, 0x1p-7, 0x1p-8, -0.5, -1.5, -2.5, -3.5};
  for (index_t h = 0; h < 12; ++h)
    REQUIRE(close(at::alibi(12).slope(h), h < 8 ? twelve[h] : std::exp2(twelve[h]), h < 8 ? 0 : 1e-14, 0));
  double const three[] = {0x1p-4, 0x1p-8, 0x1p-2};
  for (index_t h = 0; h < 3; ++h) REQUIRE(at::alibi(3).slope(h) == three[h]);
  REQUIRE(at::alibi(1).slope(0) == 0x1p-8);
  REQUIRE(at::alibi(3).slope(2) == 0.25);
  REQUIRE(close(at::alibi(16).slope(0), std::sqrt(0.5), 1e-15));
  REQUIRE(close(at::alibi(40).slope(39), std::pow(2.0, -4.0 * 15 / 32), 1e-14));
  REQUIRE(at::alibi(8, 5).slope(1) == 0x1p-7);
  REQUIRE_THROWS_AS(at::alibi(0), contract_error);
  REQUIRE_THROWS_AS(at::alibi(4, 4), contract_error);
}

TEST_CASE("biases are known by their members", "[attention]") {
  auto const f = [](index_t, index_t, index_t) { return 0.5; };
  STATIC_REQUIRE((at::bias<at::no_bias> && at::bias<at::alibi> && at::bias<at::slopes> && at::bias<decltype(f)>));
  STATIC_REQUIRE((at::linear_bias<at::slopes> && !at::linear_bias<at::no_bias> && !at::bias<int>));
}

TEMPLATE_LIST_TEST_CASE("a linear bias lowers scores by distance", "[attention]", executor_cases) {
  TestType setup;
  problem<float> p(shape{2, 4, 2, 1});
  for (float& x : p.q.data) x = 0;
  p.k = {0, 0, 0, 0};
  p.v = {1, 2, 4, 8};
  float const steep[] = {0, 100};
  auto const o = at::with_bias(at::slopes(view<float const, 1>(steep, dims<1>(2))), at::full{});
  p.forward(setup.exec, o);
  REQUIRE(p.out(0, 0) == 3.75f);
  REQUIRE(p.out(0, 1) == 4);  // query 0 stands at key 2
  REQUIRE(p.out(1, 1) == 8);
  REQUIRE(p.lse(1, 0) == 0);
}

TEMPLATE_LIST_TEST_CASE("a bias of -inf excludes its key", "[attention]", executor_cases) {
  TestType setup;
  problem<float> p(shape{3, 3, 1, 1});
  p.q = {1, 1, 1};
  p.k = {1, std::nan(""), 2};
  p.v = {3, std::nan(""), 5};
  p.dout = {1, 1, std::nan("")};
  auto const o = at::with_bias(rough{}, at::full{});
  p.forward(setup.exec, o);
  p.backward(setup.exec, o);
  REQUIRE(p.out(0) == 3);  // rough leaves query 0 key 0, query 1 keys 0 and 2, query 2 none
  REQUIRE((p.out(1) > 3 && p.out(1) < 5));
  REQUIRE(p.out(2) == 0);
  REQUIRE(p.lse(0, 2) == static_cast<float>(-inf));
  REQUIRE((p.dq(0) == 0 && p.dq(2) == 0 && p.dk(1) == 0 && p.dv(1) == 0));
  REQUIRE((p.dv(0) > 1 && p.dv(2) < 1));
}

TEMPLATE_LIST_TEST_CASE("biased attention against naive attention", "[attention]", executor_cases) {
  TestType setup;
  auto& exec = setup.exec;
  check_rules<double>(exec, {70, 150, 6, 2, 9, 11}, at::with_bias(at::alibi(6)));
  check_rules<float>(exec, {70, 150, 6, 2, 9, 11}, at::with_bias(at::alibi(6)));
  check_rules<float>(exec, {3, 150, 6, 1, 16, 16}, at::with_bias(at::alibi(6), at::causal{} & at::window(60, 0)));
  check_rules<float>(exec, {40, 140, 2, 1, 8, 8}, at::with_bias(rough{}));
  check_rules<float>(exec, {1, 300, 4, 1, 8, 8}, at::with_bias(rough{}));
  auto capped = at::with_bias(rough{});
  capped.softcap = 0.75;
  check_rules<float>(exec, {40, 140, 2, 1, 8, 8}, capped);
  check_rules<double>(exec, {3, 140, 2, 1, 8, 8}, capped);
}

TEMPLATE_LIST_TEST_CASE("gradients under biases", "[attention]", executor_cases) {
  TestType setup;
  auto& exec = setup.exec;
  check_rule_gradients(exec, {5, 7, 4, 1, 3, 2}, at::with_bias(at::alibi(4)));
  auto o = at::with_bias(rough{});
  o.softcap = 1.5;
  check_rule_gradients(exec, {6, 6, 2, 2, 3, 2}, o);
}

TEST_CASE("slopes must fit the heads", "[attention]") {
  serial_executor exec;
  problem<float> p(shape{2, 2, 3, 1});
  float const two[] = {1, 2};
  REQUIRE_THROWS_AS(p.forward(exec, at::with_bias(at::alibi(2))), contract_error);
  REQUIRE_THROWS_AS(p.forward(exec, at::with_bias(at::slopes(view<float const, 1>(two, dims<1>(2))))), contract_error);
}
