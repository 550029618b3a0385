// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// @file
/// The bits of attention: those of the plain loops, for any executor, thread count, instruction set and packing.

#include "rules.hpp"

#include "support/buffer.hpp"
#include "support/sampled.hpp"

#include <heddle/core/bf16.hpp>

using namespace heddle;
using namespace heddle::test;
namespace at = heddle::attention;

namespace {

/// Runs a body with every instruction set of the machine, then gives back the one before.
template <class Body>
void with_every_isa(Body const& body) {
  isa const before = best_isa();
  for (isa set : test::sampled({isa::baseline, isa::avx2, isa::avx512, isa::avx512_bf16})) {
    if (static_cast<int>(set) > static_cast<int>(machine_isa())) continue;
    INFO(name(set));
    force_isa(set);
    body();
  }
  force_isa(before);
}

template <class T>
void require_same(problem<T> const& x, problem<T> const& y) {
  REQUIRE(same_bits(x.out, y.out));
  REQUIRE(same_bits(x.lse, y.lse));
  REQUIRE(same_bits(x.dq, y.dq));
  REQUIRE(same_bits(x.dk, y.dk));
  REQUIRE(same_bits(x.dv, y.dv));
}

template <class T, class Exec, class Mask, class Bias>
problem<T> solve(Exec&& exec, shape const& s, at::options<Mask, Bias> const& o) {
  problem<T> p(s, 11);
  p.forward(exec, o);
  if (o.sinks_in_lse) {
    p.backward(exec, o);
    return p;
  }
  array<accumulator_t<T>> dlse(s.heads_q, s.tokens_q);
  dlse.fill(3);
  at::backward(exec, p.q.rows(), p.k.rows(), p.v.rows(), p.out.rows(), p.lse.numbers(), p.dout.rows(), dlse.numbers(),
               p.dq.rows(), p.dk.rows(), p.dv.rows(), o);
  exec.synchronize();
  return p;
}

template <class T, class Mask = at::causal, class Bias = at::no_bias>
void check_bits(shape const& s, at::options<Mask, Bias> const& o = {}) {
  INFO("q " << s.tokens_q << " k " << s.tokens_k << " dk " << s.dk << " dv " << s.dv);
  problem<T> const oracle = solve<T>(reference_executor(), s, o);
  with_every_isa([&] {
    require_same(oracle, solve<T>(serial_executor(), s, o));
    require_same(oracle, solve<T>(threads_executor(3), s, o));
  });
}

}  // namespace

TEST_CASE("float attention has the bits of the plain loops", "[attention]") {
  check_bits<float>({70, 300, 4, 2, 24, 9});
  check_bits<float>({130, 130, 2, 1, 64, 80}, at::options<>{.softcap = 2});
  check_bits<float>({33, 129, 8, 1, 7, 1}, at::options<>{.query_offset = -3});
  check_bits<float>({1, 200, 8, 1, 16, 70});
  check_bits<float>({3, 150, 2, 2, 20, 130}, at::options<>{.query_offset = 100});
  check_bits<float>({64, 64, 1, 1, 1, 16}, at::options<at::full>{.scale = -1.5});
  check_bits<float>({200, 150, 2, 2, 16, 8}, at::with_mask(at::causal{} & at::window(40, 0, 3)));
  check_bits<float>({65, 140, 1, 1, 8, 8}, at::with_mask(at::where{one_in_five{}}));
}

TEST_CASE("double attention has the bits of the plain loops", "[attention]") {
  check_bits<double>({70, 200, 4, 2, 12, 9}, at::options<>{.softcap = 3});
}

TEST_CASE("bf16 attention has the bits of the plain loops", "[attention]") {
  check_bits<bf16>({70, 140, 2, 1, 64, 20});
  check_bits<bf16>({33, 129, 4, 1, 7, 17}, at::options<>{.query_offset = -3});
  check_bits<bf16>({3, 261, 2, 2, 34, 70}, at::options<>{.softcap = 2});
  check_bits<bf16>({40, 77, 1, 1, 1, 1}, at::options<at::full>{.scale = -1.5});
  check_bits<bf16>({50, 90, 2, 2, 6, 8}, at::with_mask(at::causal{} & at::window(21, 0, 3)));
  check_bits<bf16>({35, 75, 1, 1, 8, 8}, at::with_mask(at::where{one_in_five{}}));
  check_bits<bf16>({35, 75, 2, 1, 8, 8}, at::with_bias(rough{}));
  check_bits<bf16>({35, 150, 2, 1, 18, 9}, at::options<>{.strict = true});
}

TEST_CASE("small and unseen numbers of bf16 give the bits of the plain loops", "[attention]") {
  shape const s{40, 75, 2, 1, 10, 20};
  auto const solved = [&](auto&& exec) {
    problem<bf16> p(s, 5);
    for (index_t key = 0; key < 75; ++key)
      for (index_t d = 0; d < 10; ++d)
        if (key % 3 == 0) p.k(key, 0, d) = bf16(float(p.k(key, 0, d)) * 0x1p-127f);
    for (index_t d = 0; d < 20; ++d) {
      p.v(7, 0, d) = bf16(float(p.v(7, 0, d)) * 0x1p-128f);
      p.v(60, 0, d) = bf16(std::nanf(""));  // rows from 25 on see it
    }
    p.forward(exec, at::options<>{});
    for (index_t t = 25; t < 40; ++t)
      for (index_t i = 0; i < 40; ++i) p.out(t, i / 20, i % 20) = bf16(0.0f);
    return p;
  };
  problem<bf16> const oracle = solved(reference_executor());
  REQUIRE(std::isfinite(static_cast<float>(oracle.out(24, 1, 19))));
  with_every_isa([&] {
    problem<bf16> const ours = solved(threads_executor(3));
    REQUIRE(same_bits(oracle.out, ours.out));
    REQUIRE(same_bits(oracle.lse, ours.lse));
  });
}

TEST_CASE("bf16: a NaN that the last query alone sees stays in its row", "[attention]") {
  // A wide tile, and a narrow one that copies rows of values that are no whole vectors.
  index_t const n = 36;
  for (index_t dv : {3, 16}) {
    array<bf16> q(n, 1, 2), k(n, 1, 2), v(n, 1, dv), out(n, 1, dv);
    array<float> lse(1, n);
    q.fill(1), k.fill(2);
    for (bf16& x : v.data) x = bf16(1.0f);
    v(n - 1) = bf16(__builtin_nanf(""));
    with_every_isa([&] {
      serial_executor exec;
      at::forward(exec, q.rows(), k.rows(), v.rows(), out.rows(), lse.numbers());
      INFO(dv);
      for (index_t i = 0; i < n; ++i)
        for (index_t d = 0; d < dv; ++d)
          REQUIRE(is_nan(static_cast<float>(out(i, 0, d))) == (i == n - 1 && d == 0));
    });
  }
}

TEST_CASE("biased attention has the bits of the plain loops", "[attention]") {
  check_bits<float>({70, 300, 6, 2, 16, 9}, at::with_bias(at::alibi(6)));
  check_bits<float>({3, 300, 6, 2, 16, 9}, at::with_bias(rough{}));
  check_bits<float>({70, 150, 2, 1, 8, 8}, at::with_bias(rough{}));
  auto far = at::with_bias(at::alibi(2), at::full{});
  far.query_offset = (index_t{1} << 25) + 1;
  check_bits<float>({40, 150, 2, 1, 8, 8}, far);
}

TEST_CASE("attention with dropout and sinks has the bits of the plain loops", "[attention]") {
  at::options<> o;
  o.drop = {.probability = 0.25, .seed = 5};
  check_bits<float>({70, 300, 4, 2, 16, 9}, o);
  check_bits<float>({3, 150, 4, 2, 16, 9}, o);
  float const logits[] = {0.5f, -1.25f, 2, 0};
  o.sinks = view<float const, 1>(logits, dims<1>(4));
  check_bits<double>({40, 150, 4, 2, 16, 9}, o);
  o.drop.probability = 0;
  o.sinks_in_lse = false;
  check_bits<float>({70, 300, 4, 2, 16, 9}, o);
  check_bits<bf16>({5, 150, 4, 1, 16, 9}, o);
}

TEST_CASE("many threads, thirty runs, one result", "[attention]") {
  shape const s{70, 70, 3, 1, 8, 8};
  problem<float> const first = solve<float>(serial_executor(), s, at::options<>{});
  for (int threads : {1, 2, 3, 7}) {
    threads_executor exec(threads);
    for (int run = 0; run < 30; run += test::stride) require_same(first, solve<float>(exec, s, at::options<>{}));
  }
}

TEST_CASE("operands may end where memory ends", "[attention]") {
  shape const s{37, 45, 2, 1, 13, 11};
  problem<float> p = solve<float>(reference_executor(), s, at::options<>{});
  auto const at_page_end = [](buffer<float>& memory, array<float> const& from) {
    std::memcpy(memory.data(), from.data.data(), from.data.size() * sizeof(float));
    return view<float, 3>(memory.data(), dims<3>(from.a, from.b, from.c));
  };
  auto const size = [](auto const& a) { return static_cast<index_t>(a.data.size()); };
  with_every_isa([&] {
    buffer<float> q(size(p.q), guard::page), k(size(p.k), guard::page), v(size(p.v), guard::page),
        dout(size(p.dout), guard::page), out(size(p.out), guard::page), lse(size(p.lse), guard::page),
        dq(size(p.dq), guard::page), dk(size(p.dk), guard::page), dv(size(p.dv), guard::page);
    serial_executor exec;
    auto const qv = at_page_end(q, p.q), kv = at_page_end(k, p.k), vv = at_page_end(v, p.v),
               dov = at_page_end(dout, p.dout);
    view<float, 3> const ov(out.data(), p.out.rows().extents()), dqv(dq.data(), qv.extents()),
        dkv(dk.data(), kv.extents()), dvv(dv.data(), vv.extents());
    view<float, 2> const lv(lse.data(), p.lse.numbers().extents());
    at::forward(exec, qv, kv, vv, ov, lv);
    at::backward(exec, qv, kv, vv, ov, lv, dov, dqv, dkv, dvv);
    REQUIRE(std::memcmp(out.data(), p.out.data.data(), p.out.data.size() * sizeof(float)) == 0);
    REQUIRE(std::memcmp(dk.data(), p.dk.data.data(), p.dk.data.size() * sizeof(float)) == 0);
    REQUIRE(std::memcmp(dq.data(), p.dq.data.data(), p.dq.data.size() * sizeof(float)) == 0);
  });
}
