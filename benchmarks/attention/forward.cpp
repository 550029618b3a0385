// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// @file
/// Causal attention forward at 2048 tokens and 8 heads of 64, as a share of the rate of our own matmul at 1024 cubed.
/// Prints evidence attention.f32.ratio.t1 and .t2.

#include <heddle/attention/forward.hpp>
#include <heddle/backend/cpu/attention_forward.hpp>
#include <heddle/backend/cpu/matmul.hpp>
#include <heddle/exec/threads_executor.hpp>
#include <heddle/linalg/matmul.hpp>

#include <support/timing.hpp>

#include <cstdio>
#include <vector>

using namespace heddle;

namespace {

struct attention_case {
  static constexpr index_t tokens = 2048, heads = 8, columns = 64;
  std::vector<float> q = bench::random_floats(tokens * heads * columns, 1),
                     k = bench::random_floats(tokens * heads * columns, 2),
                     v = bench::random_floats(tokens * heads * columns, 3), out = q,
                     lse = bench::random_floats(tokens * heads, 4);

  static double flops() { return 2.0 * heads * columns * tokens * (tokens + 1); }
  template <class Executor>
  void run(Executor& exec) {
    dims<3> const e(tokens, heads, columns);
    attention::forward(exec, view<float const, 3>(q.data(), e), view<float const, 3>(k.data(), e),
                       view<float const, 3>(v.data(), e), view<float, 3>(out.data(), e),
                       view<float, 2>(lse.data(), dims<2>(heads, tokens)));
  }
};

struct ceiling_case {
  static constexpr char const* name = "own matmul at 1024 cubed";
  static constexpr index_t n = 1024;
  std::vector<float> a = bench::random_floats(n * n, 5), b = bench::random_floats(n * n, 6), c = a;

  static double flops() { return 2.0 * n * n * n; }
  template <class Executor>
  void run(Executor& exec) {
    dims<2> const e(n, n);
    matmul(exec, view<float const, 2>(a.data(), e), view<float const, 2>(b.data(), e), view<float, 2>(c.data(), e));
  }
};

template <class Executor, class Case>
double rate(Executor& exec, Case& c) {
  double const start = bench::now(bench::watch::wall);
  c.run(exec);
  exec.synchronize();
  return c.flops() / (bench::now(bench::watch::wall) - start) * 1e-9;
}

}  // namespace

int main() {
  attention_case work;
  ceiling_case ceiling;
  for (int threads = 1; threads <= 2; ++threads) {
    threads_executor exec(threads);
    std::vector<double> ours, theirs;
    rate(exec, work);
    rate(exec, ceiling);
    for (int i = 0; i < 11; ++i) {
      ours.push_back(rate(exec, work));
      theirs.push_back(rate(exec, ceiling));
    }
    std::printf("threads %d: attention %.1f GFLOP/s, %s %.1f GFLOP/s (%s)\n", threads, bench::median(ours),
                ceiling_case::name, bench::median(theirs), name(best_isa()));
    std::printf("evidence attention.f32.ratio.t%d %.3f ratio\n", threads, bench::median(ours) / bench::median(theirs));
  }
}
