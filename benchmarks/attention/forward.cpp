// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// @file
/// Causal attention forward at 2048 tokens and 8 heads of 64, as a share of the rate of our own matmul at 1024 cubed
/// (of the machine's FMA rate where the matmul is not there). Prints evidence attention.f32.ratio.t1 and .t2.

#include <heddle/attention/forward.hpp>
#include <heddle/backend/cpu/attention_forward.hpp>
#include <heddle/exec/threads_executor.hpp>

#if __has_include(<heddle/linalg/matmul.hpp>)
#include <heddle/backend/cpu/matmul.hpp>
#include <heddle/linalg/matmul.hpp>
#define HEDDLE_BENCHMARK_MATMUL 1
#endif

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <vector>

using namespace heddle;

namespace {

double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

std::vector<float> random_values(index_t n, unsigned seed) {
  std::vector<float> x(static_cast<std::size_t>(n));
  for (float& v : x) {
    seed = seed * 1664525u + 1013904223u;
    v = static_cast<float>(static_cast<double>(seed) / 2147483648.0 - 1);
  }
  return x;
}

struct attention_case {
  static constexpr index_t tokens = 2048, heads = 8, columns = 64;
  std::vector<float> q = random_values(tokens * heads * columns, 1), k = random_values(tokens * heads * columns, 2),
                     v = random_values(tokens * heads * columns, 3), out = q, lse = random_values(tokens * heads, 4);

  static double flops() { return 2.0 * heads * columns * tokens * (tokens + 1); }
  template <class Executor>
  void run(Executor& exec) {
    dims<3> const e(tokens, heads, columns);
    attention::forward(exec, view<float const, 3>(q.data(), e), view<float const, 3>(k.data(), e),
                       view<float const, 3>(v.data(), e), view<float, 3>(out.data(), e),
                       view<float, 2>(lse.data(), dims<2>(heads, tokens)));
  }
};

#if defined(HEDDLE_BENCHMARK_MATMUL)
struct ceiling_case {
  static constexpr char const* name = "own matmul at 1024 cubed";
  static constexpr index_t n = 1024;
  std::vector<float> a = random_values(n * n, 5), b = random_values(n * n, 6), c = a;

  static double flops() { return 2.0 * n * n * n; }
  template <class Executor>
  void run(Executor& exec) {
    dims<2> const e(n, n);
    matmul(exec, view<float const, 2>(a.data(), e), view<float const, 2>(b.data(), e), view<float, 2>(c.data(), e));
  }
};
#else
/// A product of 64 rows with a panel that stays in the first cache.
struct ceiling_body {
  template <class Isa>
  HEDDLE_SHIM void operator()(Isa, float const* const& a, float const* const& b, float* const& out) const {
    for (int i = 0; i < 64; ++i)
      attention::detail::row_product<Isa, 2>(out, a, index_t{64}, index_t{64}, b, index_t{64}, index_t{32});
  }
};
struct ceiling_case {
  static constexpr char const* name = "products in the first cache";
  static constexpr index_t tiles = 256;
  std::vector<float> a = random_values(64 * 64, 5), b = random_values(64 * 32, 6);
  std::vector<float> out = std::vector<float>(4 * 80 * 32);

  static double flops() { return 2.0 * tiles * 64 * 64 * 64 * 32; }
  template <class Executor>
  void run(Executor& exec) {
    exec.for_each_tile(tiles, [this](index_t, int worker) {
      float const *x = a.data(), *y = b.data();
      float* to = out.data() + worker * 80 * 32;
      dispatch_isa(ceiling_body{}, x, y, to);
    });
  }
};
#endif

template <class Executor, class Case>
double rate(Executor& exec, Case& c) {
  double const start = now();
  c.run(exec);
  exec.synchronize();
  return c.flops() / (now() - start) * 1e-9;
}

double median(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  return x[x.size() / 2];
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
    std::printf("threads %d: attention %.1f GFLOP/s, %s %.1f GFLOP/s (%s)\n", threads, median(ours),
                ceiling_case::name, median(theirs), name(best_isa()));
    std::printf("evidence attention.f32.ratio.t%d %.3f ratio\n", threads, median(ours) / median(theirs));
  }
}
