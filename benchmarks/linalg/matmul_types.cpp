// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// @file
/// Products of bf16 and of bytes on one thread: bf16 against oneDNN, both against our float. Medians of interleaved
/// runs by processor time.
///
/// Usage: bench_linalg_matmul_types [--quick]

#include <heddle/backend/cpu/matmul.hpp>
#include <heddle/exec/serial_executor.hpp>
#include <heddle/linalg/matmul.hpp>

#include <support/ceilings.hpp>
#include <support/measure.hpp>
#include <support/timing.hpp>

#include <dlfcn.h>

#include <cmath>
#include <cstdio>
#include <cstring>

using namespace heddle;

namespace {

struct shape {
  char const* name;
  int m, n, k;
  bool bt;  ///< b lies transposed
};
constexpr shape shapes[] = {
    {"256", 256, 256, 256, false},
    {"512", 512, 512, 512, false},
    {"1000", 1000, 1000, 1000, false},
    {"1024", 1024, 1024, 1024, false},
    {"1024_nt", 1024, 1024, 1024, true},
    {"2048", 2048, 2048, 2048, false},
    {"128x4096x1024", 128, 4096, 1024, false},
    {"512x1024x4096", 512, 1024, 4096, false},
};
int runs = 11;

template <class T>
struct operands {
  std::vector<T> a, b;
  std::vector<float> c;
  shape s;

  explicit operands(shape const& of)
      : a(size(of.m, of.k)), b(size(of.k, of.n)), c(size(of.m, of.n), __builtin_nanf("")), s(of) {
    fill(a, 1), fill(b, 2);
  }
  template <class C>
  void multiply(serial_executor& exec, C* out) {
    view<T const, 2> const x(a.data(), dims<2>(s.m, s.k)), y(b.data(), dims<2>(s.k, s.n));
    view<T const, 2> const turned(b.data(), dims<2>(s.k, s.n), index_t{1}, index_t{s.k});
    matmul(exec, x, s.bt ? turned : y, view<C, 2>(out, dims<2>(s.m, s.n)));
  }
  double value(std::size_t i, std::size_t j, double& magnitude) const {
    double sum = magnitude = 0;
    auto const k = static_cast<std::size_t>(s.k), n = static_cast<std::size_t>(s.n);
    for (std::size_t d = 0; d < k; ++d) {
      double const x = static_cast<double>(static_cast<float>(a[i * k + d])) *
                       static_cast<double>(static_cast<float>(b[s.bt ? j * k + d : d * n + j]));
      sum += x, magnitude += std::fabs(x);
    }
    return sum;
  }
  /// Whether sampled elements are within the error bound.
  bool right() const {
    auto const n = static_cast<std::size_t>(s.n);
    for (std::size_t t = 0; t < 64; ++t) {
      std::size_t const at = t * 2654435761u % c.size();
      double magnitude = 0, const_sum = value(at / n, at % n, magnitude), ku = s.k * 0x1p-24;
      if (!(std::fabs(static_cast<double>(c[at]) - const_sum) <= ku / (1 - ku) * magnitude)) return false;
    }
    return true;
  }

 private:
  static std::size_t size(int x, int y) { return static_cast<std::size_t>(x) * static_cast<std::size_t>(y); }
  static void fill(std::vector<T>& x, unsigned seed) {
    std::vector<float> const r = bench::random_floats(x.size(), seed);
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = static_cast<T>(std::is_integral_v<T> ? std::floor(r[i] * 128) : r[i]);
  }
};

template <class F>
double seconds(F f) {
  double const start = bench::now(bench::watch::thread);
  f();
  return bench::now(bench::watch::thread) - start;
}

/// oneDNN in this process, where the module was built.
struct library {
  using make_function = void* (*)(int, int, int, bool, void*, void*, float*, bool);
  make_function make = nullptr;
  void (*run)(void*) = nullptr, (*drop)(void*) = nullptr;

  library() {
#if defined(HEDDLE_BENCH_PEERS)
    if (void* const module = dlopen(HEDDLE_BENCH_PEERS "/dnnl_types.so", RTLD_NOW | RTLD_LOCAL)) {
      make = reinterpret_cast<make_function>(dlsym(module, "heddle_dnnl_make"));
      run = reinterpret_cast<void (*)(void*)>(dlsym(module, "heddle_dnnl_run"));
      drop = reinterpret_cast<void (*)(void*)>(dlsym(module, "heddle_dnnl_drop"));
    }
#endif
  }
};

/// The faster of oneDNN's ways that is right; null where there is none.
void* fastest(library const& peer, operands<bf16>& x) {
  void* best = nullptr;
  double least = HUGE_VAL;
  for (bool const own : {false, true}) {
    void* const call =
        peer.make ? peer.make(x.s.m, x.s.n, x.s.k, x.s.bt, x.a.data(), x.b.data(), x.c.data(), own) : nullptr;
    if (!call) continue;
    x.c.assign(x.c.size(), __builtin_nanf(""));
    double t = seconds([&] { peer.run(call); });
    bool const right = x.right();
    for (int i = 0; i < 3; ++i) t = std::min(t, seconds([&] { peer.run(call); }));
    if (right && t < least) {
      if (best) peer.drop(best);
      best = call, least = t;
    } else {
      peer.drop(call);
    }
  }
  return best;
}

/// oneDNN's time / ours, or 0 without it.
double against_peer(library const& peer, shape const& s, serial_executor& exec) {
  operands<bf16> x(s);
  double const flops = 2.0 * s.m * s.n * s.k;
  void* const other = fastest(peer, x);
  x.c.assign(x.c.size(), __builtin_nanf(""));
  x.multiply(exec, x.c.data());
  if (!x.right()) std::printf("%s: wrong\n", s.name);
  std::vector<double> us, them;
  for (int i = 0; i < runs; ++i) {
    us.push_back(seconds([&] { x.multiply(exec, x.c.data()); }));
    if (other) them.push_back(seconds([&] { peer.run(other); }));
  }
  bench::measurement m{.bench = "linalg_matmul_types",
                       .name = std::string("bf16 ") + s.name,
                       .seconds = bench::median(us),
                       .work = flops};
  if (other) m.peers.emplace_back("oneDNN", bench::median(them)), peer.drop(other);
  bench::print_measure(m);
  return bench::ratio(m);
}

struct speedup {
  double bf16_over_float, bytes_over_float;
};
speedup over_float(int n, serial_executor& exec) {
  shape const s{"", n, n, n, false};
  operands<bf16> x(s);
  operands<float> y(s);
  operands<std::int8_t> z(s);
  std::vector<std::int32_t> sums(z.c.size());
  std::vector<double> t[3];
  for (int i = 0; i <= runs; ++i) {
    t[0].push_back(seconds([&] { x.multiply(exec, x.c.data()); }));
    t[1].push_back(seconds([&] { y.multiply(exec, y.c.data()); }));
    t[2].push_back(seconds([&] { z.multiply(exec, sums.data()); }));
  }
  double const flops = 2.0 * n * n * n, f = bench::median(t[1]);
  for (int i : {0, 2})
    bench::print_measure({.bench = "linalg_matmul_types",
                          .name = (i == 0 ? "bf16 beside float, " : "bytes beside float, ") + std::to_string(n),
                          .seconds = bench::median(t[i]),
                          .peers = {{"our float", f}},
                          .work = flops});
  return {f / bench::median(t[0]), f / bench::median(t[2])};
}

}  // namespace

int main(int count, char** arguments) {
  bool const quick = count > 1 && std::strcmp(arguments[1], "--quick") == 0;
  if (quick) runs = 3;
  serial_executor exec;
  library const peer;
  std::printf("ceiling: FMA %.1f Gflop/s (%s)\n", bench::fma_peak(1), name(best_isa()));
  double sum = 0;
  int compared = 0;
  for (shape const& s : shapes) {
    if (quick && s.m * double(s.n) * s.k > 1e9) continue;
    double const ratio = against_peer(peer, s, exec);
    if (ratio > 0) sum += std::log(ratio), ++compared;
  }
  if (compared > 0)
    std::printf("evidence matmul.bf16.geomean %.3f ratio\n", std::exp(sum / compared));
  else
    std::printf("evidence matmul.bf16.geomean absent no_peer_found\n");
  speedup const at_1024 = over_float(quick ? 512 : 1024, exec);
  double least = at_1024.bf16_over_float;
  if (!quick) least = std::min(least, over_float(2048, exec).bf16_over_float);
  std::printf("evidence matmul.bf16.vs_f32 %.3f ratio\n", least);
  std::printf("evidence matmul.i8.vs_f32 %.3f ratio\n", at_1024.bytes_over_float);
}
