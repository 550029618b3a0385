// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// @file
/// Outputs of attention that overlap other operands, or themselves, are refused before anything is submitted.

#include "paged.hpp"

#include <heddle/attention/decode.hpp>
#include <heddle/attention/merge.hpp>
#include <heddle/backend/cpu/attention_decode.hpp>

using namespace heddle;
using namespace heddle::test;
namespace at = heddle::attention;

namespace {

using rows = view<float, 3>;
using numbers = view<float, 2>;

constexpr index_t tokens = 3, heads = 2, columns = 4, size = tokens * heads * columns;

/// Memory of any number of operands of one shape; `at(n)` is the n-th, `shifted(n)` begins one element later.
struct shared_memory {
  std::vector<float> data = std::vector<float>(12 * size + 1, 0.5f);
  rows at(index_t n) { return {data.data() + n * size, dims<3>(tokens, heads, columns)}; }
  rows shifted(index_t n) { return {data.data() + n * size + 1, dims<3>(tokens, heads, columns)}; }
  numbers lse(index_t n) { return {data.data() + n * size, dims<2>(heads, tokens)}; }
  bool untouched() const {
    for (float const x : data)
      if (x != 0.5f) return false;
    return true;
  }
};

}  // namespace

TEST_CASE("outputs of forward and decode lie apart", "[attention]") {
  serial_executor exec;
  shared_memory m;
  rows const q = m.at(0), k = m.at(1), v = m.at(2), out = m.at(3);
  numbers const lse = m.lse(4);
  auto const refused = [&](rows const& o, numbers const& l) {
    REQUIRE_THROWS_AS(at::forward(exec, q, k, v, o, l), contract_error);
    REQUIRE_THROWS_AS(at::decode(exec, q, k, v, o, l), contract_error);
  };
  for (rows const& o : {q, k, v, m.shifted(0), m.shifted(2)}) refused(o, lse);
  for (index_t n = 0; n < 4; ++n) refused(out, m.lse(n));
  refused(out, {lse.data(), dims<2>(heads, tokens), 0, 1});  // one number for two heads
  REQUIRE(m.untouched());
  REQUIRE_NOTHROW(at::forward(exec, q, k, k, out, lse));
}

TEST_CASE("gradients lie apart", "[attention]") {
  serial_executor exec;
  shared_memory m;
  rows const in[] = {m.at(0), m.at(1), m.at(2), m.at(3), m.at(4)};  // q, k, v, out, dout
  numbers const lse = m.lse(5), dlse = m.lse(6);
  rows const dq = m.at(7), dk = m.at(8), dv = m.at(9);
  float const logits[heads] = {0.5f, 0};
  at::options<> o;
  o.sinks = view<float const, 1>(logits, dims<1>(heads));
  auto const call = [&](rows const& to_q, rows const& to_k, rows const& to_v, index_t sinks) {
    at::backward(exec, in[0], in[1], in[2], in[3], lse, in[4], dlse, to_q, to_k, to_v,
                 view<float, 1>(m.data.data() + sinks * size, dims<1>(heads)), o);
  };
  for (rows const& taken : {in[0], in[1], in[2], in[3], in[4], m.shifted(4), m.at(5), m.at(6)}) {
    REQUIRE_THROWS_AS(call(taken, dk, dv, 10), contract_error);
    REQUIRE_THROWS_AS(call(dq, taken, dv, 10), contract_error);
    REQUIRE_THROWS_AS(call(dq, dk, taken, 10), contract_error);
  }
  REQUIRE_THROWS_AS(call(dq, dq, dv, 10), contract_error);
  REQUIRE_THROWS_AS(call(dq, dk, m.shifted(8), 10), contract_error);
  for (index_t n = 0; n < 10; ++n) REQUIRE_THROWS_AS(call(dq, dk, dv, n), contract_error);
  REQUIRE(m.untouched());
  REQUIRE_NOTHROW(call(dq, dk, dv, 10));
}

TEST_CASE("a merge works in place, and refuses any other overlap", "[attention]") {
  serial_executor exec;
  shared_memory m;
  rows const a = m.at(0), b = m.at(1), out = m.at(2);
  numbers const lse_a = m.lse(3), lse_b = m.lse(4), lse = m.lse(5);
  auto const refused = [&](rows const& o, numbers const& l) {
    REQUIRE_THROWS_AS(at::merge(exec, a, lse_a, b, lse_b, o, l), contract_error);
  };
  refused(m.shifted(0), lse);
  refused({m.data.data() + 3 * size, dims<3>(tokens, heads, columns)}, lse);
  refused(out, {lse_a.data() + 1, dims<2>(heads, tokens)});
  refused(out, m.lse(1));
  refused(out, {lse.data(), dims<2>(heads, tokens), 0, 1});
  REQUIRE(m.untouched());
  REQUIRE_NOTHROW(at::merge(exec, a, lse_a, b, lse_b, a, lse_a));
  REQUIRE_NOTHROW(at::merge(exec, a, lse_a, b, lse_b, b, lse_b));
}

TEST_CASE("rows are not appended onto themselves", "[attention]") {
  serial_executor exec;
  paged_rows_case c({3, 3}, 2, heads, columns, columns);
  shared_memory m;
  rows const new_rows(m.data.data(), dims<3>(2, heads, columns));
  rows const cached(c.k.data.data(), dims<3>(2, heads, columns));
  REQUIRE_NOTHROW(at::append(exec, new_rows, new_rows, c.cache()));
  REQUIRE_THROWS_AS(at::append(exec, cached, new_rows, c.cache()), contract_error);
  REQUIRE_THROWS_AS(at::append(exec, new_rows, cached, c.cache()), contract_error);
  auto one = c.cache();
  one.v = one.k;
  REQUIRE_THROWS_AS(at::append(exec, new_rows, new_rows, one), contract_error);
  REQUIRE_THROWS_AS(at::decode(exec, new_rows, c.cache(), cached, m.lse(4)), contract_error);
}
