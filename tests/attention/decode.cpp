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

TEST_CASE("decode refuses queries by lists", "[attention]") {
  serial_executor exec;
  problem<float> p(shape{2, 4});
  std::int32_t const cu[] = {0, 1, 2};
  at::integer_list const list = view<std::int32_t const, 1>(cu, dims<1>(3));
  REQUIRE_THROWS_AS(at::decode(exec, p.q.rows(), p.k.rows(), p.v.rows(), p.out.rows(), p.lse.numbers(),
                               at::options<>{.cu_q = list, .cu_k = list}),
                    contract_error);
}
