// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/attention/latent.hpp>

#include "rules.hpp"

#include <heddle/backend/cpu/attention_decode.hpp>
#include <heddle/backend/cpu/matmul.hpp>
#include <heddle/backend/reference/matmul.hpp>

using namespace heddle;
using namespace heddle::test;
namespace at = heddle::attention;

namespace {

/// Attention over the heads' own keys and values, made from the latent rows: the definition.
problem<double> expanded(array<double> const& q, array<double> const& w_k, array<double> const& w_v,
                         array<double> const& cache) {
  index_t const dn = w_k.b, dc = w_k.c, dr = q.c - dn, heads = q.b;
  problem<double> p(shape{q.a, cache.a, heads, heads, q.c, w_v.c});
  p.q = q;
  for (index_t j = 0; j < cache.a; ++j)
    for (index_t h = 0; h < heads; ++h) {
      for (index_t d = 0; d < dn; ++d) {
        p.k(j, h, d) = 0;
        for (index_t c = 0; c < dc; ++c) p.k(j, h, d) += w_k(h, d, c) * cache(j, 0, c);
      }
      for (index_t d = 0; d < dr; ++d) p.k(j, h, dn + d) = cache(j, 0, dc + d);
      for (index_t d = 0; d < w_v.c; ++d) {
        p.v(j, h, d) = 0;
        for (index_t c = 0; c < dc; ++c) p.v(j, h, d) += w_v(h, c, d) * cache(j, 0, c);
      }
    }
  reference_executor exec;
  p.forward(exec, at::options<>{});
  return p;
}

array<double> absolute(array<double> a) {
  for (double& x : a.data) x = std::fabs(x);
  return a;
}

/// The error bounds of both ways together. A score is a chain over dn or dc of chains over dc or dn, and the columns of
/// positions; an output is one over keys and dc.
struct latent_bounds {
  double scores, outputs, values;

  latent_bounds(array<double> const& q, array<double> const& w_k, array<double> const& w_v, array<double> const& cache)
      : scores(0), outputs(0), values(0) {
    problem<double> const sizes = expanded(absolute(q), absolute(w_k), absolute(w_v), absolute(cache));
    auto const g = [](index_t n) { return static_cast<double>(n) * 0x1p-53 / (1 - static_cast<double>(n) * 0x1p-53); };
    double largest = 0;
    for (index_t t = 0; t < q.a; ++t)
      for (index_t h = 0; h < q.b; ++h)
        for (index_t j = 0; j < cache.a; ++j) {
          double size = 0;
          for (index_t d = 0; d < q.c; ++d) size += sizes.q(t, h, d) * sizes.k(j, h, d);
          largest = std::max(largest, size / std::sqrt(static_cast<double>(q.c)));
        }
    for (double const x : sizes.v.data) values = std::max(values, x);
    scores = 2 * g(w_k.b + cache.c + 3) * largest;
    // The softmax itself: 2e-6 in float. An error d of all scores moves the weights by 2 d.
    outputs = (2 * 2e-6 * 0x1p-29 + 2 * scores + 2 * g(cache.a + w_k.c)) * values;
  }
  double log_sum_exp(double right) const { return 2 * 4e-6 * 0x1p-29 * (1 + std::fabs(right)) + scores; }
};

}  // namespace

TEMPLATE_LIST_TEST_CASE("latent attention equals attention over the heads' own keys", "[attention]", executor_cases) {
  TestType setup;
  auto& exec = setup.exec;
  for (index_t dr : {0, 5}) {
    index_t const tokens = 3, heads = 4, dn = 6, dc = 10, dv = 7, keys = 40;
    array<double> q(tokens, heads, dn + dr), w_k(heads, dn, dc), w_v(heads, dc, dv), cache(keys, 1, dc + dr);
    q.fill(1, 1), w_k.fill(2, 0.5), w_v.fill(3, 0.5), cache.fill(4, 1);
    problem<double> const right = expanded(q, w_k, w_v, cache);
    array<double> out(tokens, heads, dv), lse(heads, tokens);
    at::latent(exec, q.rows(), w_k.rows(), w_v.rows(), view<double const, 2>(cache.data.data(), dims<2>(keys, dc + dr)),
               out.rows(), lse.numbers());
    exec.synchronize();
    latent_bounds const bounds(q, w_k, w_v, cache);
    index_t wrong = 0;
    for (std::size_t i = 0; i < out.data.size(); ++i)
      wrong += !(std::fabs(out.data[i] - right.out.data[i]) <= bounds.outputs);
    for (std::size_t i = 0; i < lse.data.size(); ++i)
      wrong += !(std::fabs(lse.data[i] - right.lse.data[i]) <= bounds.log_sum_exp(right.lse.data[i]));
    REQUIRE(wrong == 0);
  }
}

TEMPLATE_LIST_TEST_CASE("values may be the first columns of the keys", "[attention]", executor_cases) {
  TestType setup;
  auto& exec = setup.exec;
  // One key head of 576 columns, whose first 512 are the values: what latent attention asks for.
  problem<float> apart(shape{2, 40, 5, 1, 576, 512}), alias(shape{2, 40, 5, 1, 576, 512});
  for (index_t j = 0; j < 40; ++j)
    for (index_t d = 0; d < 512; ++d) apart.v(j, 0, d) = apart.k(j, 0, d);
  apart.forward(exec, at::options<>{});
  apart.backward(exec, at::options<>{});
  auto const values = slice(alias.k.rows(), 2, 0, 512);
  at::forward(exec, alias.q.rows(), alias.k.rows(), values, alias.out.rows(), alias.lse.numbers());
  at::backward(exec, alias.q.rows(), alias.k.rows(), values, alias.out.rows(), alias.lse.numbers(), alias.dout.rows(),
               alias.dq.rows(), alias.dk.rows(), alias.dv.rows());
  exec.synchronize();
  REQUIRE(same_bits(apart.out, alias.out));
  REQUIRE(same_bits(apart.dq, alias.dq));
  REQUIRE(same_bits(apart.dk, alias.dk));
  REQUIRE(same_bits(apart.dv, alias.dv));
  check_rules<float>(exec, {2, 40, 5, 1, 576, 512}, at::options<>{});
}

TEST_CASE("latent operands that don't fit are refused", "[attention]") {
  serial_executor exec;
  array<double> q(2, 3, 6), w_k(3, 4, 5), w_v(3, 5, 2), out(2, 3, 2), lse(3, 2), cache(8, 1, 7), narrow(8, 1, 6);
  auto const call = [&](array<double>& c, array<double>& w) {
    at::latent(exec, q.rows(), w_k.rows(), w.rows(), view<double const, 2>(c.data.data(), dims<2>(c.a, c.c)),
               out.rows(), lse.numbers());
  };
  array<double> w_other(3, 4, 2);
  REQUIRE_NOTHROW(call(cache, w_v));
  REQUIRE_THROWS_AS(call(narrow, w_v), contract_error);
  REQUIRE_THROWS_AS(call(cache, w_other), contract_error);
  for (array<double>* a : {&out, &lse}) a->fill(3);
  array<double> const out_before = out, lse_before = lse;
  auto const refused = [&](auto const& query, auto const& rows, auto const& to, auto const& numbers) {
    REQUIRE_THROWS_AS(at::latent(exec, query, w_k.rows(), w_v.rows(), rows, to, numbers), contract_error);
  };
  array<double> wide(2, 3, 12), other(2, 3, 3), few(3, 1), doubled(8, 1, 14);
  view<double const, 2> const fits(cache.data.data(), dims<2>(8, 7)), apart(doubled.data.data(), dims<2>(8, 7), 14, 2);
  refused(view<double, 3>(wide.data.data(), dims<3>(2, 3, 6), 36, 12, 2), fits, out.rows(), lse.numbers());
  refused(q.rows(), apart, out.rows(), lse.numbers());
  refused(q.rows(), fits, other.rows(), lse.numbers());
  refused(q.rows(), fits, out.rows(), few.numbers());
  refused(q.rows(), fits, view<double, 3>(q.data.data(), dims<3>(2, 3, 2)), lse.numbers());
  REQUIRE(same_bits(out, out_before));
  REQUIRE(same_bits(lse, lse_before));
}
