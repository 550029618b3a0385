// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/attention/dropout.hpp>

#include "rules.hpp"

using namespace heddle;
using namespace heddle::test;
namespace at = heddle::attention;

namespace {

template <class Mask = at::causal>
at::options<Mask> dropping(double p, at::options<Mask> o = {}) {
  o.drop.probability = p;
  o.drop.seed = 1234;
  return o;
}

}  // namespace

TEST_CASE("pairs are kept by the global element index", "[attention]") {
  at::dropout d{.probability = 0.5, .seed = 1234};
  auto const rule = at::detail::make_dropout<float>(d, 1, 6, 4, false);
  int const kept[] = {1, 0, 1, 0, 0, 1, 0, 1, 1, 0, 0, 0, 0, 1, 1, 0, 1, 0, 1, 0, 0, 1, 0, 0};
  for (index_t i = 0; i < 6; ++i)
    for (index_t j = 0; j < 4; ++j)
      REQUIRE(rule.factor(rule.row(0, 0, i) + static_cast<std::uint64_t>(j)) == (kept[i * 4 + j] ? 2.0f : 0.0f));
  float some[5];
  rule.factors(3, 5, some, 1);
  for (int n = 0; n < 5; ++n) REQUIRE(some[n] == (kept[3 + n] ? 2.0f : 0.0f));
  d.first_query = 2, d.first_key = 1, d.queries = 6, d.keys = 4;
  auto const part = at::detail::make_dropout<float>(d, 1, 2, 3, false);
  REQUIRE(part.row(0, 0, 1) == 3 * 4 + 1);
  d.probability = 0;
  REQUIRE_FALSE(at::detail::make_dropout<float>(d, 1, 2, 3, false).active());
}

TEST_CASE("dropout refuses what it cannot number", "[attention]") {
  for (double p : {-0.1, 1.0, std::nan("")})
    REQUIRE_THROWS_AS(at::detail::make_dropout<float>({.probability = p}, 1, 2, 2, false), contract_error);
  REQUIRE_THROWS_AS(at::detail::make_dropout<float>({.probability = 0.5}, 1, 2, 2, true), contract_error);
  REQUIRE_THROWS_AS(at::detail::make_dropout<float>({.probability = 0.5, .first_key = 1}, 1, 2, 2, false),
                    contract_error);
}

TEST_CASE("dropout numbers from 0 on and below 2^63", "[attention]") {
  auto const make = [](at::dropout d, bool lists = false) {
    d.probability = 0.5;
    return at::detail::make_dropout<float>(d, 2, 3, 4, lists, 2);
  };
  index_t const far = index_t{1} << 62, wide = index_t{1} << 31;
  REQUIRE_NOTHROW(make({.heads = 2, .queries = wide, .keys = wide / 4}));
  REQUIRE_THROWS_AS(make({.heads = 2, .queries = wide, .keys = wide}), contract_error);
  REQUIRE_THROWS_AS(make({.first_sequence = far}), contract_error);
  REQUIRE_THROWS_AS(make({.first_sequence = far / 12 * 2, .heads = 2, .queries = 3, .keys = 4}), contract_error);
  REQUIRE_THROWS_AS(make({.first_sequence = -1}), contract_error);
  REQUIRE_THROWS_AS(make({.first_head = -1, .heads = 8}), contract_error);
  REQUIRE_THROWS_AS(make({.first_query = -1, .queries = 8}), contract_error);
  REQUIRE_THROWS_AS(make({.first_key = -1, .keys = 8}), contract_error);
  REQUIRE_THROWS_AS(make({.queries = -8}), contract_error);
  for (index_t const first : {far, std::numeric_limits<index_t>::max()}) {  // a sum would wrap
    REQUIRE_THROWS_AS(make({.first_query = first, .queries = 3}), contract_error);
    REQUIRE_THROWS_AS(make({.first_key = first, .queries = 8, .keys = 8}, true), contract_error);
  }
  auto const lists = make(
      {.first_sequence = 3, .first_head = 1, .first_query = 2, .first_key = 5, .heads = 4, .queries = 10, .keys = 20},
      true);
  REQUIRE(lists.most_queries() == 8);
  REQUIRE(lists.most_keys() == 15);
}

TEMPLATE_LIST_TEST_CASE("dropout under lists is that of each sequence", "[attention]", executor_cases) {
  TestType setup;
  auto& exec = setup.exec;
  shape const s{40, 60, 2, 1, 8, 4};
  problem<float> packed(s), single(s);
  std::int32_t const cu_q[] = {0, 7, 7, 30, 40}, cu_k[] = {0, 20, 21, 50, 60};
  at::options<> o = dropping(0.4);
  o.cu_q = view<std::int32_t const, 1>(cu_q, dims<1>(5));
  o.cu_k = view<std::int32_t const, 1>(cu_k, dims<1>(5));
  o.drop.queries = 23, o.drop.keys = 29;
  packed.forward(exec, o);
  packed.backward(exec, o);
  for (index_t n = 0; n < 4; ++n) {
    at::options<> one = dropping(0.4);
    one.drop.first_sequence = n, one.drop.queries = 23, one.drop.keys = 29;
    auto const q_of = [&](array<float>& a) { return slice(a.rows(), 0, cu_q[n], cu_q[n + 1]); };
    auto const k_of = [&](array<float>& a) { return slice(a.rows(), 0, cu_k[n], cu_k[n + 1]); };
    auto const lse = slice(single.lse.numbers(), 1, cu_q[n], cu_q[n + 1]);
    at::forward(exec, q_of(single.q), k_of(single.k), k_of(single.v), q_of(single.out), lse, one);
    at::backward(exec, q_of(single.q), k_of(single.k), k_of(single.v), q_of(single.out), lse, q_of(single.dout),
                 q_of(single.dq), k_of(single.dk), k_of(single.dv), one);
  }
  exec.synchronize();
  REQUIRE(same_bits(packed.out, single.out));
  REQUIRE(same_bits(packed.lse, single.lse));
  REQUIRE(same_bits(packed.dq, single.dq));
  REQUIRE(same_bits(packed.dk, single.dk));
  REQUIRE(same_bits(packed.dv, single.dv));
}

TEST_CASE("a sequence longer than what dropout numbers is refused", "[attention]") {
  // Its pairs would share elements with those of the next one.
  serial_executor exec;
  problem<float> p(shape{8, 12, 2, 1, 4, 4});
  std::int32_t const cu_q[] = {0, 5, 8}, cu_k[] = {0, 4, 12};
  at::options<> o = dropping(0.4);
  o.cu_q = view<std::int32_t const, 1>(cu_q, dims<1>(3));
  o.cu_k = view<std::int32_t const, 1>(cu_k, dims<1>(3));
  o.drop.queries = 5, o.drop.keys = 8;
  REQUIRE_NOTHROW(p.forward(exec, o));
  REQUIRE_NOTHROW(p.backward(exec, o));
  for (bool const keys : {false, true}) {
    at::options<> shorter = o;
    (keys ? shorter.drop.keys : shorter.drop.queries) -= 1;
    REQUIRE_THROWS_AS(p.forward(exec, shorter), contract_error);
    REQUIRE_THROWS_AS(p.backward(exec, shorter), contract_error);
  }
}

TEMPLATE_LIST_TEST_CASE("dropout against naive attention", "[attention]", executor_cases) {
  TestType setup;
  check_rules<float>(setup.exec, {70, 150, 4, 2, 9, 11}, dropping(0.3));
  check_rules<float>(setup.exec, {2, 150, 2, 1, 9, 11}, dropping(0.9));
  check_rules<double>(setup.exec, {33, 65, 2, 1, 4, 5}, dropping<at::full>(0.1));
}

TEMPLATE_LIST_TEST_CASE("gradients under dropout", "[attention]", executor_cases) {
  TestType setup;
  check_rule_gradients(setup.exec, {5, 7, 4, 1, 3, 2}, dropping(0.4));
}

TEMPLATE_LIST_TEST_CASE("dropout doesn't see how heads, queries and sequences are cut", "[attention]", executor_cases) {
  TestType setup;
  auto& exec = setup.exec;
  shape const s{64, 80, 4, 2, 8, 8};
  problem<float> whole(s), cut(s);
  whole.forward(exec, dropping(0.4, at::options<>{.sequences = 2}));
  for (index_t n = 0; n < 2; ++n)
    for (index_t h = 0; h < 2; ++h)
      for (index_t half = 0; half < 2; ++half) {
        at::options<> o = dropping(0.4, at::options<>{.query_offset = 8 + 16 * half});
        o.drop.first_sequence = n, o.drop.first_head = 2 * h, o.drop.first_query = 16 * half;
        o.drop.heads = 4, o.drop.queries = 32, o.drop.keys = 40;
        index_t const q = n * 32 + half * 16;
        at::forward(exec, slice(slice(cut.q.rows(), 0, q, q + 16), 1, 2 * h, 2 * h + 2),
                    slice(slice(cut.k.rows(), 0, n * 40, n * 40 + 40), 1, h, h + 1),
                    slice(slice(cut.v.rows(), 0, n * 40, n * 40 + 40), 1, h, h + 1),
                    slice(slice(cut.out.rows(), 0, q, q + 16), 1, 2 * h, 2 * h + 2),
                    slice(slice(cut.lse.numbers(), 0, 2 * h, 2 * h + 2), 1, q, q + 16), o);
      }
  exec.synchronize();
  REQUIRE(same_bits(whole.out, cut.out));
  REQUIRE(same_bits(whole.lse, cut.lse));
}
