// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/attention/forward.hpp>

#include "problems.hpp"

#include <heddle/core/bf16.hpp>
#include <heddle/core/fp16.hpp>

using namespace heddle;
using namespace heddle::test;
namespace at = heddle::attention;

namespace {

constexpr double unit = 0x1p-24;

// Compares one sequence with naive attention in double, inside the bound of a float computation.
template <class T, class Mask>
void check_rows(problem<T> const& p, at::options<Mask> const& o, index_t q_begin, index_t q_length, index_t k_begin,
                index_t k_length) {
  double const scale = o.scale.value_or(1 / std::sqrt(static_cast<double>(p.q.c)));
  index_t const offset = o.query_offset.value_or(k_length - q_length);
  double worst = 0, worst_lse = 0;
  for (index_t i = 0; i < q_length; ++i)
    for (index_t h = 0; h < p.q.b; ++h) {
      naive_row const r = naive(p, q_begin + i, h, i + offset, k_begin, k_length, o.mask, scale, o.softcap.value_or(0));
      double const d = 4 * (std::sqrt(double(p.q.c)) + 1) * unit * r.size;
      // Of the result, and of the weights where they are multiplied in pairs.
      double const rounding =
          sizeof(T) == 2 ? (at::detail::has_pair_form<T> && !o.strict ? 0x1p-8 : 0x1p-9) * r.max_v : 0;
      double const bound = (2e-6 + 2 * d) * r.max_v + rounding;
      for (index_t c = 0; c < p.v.c; ++c) {
        double const got = static_cast<double>(p.out(q_begin + i, h, c));
        double const error = std::fabs(got - r.out[static_cast<std::size_t>(c)]);
        if (!(error <= bound)) worst = std::max(worst, bound > 0 ? error / bound : inf);
        if (!(error == error)) worst = inf;
      }
      double const lse = static_cast<double>(p.lse(h, q_begin + i));
      if (r.lse == -inf || lse == -inf) {
        if (lse != r.lse) worst_lse = inf;
      } else if (!(std::fabs(lse - r.lse) <= 4e-6 * (1 + std::fabs(r.lse)) + d)) {
        worst_lse = std::fabs(lse - r.lse);
      }
    }
  REQUIRE(worst == 0);
  REQUIRE(worst_lse == 0);
}

template <class T, class Exec, class Mask = at::causal>
void check_shape(Exec& exec, shape const& s, at::options<Mask> const& o = {}) {
  INFO("q " << s.tokens_q << " k " << s.tokens_k << " heads " << s.heads_q << '/' << s.heads_kv << " dk " << s.dk
            << " dv " << s.dv);
  problem<T> p(s, static_cast<std::uint64_t>(s.tokens_q * 1000 + s.tokens_k));
  p.forward(exec, o);
  check_rows(p, o, 0, s.tokens_q, 0, s.tokens_k);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("the offset aligns queries and keys", "[attention]", tile_cases) {
  TestType setup;
  problem<float> p(shape{2, 5});
  p.q = {0, 0};
  p.k = {0, 0, 0, 0, 0};
  p.v = {1, 2, 4, 8, 16};
  p.forward(setup.exec, at::options<>{});
  REQUIRE(close(p.out(0), 3.75));
  REQUIRE(close(p.out(1), 6.2));
  REQUIRE(close(p.lse(0, 0), std::log(4.0)));
  REQUIRE(close(p.lse(0, 1), std::log(5.0)));
  p.forward(setup.exec, at::options<>{.query_offset = 0});
  REQUIRE(p.out(0) == 1);
  REQUIRE(p.out(1) == 1.5f);
  p.forward(setup.exec, at::with_mask(at::causal{} & at::window(1, 0)));
  REQUIRE(p.out(0) == 6);
  REQUIRE(p.out(1) == 12);
  problem<float> decode(shape{1, 5});
  decode.q = {0};
  decode.k = p.k;
  decode.v = p.v;
  decode.forward(setup.exec, at::options<>{});
  REQUIRE(close(decode.out(0), 6.2));
}

TEMPLATE_LIST_TEST_CASE("garbage behind the mask is not multiplied", "[attention]", executor_cases) {
  TestType setup;
  for (double garbage : {std::nan(""), inf}) {
    problem<float> p(shape{2, 2});
    p.q = {1, 1};
    p.k = {1, garbage};
    p.v = {3, garbage};
    p.forward(setup.exec, at::options<>{});
    REQUIRE(p.out(0) == 3);
    REQUIRE(std::isnan(p.out(1)));
    auto const first_only = at::where{first_keys<1>{}};
    p.forward(setup.exec, at::with_mask(first_only));
    REQUIRE(p.out(0) == 3);
    REQUIRE(p.out(1) == 3);
    REQUIRE(p.lse(0, 1) == 1);
  }
}

TEMPLATE_LIST_TEST_CASE("garbage in one row stays in that row", "[attention]", executor_cases) {
  TestType setup;
  shape const s{70, 150, 2, 1, 9, 11};
  problem<float> clean(s), dirty(s);
  index_t const key = 100;  // rows from 20 on see it
  for (index_t d = 0; d < s.dv; ++d) dirty.v(key, 0, d) = std::nanf("");
  dirty.k(key, 0, 3) = static_cast<float>(inf);
  clean.forward(setup.exec, at::options<>{});
  dirty.forward(setup.exec, at::options<>{});
  bool equal = true, poisoned = true;
  for (index_t t = 0; t < 70; ++t)
    for (index_t h = 0; h < 2; ++h)
      for (index_t d = 0; d < s.dv; ++d) {
        if (t < 20) equal = equal && clean.out(t, h, d) == dirty.out(t, h, d);
        if (t >= 20) poisoned = poisoned && std::isnan(dirty.out(t, h, d));
      }
  REQUIRE(equal);
  REQUIRE(poisoned);
}

TEMPLATE_LIST_TEST_CASE("garbage in one decoding row stays in that row", "[attention]", executor_cases) {
  TestType setup;
  shape const s{4, 150, 1, 1, 9, 70};
  problem<float> clean(s), dirty(s);
  for (index_t d = 0; d < s.dv; ++d) dirty.v(149, 0, d) = std::nanf("");
  dirty.k(149, 0, 0) = static_cast<float>(-inf);
  clean.forward(setup.exec, at::options<>{});
  dirty.forward(setup.exec, at::options<>{});
  for (index_t d = 0; d < s.dv; ++d) {
    for (index_t t = 0; t < 3; ++t) REQUIRE(clean.out(t, 0, d) == dirty.out(t, 0, d));
    REQUIRE(std::isnan(dirty.out(3, 0, d)));
  }
}

TEMPLATE_LIST_TEST_CASE("rows without keys are zero and -inf", "[attention]", tile_cases) {
  TestType setup;
  problem<float> p(shape{5, 2});
  p.q = {1, 2, -1, 0.5, 1};
  p.k = {1, -1};
  p.v = {3, 7};
  p.forward(setup.exec, at::options<>{});
  for (index_t i = 0; i < 3; ++i) {
    REQUIRE(p.out(i) == 0);
    REQUIRE(p.lse(0, i) == static_cast<float>(-inf));
  }
  REQUIRE(p.out(3) == 3);
  REQUIRE(close(p.out(4), 3.47681168808847));
  REQUIRE(p.lse(0, 3) == 0.5f);
  REQUIRE(close(p.lse(0, 4), 1.1269280110429727));
  problem<float> none(shape{3, 0, 2, 1, 4, 3});
  none.forward(setup.exec, at::options<>{});
  REQUIRE(none.out(2, 1, 2) == 0);
  REQUIRE(none.lse(1, 2) == static_cast<float>(-inf));
}

TEMPLATE_LIST_TEST_CASE("large scores", "[attention]", executor_cases) {
  TestType setup;
  problem<float> p(shape{1, 3});
  p.q = {1};
  p.v = {1, 2, 6};
  for (double x : {-6e4, 8e4}) {
    p.k = {x, x, x};
    p.forward(setup.exec, at::options<>{});
    REQUIRE(close(p.out(0), 3));
    REQUIRE(close(p.lse(0, 0), x + std::log(3.0)));
  }
  p.k = {8e4, -8e4, 8e4};
  p.forward(setup.exec, at::options<>{});
  REQUIRE(close(p.out(0), 3.5));
  p.k = {8e4, 1e30, -8e4};
  p.forward(setup.exec, at::options<>{});
  REQUIRE(p.out(0) == 2);
  p.forward(setup.exec, at::options<>{.scale = -1});
  REQUIRE(p.out(0) == 6);
}

TEMPLATE_LIST_TEST_CASE("the cap comes before the mask", "[attention]", tile_cases) {
  TestType setup;
  problem<float> p(shape{1, 3});
  p.q = {3};
  p.k = {2, -1, 4};
  p.v = {1, 10, 100};
  auto const two = at::where{first_keys<2>{}};
  p.forward(setup.exec, at::options<decltype(two)>{.mask = two, .softcap = 2});
  REQUIRE(close(p.out(0), 1.1968532461154566));
  REQUIRE(close(p.lse(0, 0), 2.0122248414753394));
}

TEMPLATE_LIST_TEST_CASE("a scale of 0 is the mean of what is seen", "[attention]", executor_cases) {
  TestType setup;
  problem<float> p(shape{2, 4});
  p.q = {1, -3};
  p.k = {7, 100, -2, 5};
  p.v = {1, 2, 6, 15};
  p.dout = {1, 2};
  p.forward(setup.exec, at::options<>{.scale = 0});
  p.backward(setup.exec, at::options<>{.scale = 0});
  REQUIRE(close(p.out(0), 3));
  REQUIRE(close(p.out(1), 6));
  REQUIRE(close(p.lse(0, 0), std::log(3.0)));
  REQUIRE(close(p.lse(0, 1), std::log(4.0)));
  for (index_t i = 0; i < 2; ++i) REQUIRE(p.dq(i) == 0);
  for (index_t j = 0; j < 4; ++j) {
    REQUIRE(p.dk(j) == 0);
    REQUIRE(close(p.dv(j), j < 3 ? 1.0 / 3 + 0.5 : 0.5));
  }
}

TEMPLATE_LIST_TEST_CASE("sizes around the tile edges", "[attention]", executor_cases) {
  TestType setup;
  index_t const edges[] = {1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 130};
  for (index_t lq : edges)
    for (index_t lk : {lq, index_t{1}, index_t{33}, index_t{128}, index_t{130}})
      check_shape<float>(setup.exec, {lq, lk, 2, 1, 7, 5});
  for (index_t lk : edges) check_shape<float>(setup.exec, {3, lk, 3, 3, 4, 9});
}

TEMPLATE_LIST_TEST_CASE("head dimensions and groups", "[attention]", executor_cases) {
  TestType setup;
  for (index_t d : {1, 7, 16, 33, 64, 65, 80, 96, 127, 128}) check_shape<float>(setup.exec, {35, 37, 2, 2, d, d});
  check_shape<float>(setup.exec, {20, 50, 8, 1, 192, 128});
  check_shape<float>(setup.exec, {20, 50, 6, 2, 12, 33});
  check_shape<float>(setup.exec, {1, 200, 8, 2, 16, 16});
  check_shape<double>(setup.exec, {40, 140, 2, 1, 20, 12});
}

TEMPLATE_LIST_TEST_CASE("narrow numbers", "[attention]", executor_cases) {
  TestType setup;
  for (index_t d : {1, 7, 16, 33, 64}) {
    check_shape<bf16>(setup.exec, {35, 37, 2, 1, d, d});
    check_shape<bf16>(setup.exec, {2, 131, 2, 2, d, d});
  }
  check_shape<bf16>(setup.exec, {20, 150, 2, 1, 12, 33}, at::options<>{.strict = true});
  check_shape<fp16>(setup.exec, {20, 150, 2, 1, 12, 33});
}

TEMPLATE_LIST_TEST_CASE("pairs of bf16 by hand", "[attention]", executor_cases) {
  TestType setup;
  // Weights 1 and e^-1/128 = 0.992...: the latter rounds to 0.9921875, and the sum does not round.
  problem<bf16> p(shape{1, 2, 1, 1, 1, 1});
  p.q = {1};
  p.k = {0, -0.0078125};
  p.v = {0, 1};
  array<float> out(1, 1, 1);
  at::forward(setup.exec, p.q.rows(), p.k.rows(), p.v.rows(), out.rows(), p.lse.numbers());
  setup.exec.synchronize();
  REQUIRE(close(out(0), 0.9921875 / (1 + std::exp(-0.0078125))));
  at::forward(setup.exec, p.q.rows(), p.k.rows(), p.v.rows(), out.rows(), p.lse.numbers(),
              at::options<>{.strict = true});
  setup.exec.synchronize();
  REQUIRE(close(out(0), std::exp(-0.0078125) / (1 + std::exp(-0.0078125))));
}

TEMPLATE_LIST_TEST_CASE("masks, caps and offsets", "[attention]", executor_cases) {
  TestType setup;
  shape const s{70, 150, 2, 1, 8, 8};
  check_shape<float>(setup.exec, s, at::options<at::full>{});
  check_shape<float>(setup.exec, s, at::options<at::full>{.scale = -0.7, .softcap = 3});
  check_shape<float>(setup.exec, s, at::options<>{.softcap = 1.5, .query_offset = -20});
  check_shape<float>(setup.exec, s, at::options<>{.query_offset = 500});
  check_shape<float>(setup.exec, s, at::with_mask(at::causal{} & at::window(40, 0)));
  check_shape<float>(setup.exec, s, at::with_mask(at::window(10, 20, 3)));
  auto const odd = at::where{one_in_five{}};
  check_shape<float>(setup.exec, s, at::with_mask(odd));
}

TEMPLATE_LIST_TEST_CASE("sequences by lists, with slack", "[attention]", tile_cases) {
  TestType setup;
  problem<float> p(shape{4, 9});
  p.q = {0.5, -0.5, 1, std::nan("")};
  p.k = {9, 9, 1, 2, 3, 9, 9, 9, std::nan("")};
  p.v = {9, 9, 1, 3, 5, 9, 9, 9, std::nan("")};
  std::int32_t const cu_q[] = {0, 0, 2, 3, 3}, cu_k[] = {0, 2, 4, 5, 8};
  at::options<> o;
  o.cu_q = view<std::int32_t const, 1>(cu_q, dims<1>(5));
  o.cu_k = view<std::int32_t const, 1>(cu_k, dims<1>(5));
  p.forward(setup.exec, o);
  REQUIRE(p.out(0) == 1);
  REQUIRE(close(p.out(1), 1.755081337596291));
  REQUIRE(p.lse(0, 0) == 0.5f);                                          // 0.5 x 1
  REQUIRE(close(p.lse(0, 1), std::log(std::exp(-0.5) + std::exp(-1))));  // -0.5 x 1 and 2
  REQUIRE(p.lse(0, 2) == 3);                                             // 1 x 3
  REQUIRE(p.out(2) == 5);
  REQUIRE(p.out(3) == 0);
  REQUIRE(p.lse(0, 3) == static_cast<float>(-inf));
}

TEMPLATE_LIST_TEST_CASE("sequences equal separate calls to the bit", "[attention]", executor_cases) {
  TestType setup;
  auto& exec = setup.exec;
  shape const s{90, 180, 4, 2, 10, 6};
  problem<float> packed(s), equal(s);
  std::int64_t const cu_q[] = {0, 0, 45, 50, 90}, cu_k[] = {0, 3, 133, 133, 180}, offsets[] = {0, 85, 4, 10};
  at::options<> o;
  o.cu_q = view<std::int64_t const, 1>(cu_q, dims<1>(5));
  o.cu_k = view<std::int64_t const, 1>(cu_k, dims<1>(5));
  o.query_offsets = view<std::int64_t const, 1>(offsets, dims<1>(4));
  packed.forward(exec, o);
  problem<float> single(s);
  for (int n = 0; n < 4; ++n)
    at::forward(exec, slice(single.q.rows(), 0, cu_q[n], cu_q[n + 1]), slice(single.k.rows(), 0, cu_k[n], cu_k[n + 1]),
                slice(single.v.rows(), 0, cu_k[n], cu_k[n + 1]), slice(single.out.rows(), 0, cu_q[n], cu_q[n + 1]),
                slice(single.lse.numbers(), 1, cu_q[n], cu_q[n + 1]), at::options<>{.query_offset = offsets[n]});
  exec.synchronize();
  REQUIRE(same_bits(packed.out, single.out));
  REQUIRE(same_bits(packed.lse, single.lse));
  equal.forward(exec, at::options<>{.sequences = 3});
  for (index_t n = 0; n < 3; ++n) check_rows(equal, at::options<>{}, n * 30, 30, n * 60, 60);
}

TEMPLATE_LIST_TEST_CASE("strided operands, gaps untouched", "[attention]", executor_cases) {
  TestType setup;
  auto& exec = setup.exec;
  for (index_t n : {16, 13, 33}) {
    INFO("columns " << n);
    shape const s{33, 40, 2, 2, n, n};
    problem<float> p(s);
    p.forward(exec, at::options<>{});
    index_t const wide = n + 3, heads_first = 40 * wide;
    std::vector<float> k(static_cast<std::size_t>(2 * heads_first), std::nanf("")), v(k), out(k.size(), 7.0f),
        lse(33 * 5, 7.0f);
    dims<3> const keys(40, 2, n), rows(33, 2, n);
    view<float, 3> const kv(k.data(), keys, wide, heads_first, 1), vv(v.data(), keys, wide, heads_first, 1);
    view<float, 3> const ov(out.data(), rows, wide, heads_first, 1);
    view<float, 2> const lv(lse.data(), dims<2>(2, 33), 2, 5);
    for (index_t h = 0; h < 2; ++h)
      for (index_t t = 0; t < 40; ++t)
        for (index_t d = 0; d < n; ++d) kv(t, h, d) = p.k(t, h, d), vv(t, h, d) = p.v(t, h, d);
    at::forward(exec, p.q.rows(), kv, vv, ov, lv);
    exec.synchronize();
    bool same = true;
    index_t untouched = 0;
    for (index_t t = 0; t < 33; ++t)
      for (index_t h = 0; h < 2; ++h) {
        same = same && lv(h, t) == p.lse(h, t);
        for (index_t d = 0; d < n; ++d) same = same && ov(t, h, d) == p.out(t, h, d);
      }
    for (float x : out) untouched += x == 7.0f;
    REQUIRE(same);
    REQUIRE(untouched == 2 * heads_first - 33 * 2 * n);
    REQUIRE(lse[1] == 7.0f);
  }
}

TEST_CASE("wrong shapes and options are refused", "[attention]") {
  serial_executor exec;
  shape const s{4, 6, 4, 2, 3, 2};
  problem<float> p(s), three_heads(shape{4, 6, 4, 3, 3, 2}), other(shape{5, 6, 4, 2, 2, 3});
  auto const call = [&](auto const& q, auto const& k, auto const& v, auto const& out, auto const& lse,
                        at::options<> const& o = {}) { at::forward(exec, q, k, v, out, lse, o); };
  auto const q = p.q.rows(), k = p.k.rows(), v = p.v.rows(), out = p.out.rows();
  auto const lse = p.lse.numbers();
  REQUIRE_NOTHROW(call(q, k, v, out, lse));
  REQUIRE_THROWS_AS(call(q, three_heads.k.rows(), three_heads.v.rows(), out, lse), contract_error);
  view<float, 3> const no_heads(nullptr, dims<3>(6, 0, 3)), no_values(nullptr, dims<3>(6, 0, 2));
  REQUIRE_THROWS_AS(call(q, no_heads, no_values, out, lse), contract_error);
  REQUIRE_THROWS_AS(call(q, other.k.rows(), v, out, lse), contract_error);
  REQUIRE_THROWS_AS(call(q, k, v, other.out.rows(), lse), contract_error);
  REQUIRE_THROWS_AS(call(q, k, v, out, other.lse.numbers()), contract_error);
  REQUIRE_THROWS_AS(call(transpose(q), k, v, out, lse), contract_error);
  REQUIRE_THROWS_AS(call(q, k, v, out, lse, {.scale = inf}), contract_error);
  REQUIRE_THROWS_AS(call(q, k, v, out, lse, {.softcap = 0}), contract_error);
  // Finite and positive here, but not as floats.
  REQUIRE_THROWS_AS(call(q, k, v, out, lse, {.scale = -1e300}), contract_error);
  REQUIRE_THROWS_AS(call(q, k, v, out, lse, {.softcap = 1e300}), contract_error);
  REQUIRE_THROWS_AS(call(q, k, v, out, lse, {.softcap = 1e-60}), contract_error);
  REQUIRE_THROWS_AS(call(q, k, v, out, lse, {.softcap = std::nan("")}), contract_error);
  view<float, 3> const twice(p.out.rows().data(), dims<3>(4, 4, 2), 0, 2, 1);
  REQUIRE_THROWS_AS(call(q, k, v, twice, lse), contract_error);
  REQUIRE_THROWS_AS(call(q, k, v, out, lse, {.sequences = 3}), contract_error);
  REQUIRE_THROWS_AS(call(q, k, v, out, lse, {.sequences = 0}), contract_error);
  std::int32_t const up[] = {0, 2, 4}, falling[] = {0, 4, 3}, late[] = {1, 2, 4}, beyond[] = {0, 2, 7};
  view<std::int32_t const, 1> const good(up, dims<1>(3));
  for (auto const* bad : {falling, late, beyond}) {
    view<std::int32_t const, 1> const list(bad, dims<1>(3));
    REQUIRE_THROWS_AS(call(q, k, v, out, lse, {.cu_q = list, .cu_k = good}), contract_error);
    REQUIRE_THROWS_AS(call(q, k, v, out, lse, {.cu_q = good, .cu_k = list}), contract_error);
  }
  REQUIRE_THROWS_AS(call(q, k, v, out, lse, {.cu_q = good}), contract_error);
  REQUIRE_THROWS_AS(call(q, k, v, out, lse, {.query_offset = 1, .query_offsets = good}), contract_error);
}
