// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/attention/decode.hpp>

#include "paged.hpp"

#include <heddle/backend/cpu/attention_decode.hpp>

using namespace heddle;
using namespace heddle::test;
namespace at = heddle::attention;

namespace {

template <class T, class Exec, class Mask = at::causal, class Bias = at::no_bias>
problem<T> decoded(Exec&& exec, shape const& s, at::options<Mask, Bias> const& o = {}) {
  problem<T> p(s, 13);
  at::decode(exec, p.q.rows(), p.k.rows(), p.v.rows(), p.out.rows(), p.lse.numbers(), o);
  exec.synchronize();
  return p;
}

// The results of two orders of summing the same numbers.
template <class T>
void require_near(problem<T> const& x, problem<T> const& y) {
  double worst = 0;
  for (std::size_t i = 0; i < x.out.data.size(); ++i)
    worst = std::max(worst, std::fabs(double(x.out.data[i]) - double(y.out.data[i])));
  REQUIRE(worst <= 2 * 1e-6);  // 1e-6 max |v|
  for (std::size_t i = 0; i < x.lse.data.size(); ++i)
    REQUIRE((x.lse.data[i] == y.lse.data[i] || close(double(x.lse.data[i]), double(y.lse.data[i]), 4e-6, 4e-6)));
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("decode has one result", "[attention]", executor_cases) {
  TestType setup;
  auto& exec = setup.exec;
  float const logits[] = {0.5f, -1, 2, 0};
  at::options<> sinks{.query_offset = 3000};
  sinks.sinks = view<float const, 1>(logits, dims<1>(4));
  for (index_t lk : {0, 1, 1023, 1024, 1025, 3000}) {
    INFO("keys " << lk);
    shape const s{2, lk, 4, 2, 16, 9};
    problem<float> whole(s, 13);
    whole.forward(exec, at::options<>{});
    problem<float> const p = decoded<float>(exec, s);
    if (lk <= at::keys_per_split) {
      REQUIRE(same_bits(whole.out, p.out));
      REQUIRE(same_bits(whole.lse, p.lse));
    }
    require_near(whole, p);
    problem<float> const oracle = decoded<float>(reference_executor(), s, sinks), q = decoded<float>(exec, s, sinks);
    REQUIRE(same_bits(oracle.out, q.out));
    REQUIRE(same_bits(oracle.lse, q.lse));
  }
  shape const s{80, 1100, 2, 1, 8, 8};
  problem<bf16> const narrow = decoded<bf16>(exec, {1, 2500, 8, 1, 16, 16}),
                      right = decoded<bf16>(reference_executor(), {1, 2500, 8, 1, 16, 16});
  REQUIRE(same_bits(narrow.out, right.out));
  auto const window = at::with_mask(at::causal{} & at::window(40, 0));
  REQUIRE(same_bits(decoded<float>(exec, s, window).out, decoded<float>(reference_executor(), s, window).out));
}

TEMPLATE_LIST_TEST_CASE("decode of many sequences, by lists and from pages", "[attention]", executor_cases) {
  TestType setup;
  auto& exec = setup.exec;
  std::int32_t const starts[] = {0, 1500, 1500, 1520, 3600};
  at::integer_list const cu_k = view<std::int32_t const, 1>(starts, dims<1>(5));
  shape const s{4, 3600, 4, 2, 16, 8};
  problem<float> const listed = decoded<float>(exec, s, at::options<>{.cu_k = cu_k});
  problem<float> single(s, 13), paged(s, 13);
  for (index_t n = 0; n < 4; ++n)
    at::decode(exec, slice(single.q.rows(), 0, n, n + 1), slice(single.k.rows(), 0, starts[n], starts[n + 1]),
               slice(single.v.rows(), 0, starts[n], starts[n + 1]), slice(single.out.rows(), 0, n, n + 1),
               slice(single.lse.numbers(), 1, n, n + 1));
  paged_rows_case c({1500, 0, 20, 2080}, 48, 2, 16, 8);
  at::append(exec, paged.k.rows(), paged.v.rows(), c.cache(), cu_k);
  at::decode(exec, paged.q.rows(), c.cache(), paged.out.rows(), paged.lse.numbers());
  exec.synchronize();
  for (problem<float> const* p : {&single, &paged}) {
    REQUIRE(same_bits(listed.out, p->out));
    REQUIRE(same_bits(listed.lse, p->lse));
  }
}

TEMPLATE_LIST_TEST_CASE("a sink counts once, whatever the parts", "[attention]", executor_cases) {
  TestType setup;
  float const logits[] = {2, -1.5f};
  for (bool in_lse : {true, false}) {
    at::options<> o;
    o.sinks = view<float const, 1>(logits, dims<1>(2));
    o.sinks_in_lse = in_lse;
    problem<float> const p = decoded<float>(setup.exec, {2, 3000, 2, 1, 8, 5}, o);
    for (index_t i = 0; i < 2; ++i)
      for (index_t h = 0; h < 2; ++h) {
        naive_row const r = naive_rules(p, o, i, h);
        double const d = 4 * (std::sqrt(8.0) + 1) * 0x1p-24 * r.size;
        for (index_t c = 0; c < 5; ++c)
          REQUIRE(std::fabs(double(p.out(i, h, c)) - r.out[std::size_t(c)]) <= (2e-6 + 2 * d) * r.max_v);
        REQUIRE(std::fabs(double(p.lse(h, i)) - r.lse) <= 4e-6 * (1 + std::fabs(r.lse)) + d);
      }
  }
}

TEMPLATE_LIST_TEST_CASE("no sequences and no tokens", "[attention]", executor_cases) {
  TestType setup;
  std::int32_t const zero[] = {0};
  at::integer_list const list = view<std::int32_t const, 1>(zero, dims<1>(1));
  problem<float> none(shape{0, 0, 2, 1, 4, 3}), slack(shape{3, 5, 2, 1, 4, 3});
  none.forward(setup.exec, at::options<>{.sequences = 0});
  none.backward(setup.exec, at::options<>{.sequences = 0});
  none.forward(setup.exec, at::options<>{.cu_q = list, .cu_k = list});
  at::decode(setup.exec, none.q.rows(), none.k.rows(), none.v.rows(), none.out.rows(), none.lse.numbers(),
             at::options<>{.cu_k = list});
  paged_rows_case c({}, 2, 1, 4, 3);
  at::decode(setup.exec, none.q.rows(), c.cache(), none.out.rows(), none.lse.numbers());
  at::forward(setup.exec, none.q.rows(), c.cache(), none.out.rows(), none.lse.numbers());
  // Tokens that no sequence owns.
  slack.forward(setup.exec, at::options<>{.cu_q = list, .cu_k = list});
  slack.backward(setup.exec, at::options<>{.cu_q = list, .cu_k = list});
  for (float const x : slack.out.data) REQUIRE(x == 0);
  for (float const x : slack.lse.data) REQUIRE(x == static_cast<float>(-inf));
  for (auto const* a : {&slack.dq, &slack.dk, &slack.dv})
    for (float const x : a->data) REQUIRE(x == 0);
  REQUIRE_THROWS_AS(at::decode(setup.exec, slack.q.rows(), c.cache(), slack.out.rows(), slack.lse.numbers()),
                    contract_error);
}

TEST_CASE("decode refuses queries by lists", "[attention]") {
  serial_executor exec;
  problem<float> p(shape{2, 4});
  std::int32_t const cu[] = {0, 1, 2};
  at::integer_list const list = view<std::int32_t const, 1>(cu, dims<1>(3));
  REQUIRE_THROWS_AS(at::decode(exec, p.q.rows(), p.k.rows(), p.v.rows(), p.out.rows(), p.lse.numbers(),
                               at::options<>{.cu_q = list, .cu_k = list}),
                    contract_error);
}
