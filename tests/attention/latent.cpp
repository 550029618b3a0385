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
    double worst = 0;
    for (std::size_t i = 0; i < out.data.size(); ++i)
      worst = std::max(worst, std::fabs(out.data[i] - right.out.data[i]));
    for (std::size_t i = 0; i < lse.data.size(); ++i)
      worst = std::max(worst, std::fabs(lse.data[i] - right.lse.data[i]));
    REQUIRE(worst <= 1e-13);
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
}
