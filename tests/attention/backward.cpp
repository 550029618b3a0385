// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/attention/backward.hpp>

#include "naive_gradients.hpp"
#include "rules.hpp"

using namespace heddle;
using namespace heddle::test;
namespace at = heddle::attention;

namespace {

template <class T>
bool finite(array<T> const& a) {
  for (T const& x : a.data)
    if (!std::isfinite(static_cast<double>(x))) return false;
  return true;
}

void check_bound(array<float> const& got, bounded const& right) {
  double worst = 0;
  for (std::size_t i = 0; i < right.value.data.size(); ++i) {
    double const error = std::fabs(static_cast<double>(got.data[i]) - right.value.data[i]);
    if (!(error <= right.bound.data[i])) worst = error > worst ? error : inf;
  }
  REQUIRE(worst == 0);
}

template <class Exec, class Mask = at::causal>
void check_float(Exec& exec, shape const& s, at::options<Mask> const& o = {}) {
  INFO("q " << s.tokens_q << " k " << s.tokens_k << " dk " << s.dk << " dv " << s.dv);
  problem<float> p(s, 3);
  p.forward(exec, o);
  p.backward(exec, o);
  naive_gradients const right(p, o.mask, o.query_offset.value_or(s.tokens_k - s.tokens_q),
                              1 / std::sqrt(static_cast<double>(s.dk)), o.softcap.value_or(0));
  check_bound(p.dq, right.dq);
  check_bound(p.dk, right.dk);
  check_bound(p.dv, right.dv);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("gradients equal central differences", "[attention]", executor_cases) {
  TestType setup;
  auto& exec = setup.exec;
  check_rule_gradients(exec, {5, 5, 4, 1, 3, 2}, at::options<>{});
  check_rule_gradients(exec, {4, 7, 2, 1, 3, 4}, at::options<>{.query_offset = 1});
  check_rule_gradients(exec, {6, 4, 2, 2, 2, 3}, at::options<>{});
  check_rule_gradients(exec, {5, 6, 2, 1, 3, 2}, at::options<>{.scale = -0.8, .softcap = 1.25});
  check_rule_gradients(exec, {5, 6, 1, 1, 2, 2}, at::with_mask(at::causal{} & at::window(1, 0)));
  check_rule_gradients(exec, {3, 4, 2, 1, 2, 2}, at::options<at::full>{.scale = 1.5});
}

TEMPLATE_LIST_TEST_CASE("rows without keys have no gradient", "[attention]", tile_cases) {
  TestType setup;
  problem<float> p(shape{5, 2});
  p.q = {1, 2, -1, 0.5, 1};
  p.k = {1, -1};
  p.v = {3, 7};
  p.dout = {std::nan(""), inf, 1, 1, 1};
  p.forward(setup.exec, at::options<>{});
  p.backward(setup.exec, at::options<>{});
  for (index_t i = 0; i < 4; ++i) REQUIRE(p.dq(i) == 0);
  REQUIRE(close(p.dq(4), -0.8399486832280518));
  REQUIRE(close(p.dk(0), -0.419974341614026));
  REQUIRE(close(p.dk(1), 0.419974341614026));
  REQUIRE(close(p.dv(0), 1.8807970779778824));
  REQUIRE(close(p.dv(1), 0.11920292202211755));
}

TEMPLATE_LIST_TEST_CASE("what the log-sum-exp of an empty row sends back is not read", "[attention]", executor_cases) {
  TestType setup;
  problem<float> p(shape{5, 2}), clean(shape{5, 2});
  array<float> dlse{std::nan(""), inf, std::nan(""), 0.5, -2}, zero{0, 0, 0, 0.5, -2};
  for (auto* each : {&p, &clean}) {
    array<float>& d = each == &p ? dlse : zero;
    each->dout = {1, 2, 3, 4, 5};
    each->forward(setup.exec, at::options<>{});
    at::backward(setup.exec, each->q.rows(), each->k.rows(), each->v.rows(), each->out.rows(), each->lse.numbers(),
                 each->dout.rows(), view<float, 2>(d.data.data(), dims<2>(1, 5)), each->dq.rows(), each->dk.rows(),
                 each->dv.rows());
    setup.exec.synchronize();
  }
  for (index_t i = 0; i < 3; ++i) REQUIRE(p.dq(i) == 0);
  REQUIRE((finite(p.dq) && finite(p.dk) && finite(p.dv)));
  REQUIRE(same_bits(p.dq, clean.dq));
  REQUIRE(same_bits(p.dk, clean.dk));
  REQUIRE(same_bits(p.dv, clean.dv));
}

TEMPLATE_LIST_TEST_CASE("the gradient of the cap", "[attention]", tile_cases) {
  TestType setup;
  problem<float> p(shape{1, 3});
  p.q = {3};
  p.k = {2, -1, 4};
  p.v = {1, 10, 100};
  p.dout = {1};
  auto const two = at::where{first_keys<2>{}};
  at::options<decltype(two)> const o{.mask = two, .softcap = 2};
  p.forward(setup.exec, o);
  p.backward(setup.exec, o);
  REQUIRE(close(p.dq(0), -0.03859398459952264));
  REQUIRE(close(p.dk(0), -0.005699044065471));
  REQUIRE(close(p.dk(1), 0.104383865667625));
  REQUIRE(p.dk(2) == 0);
  REQUIRE(close(p.dv(0), 0.978127417098283));
  REQUIRE(close(p.dv(1), 0.021872582901717));
  REQUIRE(p.dv(2) == 0);
}

TEMPLATE_LIST_TEST_CASE("garbage behind the mask has no gradient", "[attention]", executor_cases) {
  TestType setup;
  for (double garbage : {std::nan(""), inf}) {
    problem<float> p(shape{2, 2});
    p.q = {1, 1};
    p.k = {1, garbage};
    p.v = {3, garbage};
    p.dout = {1, 1};
    auto const first_only = at::with_mask(at::where{first_keys<1>{}});
    p.forward(setup.exec, first_only);
    p.backward(setup.exec, first_only);
    REQUIRE(p.dv(0) == 2);
    for (float zero : {p.dv(1), p.dk(0), p.dk(1), p.dq(0), p.dq(1)}) REQUIRE(zero == 0);
  }
}

TEMPLATE_LIST_TEST_CASE("rows whose visible scores are all -inf are empty", "[attention]", executor_cases) {
  TestType setup;
  problem<float> p(shape{40, 40});
  for (index_t t = 0; t < 40; ++t) {
    p.q(t) = 1;
    p.k(t) = t % 2 == 0 ? static_cast<float>(-inf) : 2.0f;
    if (t % 2 == 0) p.dout(t) = std::nanf("");
  }
  auto const self = at::with_mask(at::window(0, 0));
  p.forward(setup.exec, self);
  p.backward(setup.exec, self);
  for (index_t t = 0; t < 40; ++t) {
    REQUIRE(p.out(t) == (t % 2 == 0 ? 0.0f : p.v(t)));
    REQUIRE(p.lse(0, t) == (t % 2 == 0 ? static_cast<float>(-inf) : 2.0f));
    REQUIRE(p.dv(t) == (t % 2 == 0 ? 0.0f : p.dout(t)));
    REQUIRE((p.dq(t) == 0 && p.dk(t) == 0));
  }
  for (float& x : p.k.data) x = static_cast<float>(-inf);
  p.forward(setup.exec, at::options<at::full>{});
  p.backward(setup.exec, at::options<at::full>{});
  for (index_t t = 0; t < 40; ++t) REQUIRE((p.out(t) == 0 && p.dq(t) == 0 && p.dk(t) == 0 && p.dv(t) == 0));
}

TEMPLATE_LIST_TEST_CASE("a poisoned key reaches only rows that see it", "[attention]", executor_cases) {
  TestType setup;
  shape const s{70, 150, 2, 1, 9, 11};
  problem<float> clean(s), dirty(s);
  dirty.v(100, 0, 4) = std::nanf("");
  for (problem<float>* p : {&clean, &dirty}) {
    p->forward(setup.exec, at::options<>{});
    p->backward(setup.exec, at::options<>{});
  }
  bool equal = true, poisoned = true;
  for (index_t t = 0; t < 70; ++t)
    for (index_t h = 0; h < 2; ++h)
      for (index_t d = 0; d < s.dk; ++d) {
        if (t < 20) equal = equal && clean.dq(t, h, d) == dirty.dq(t, h, d);
        if (t >= 20) poisoned = poisoned && std::isnan(dirty.dq(t, h, d));
      }
  REQUIRE(equal);
  REQUIRE(poisoned);
}

TEMPLATE_LIST_TEST_CASE("gradients of sequences by lists, with slack", "[attention]", tile_cases) {
  TestType setup;
  double const nan = std::nan("");
  problem<float> p(shape{4, 9});
  p.q = {0.5, -0.5, 1, nan};
  p.k = {9, 9, 1, 2, 3, 9, 9, 9, nan};
  p.v = {9, 9, 1, 3, 5, 9, 9, 9, nan};
  p.dout = {1, 2, 3, nan};
  std::int32_t const cu_q[] = {0, 0, 2, 3, 3}, cu_k[] = {0, 2, 4, 5, 8};
  at::options<> o;
  o.cu_q = view<std::int32_t const, 1>(cu_q, dims<1>(5));
  o.cu_k = view<std::int32_t const, 1>(cu_k, dims<1>(5));
  p.forward(setup.exec, o);
  p.backward(setup.exec, o);
  double const dq[] = {0, 0.9400148488063775, 0, 0};
  double const dk[] = {0, 0, 0.470007424403189, -0.470007424403189, 0, 0, 0, 0, 0};
  double const dv[] = {0, 0, 2.244918662403709, 0.755081337596291, 3, 0, 0, 0, 0};
  for (index_t i = 0; i < 4; ++i) REQUIRE(close(p.dq(i), dq[i]));
  for (index_t j = 0; j < 9; ++j) {
    REQUIRE(close(p.dk(j), dk[j]));
    REQUIRE(close(p.dv(j), dv[j]));
  }
}

TEMPLATE_LIST_TEST_CASE("one key has no gradient through its score", "[attention]", executor_cases) {
  TestType setup;
  problem<float> p(shape{256, 3, 2, 1, 8, 8});
  std::int32_t const cu_q[] = {0, 76, 110, 256}, cu_k[] = {0, 1, 2, 3};
  at::options<> o;
  o.cu_q = view<std::int32_t const, 1>(cu_q, dims<1>(4));
  o.cu_k = view<std::int32_t const, 1>(cu_k, dims<1>(4));
  p.forward(setup.exec, o);
  p.backward(setup.exec, o);
  double largest = 0;
  for (float x : p.dq.data) largest = std::max(largest, std::fabs(static_cast<double>(x)));
  REQUIRE(finite(p.dq));
  REQUIRE(largest <= 1e-6);
}

TEMPLATE_LIST_TEST_CASE("gradients around the tile edges", "[attention]", executor_cases) {
  TestType setup;
  auto& exec = setup.exec;
  index_t const edges[] = {1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 130};
  for (index_t l : edges) check_float(exec, {l, l, 2, 1, 7, 5});
  for (index_t l : {1, 33, 130}) {
    check_float(exec, {3, l, 1, 1, 4, 9});
    check_float(exec, {l, 2, 1, 1, 4, 9});
  }
  for (index_t d : {1, 7, 16, 33, 64, 65, 80, 96, 127, 128}) check_float(exec, {19, 37, 2, 2, d, d});
  check_float(exec, {9, 20, 8, 1, 192, 128});
  check_float(exec, {150, 140, 2, 1, 6, 6}, at::options<>{.softcap = 2, .query_offset = -5});
  check_float(exec, {150, 140, 2, 1, 6, 6}, at::with_mask(at::causal{} & at::window(40, 0)));
  check_float(exec, {40, 140, 2, 1, 6, 6}, at::options<at::full>{});
}

TEMPLATE_LIST_TEST_CASE("gradients of nothing", "[attention]", executor_cases) {
  TestType setup;
  problem<float> no_keys(shape{3, 0, 2, 1, 4, 3}), no_queries(shape{0, 3, 2, 1, 4, 3});
  for (problem<float>* p : {&no_keys, &no_queries}) {
    p->forward(setup.exec, at::options<>{});
    p->backward(setup.exec, at::options<>{});
    for (auto const* a : {&p->dq, &p->dk, &p->dv})
      for (float x : a->data) REQUIRE(x == 0);
  }
}

TEST_CASE("wrong shapes of gradients are refused", "[attention]") {
  serial_executor exec;
  shape const s{4, 6, 4, 2, 3, 2};
  problem<float> p(s), other(shape{4, 7, 4, 2, 3, 2});
  p.forward(exec, at::options<>{});
  auto const call = [&](auto const& dout, auto const& dq, auto const& dk, auto const& dv) {
    at::backward(exec, p.q.rows(), p.k.rows(), p.v.rows(), p.out.rows(), p.lse.numbers(), dout, dq, dk, dv);
  };
  auto const dout = p.dout.rows(), dq = p.dq.rows(), dk = p.dk.rows(), dv = p.dv.rows();
  REQUIRE_NOTHROW(call(dout, dq, dk, dv));
  REQUIRE_THROWS_AS(call(dq, dq, dk, dv), contract_error);
  REQUIRE_THROWS_AS(call(dout, dout, dk, dv), contract_error);
  REQUIRE_THROWS_AS(call(dout, dq, other.dk.rows(), dv), contract_error);
  REQUIRE_THROWS_AS(call(dout, dq, dk, other.dv.rows()), contract_error);
  array<float> dlse(4, 5);
  REQUIRE_THROWS_AS(at::backward(exec, p.q.rows(), p.k.rows(), p.v.rows(), p.out.rows(), p.lse.numbers(), dout,
                                 dlse.numbers(), dq, dk, dv),
                    contract_error);
}
