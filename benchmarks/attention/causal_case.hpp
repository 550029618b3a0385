// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Causal self-attention of one sequence as a benchmark, and the product whose rate it is compared with.

#include <heddle/attention/backward.hpp>
#include <heddle/attention/forward.hpp>
#include <heddle/backend/cpu/attention_backward.hpp>
#include <heddle/backend/cpu/attention_forward.hpp>
#include <heddle/backend/cpu/matmul.hpp>
#include <heddle/core/bf16.hpp>
#include <heddle/exec/threads_executor.hpp>
#include <heddle/linalg/matmul.hpp>

#include <support/measure.hpp>
#include <support/timing.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace heddle::bench {

template <class T>
std::vector<T> random_numbers(index_t n, unsigned seed) {
  std::vector<float> const from = random_floats(static_cast<std::size_t>(n), seed);
  return std::vector<T>(from.begin(), from.end());
}

/// Heads of `columns` columns over `tokens` tokens. Long sequences have few heads, so that a run takes less than a
/// second.
template <class T>
struct causal_case {
  index_t tokens, columns, heads;
  std::vector<T> q, k, v, out, dout, dq, dk, dv;
  std::vector<float> lse;

  causal_case(index_t t, index_t d)
      : tokens(t),
        columns(d),
        heads(t >= 16384  ? 1
              : t >= 1024 ? 16384 / t
                          : 16),
        q(random_numbers<T>(size(), 1)),
        k(random_numbers<T>(size(), 2)),
        v(random_numbers<T>(size(), 3)),
        out(q),
        dout(random_numbers<T>(size(), 4)),
        dq(q),
        dk(q),
        dv(q),
        lse(static_cast<std::size_t>(tokens * heads)) {}

  /// Of the visible half of the pairs, in two products; backward counts five, what is computed again is not counted.
  double flops(bool back) const {
    double const forward = 2.0 * double(heads) * double(tokens) * double(tokens) * double(columns);
    return back ? 2.5 * forward : forward;
  }
  /// The first token sees itself alone, so what comes out is its own value.
  bool first_row_is_right() const {
    return std::memcmp(out.data(), v.data(), static_cast<std::size_t>(heads * columns) * sizeof(T)) == 0;
  }
  template <class Executor>
  double seconds(Executor& exec, bool back) {
    dims<3> const e(tokens, heads, columns);
    auto const in = [&](std::vector<T> const& x) { return view<T const, 3>(x.data(), e); };
    auto const to = [&](std::vector<T>& x) { return view<T, 3>(x.data(), e); };
    view<float, 2> const sums(lse.data(), dims<2>(heads, tokens));
    double const start = now(watch::wall);
    if (back)
      attention::backward(exec, in(q), in(k), in(v), in(out), sums, in(dout), to(dq), to(dk), to(dv));
    else
      attention::forward(exec, in(q), in(k), in(v), to(out), sums);
    exec.synchronize();
    return now(watch::wall) - start;
  }

 private:
  index_t size() const { return tokens * heads * columns; }
};

struct product_case {
  static constexpr index_t n = 1024;
  std::vector<float> a = random_floats(n * n, 5), b = random_floats(n * n, 6), c = a;

  template <class Executor>
  double flops_per_second(Executor& exec) {
    dims<2> const e(n, n);
    double const start = now(watch::wall);
    matmul(exec, view<float const, 2>(a.data(), e), view<float const, 2>(b.data(), e), view<float, 2>(c.data(), e));
    exec.synchronize();
    return 2.0 * n * n * n / (now(watch::wall) - start);
  }
};

inline constexpr index_t causal_lengths[] = {512, 1024, 2048, 4096, 8192, 16384};
inline constexpr index_t causal_columns[] = {64, 128};

template <class T, class Case>
void print_causal(bool back, Case const& of, double seconds, double product_rate) {
  print_measure({.bench = back ? "attention_backward" : "attention_forward",
                 .name = std::string(sizeof(T) == 4 ? "f32" : "bf16") + ", head " + std::to_string(of.columns) + ", " +
                         std::to_string(of.tokens) + " tokens",
                 .threads = 2,
                 .seconds = seconds,
                 .work = of.flops(back),
                 .ceiling = product_rate * 1e-9});
}

/// Interleaves float, bf16 and the product on two threads, prints the evidence of float, and returns the time of float
/// over that of bf16.
inline double compare_causal(char const* id, bool back, index_t tokens, index_t columns, int runs) {
  threads_executor exec(2);
  causal_case<float> wide(tokens, columns);
  causal_case<bf16> narrow(tokens, columns);
  product_case product;
  wide.seconds(exec, false);
  narrow.seconds(exec, false);
  if (!wide.first_row_is_right() || !narrow.first_row_is_right()) {
    std::printf("%lld tokens of %lld columns: wrong result\n", (long long)tokens, (long long)columns);
    std::exit(1);
  }
  product.flops_per_second(exec);
  std::vector<double> f32, half, ceiling;
  for (int i = 0; i < runs; ++i) {
    f32.push_back(wide.seconds(exec, back));
    half.push_back(narrow.seconds(exec, back));
    ceiling.push_back(product.flops_per_second(exec));
  }
  double const t = median(f32), n = median(half), flops = wide.flops(back);
  std::printf("%lld tokens, %lld heads of %lld: f32 %.1f, bf16 %.1f, matmul %.1f GFLOP/s (%s)\n", (long long)tokens,
              (long long)wide.heads, (long long)columns, flops / t * 1e-9, flops / n * 1e-9, median(ceiling) * 1e-9,
              name(best_isa()));
  std::printf("evidence attention.%s.%lld.d%lld %.3f ratio\n", id, (long long)tokens, (long long)columns,
              flops / t / median(ceiling));
  print_causal<float>(back, wide, t, median(ceiling));
  print_causal<bf16>(back, wide, n, median(ceiling));
  return t / n;
}

/// All lengths and widths, or 512 tokens alone; the geometric mean of what bf16 gains.
inline double compare_all(char const* id, bool back, bool quick, int runs) {
  double sum = 0;
  int count = 0;
  for (index_t tokens : causal_lengths)
    for (index_t columns : causal_columns) {
      if (quick && tokens != 512) continue;
      sum += std::log(compare_causal(id, back, tokens, columns, runs));
      ++count;
    }
  return std::exp(sum / count);
}

inline bool is_quick(int argc, char** argv) { return argc > 1 && std::strcmp(argv[1], "--quick") == 0; }

}  // namespace heddle::bench
