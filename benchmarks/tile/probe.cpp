// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// @file
/// The tile programs against code written by hand for AVX-512, on one thread. Ratios are hand-written time / ours, or
/// a part of the FMA peak. Shapes: rows of 1024 floats, 256 KiB (in L2) and 128 MiB (in DRAM); matmul 512, 1000, 1024.

// The intrinsics of g++ 12 start from undefined registers.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

#include <heddle/algorithm/copy.hpp>
#include <heddle/algorithm/reduce.hpp>
#include <heddle/backend/cpu/tile_context.hpp>
#include <heddle/exec/serial_executor.hpp>
#include <heddle/linalg/tile_matmul.hpp>
#include <heddle/nn/softmax.hpp>

#include <support/measure.hpp>

#include <immintrin.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

using namespace heddle;

namespace {

#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma"), noinline))

/// CPU time of this thread: what else runs on the machine is left out, as far as it can be.
double now() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Medians of `runs` interleaved runs of both.
template <class A, class B>
std::pair<double, double> medians(int runs, A const& a, B const& b) {
  std::vector<double> ta, tb;
  a();
  b();
  for (int i = 0; i < runs; ++i) {
    double const t0 = now();
    a();
    double const t1 = now();
    b();
    ta.push_back(t1 - t0);
    tb.push_back(now() - t1);
  }
  std::nth_element(ta.begin(), ta.begin() + runs / 2, ta.end());
  std::nth_element(tb.begin(), tb.begin() + runs / 2, tb.end());
  return {ta[runs / 2], tb[runs / 2]};
}

__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma"), always_inline)) inline __m512 exp_by_hand(
    __m512 x) {
  __m512 const n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504f)), 8);
  __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0x1.62e43p-1f), x);
  r = _mm512_fnmadd_ps(n, _mm512_set1_ps(-0x1.05c61p-29f), r);
  __m512 p = _mm512_set1_ps(0x1.6a2364p-10f);
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0x1.123a6cp-7f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0x1.5558f4p-5f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0x1.555490p-3f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0x1.fffffcp-2f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f));
  return _mm512_scalef_ps(p, n);
}

TARGET void softmax_by_hand(float const* x, float* y, index_t rows, index_t columns) {
  for (index_t r = 0; r < rows; ++r, x += columns, y += columns) {
    __m512 m[4], s[4];
    for (auto& v : m) v = _mm512_set1_ps(-1e30f);
    for (index_t c = 0; c < columns; c += 64)
#pragma GCC unroll 4
      for (int u = 0; u < 4; ++u) m[u] = _mm512_max_ps(m[u], _mm512_loadu_ps(x + c + 16 * u));
    __m512 const peak =
        _mm512_set1_ps(_mm512_reduce_max_ps(_mm512_max_ps(_mm512_max_ps(m[0], m[1]), _mm512_max_ps(m[2], m[3]))));
    for (auto& v : s) v = _mm512_setzero_ps();
    for (index_t c = 0; c < columns; c += 64)
#pragma GCC unroll 4
      for (int u = 0; u < 4; ++u) {
        __m512 const e = exp_by_hand(_mm512_sub_ps(_mm512_loadu_ps(x + c + 16 * u), peak));
        _mm512_storeu_ps(y + c + 16 * u, e);
        s[u] = _mm512_add_ps(s[u], e);
      }
    __m512 const scale = _mm512_set1_ps(
        1.0f / _mm512_reduce_add_ps(_mm512_add_ps(_mm512_add_ps(s[0], s[1]), _mm512_add_ps(s[2], s[3]))));
    for (index_t c = 0; c < columns; c += 16) _mm512_storeu_ps(y + c, _mm512_mul_ps(scale, _mm512_loadu_ps(y + c)));
  }
}

TARGET float reduce_by_hand(float const* x, index_t n) {
  __m512 s[4];
  for (auto& v : s) v = _mm512_setzero_ps();
  for (index_t c = 0; c < n; c += 64)
#pragma GCC unroll 4
    for (int u = 0; u < 4; ++u) s[u] = _mm512_add_ps(s[u], _mm512_loadu_ps(x + c + 16 * u));
  return _mm512_reduce_add_ps(_mm512_add_ps(_mm512_add_ps(s[0], s[1]), _mm512_add_ps(s[2], s[3])));
}

// FMA flops of one core: 16 independent chains.
TARGET double fma_peak(int steps, float* sink) {
  __m512 a[16];
  for (int i = 0; i < 16; ++i) a[i] = _mm512_set1_ps(1.0f + static_cast<float>(i));
  __m512 const b = _mm512_set1_ps(0.999f), c = _mm512_set1_ps(0.001f);
  double const start = now();
  for (int s = 0; s < steps; ++s)
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) a[i] = _mm512_fmadd_ps(a[i], b, c);
  double const seconds = now() - start;
  for (auto const& v : a) *sink += _mm512_reduce_add_ps(v);
  return 2.0 * 16 * 16 * steps / seconds;
}

struct memory {
  std::vector<float> x, y;
  explicit memory(index_t n) : x(static_cast<std::size_t>(n)), y(static_cast<std::size_t>(n), 0.0f) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 97) * 0.05f;
  }
};

void stream(char const* where, index_t rows, int repeat, int runs) {
  index_t const columns = 1024, n = rows * columns;
  memory m(n);
  serial_executor exec;
  view<float const, 2> const x(m.x.data(), dims<2>(rows, columns));
  view<float, 2> const y(m.y.data(), dims<2>(rows, columns));
  auto const repeated = [repeat](auto const& f) {
    return [repeat, &f] {
      for (int i = 0; i < repeat; ++i) {
        f();
        asm volatile("" ::: "memory");
      }
    };
  };
  auto const report = [&](char const* name, auto const& hand, auto const& ours) {
    auto const t = medians(runs, repeated(hand), repeated(ours));
    bench::print_measure({.bench = "tile_probe",
                          .name = std::string(name) + " in " + where,
                          .seconds = t.second / repeat,
                          .peers = {{"by hand", t.first / repeat}}});
    std::printf("evidence tile.%s.%s %.3f ratio\n", name, where, t.first / t.second);
  };
  report(
      "copy", [&] { std::memcpy(m.y.data(), m.x.data(), static_cast<std::size_t>(n) * 4); }, [&] { copy(exec, x, y); });
  report(
      "softmax", [&] { softmax_by_hand(m.x.data(), m.y.data(), rows, columns); }, [&] { nn::softmax(exec, x, y); });
  float result = 0, sink = 0;
  report(
      "reduce", [&] { sink += reduce_by_hand(m.x.data(), n); },
      [&] { reduce(exec, x, view<float, 1>(&result, dims<1>(1)), plus<float>{}); });
  if (sink < 0) std::printf("%f\n", static_cast<double>(sink));
}

}  // namespace

int main() {
  if (machine_isa() < isa::avx512) {
    std::printf("evidence tile.softmax.l2 absent this machine has no AVX-512\n");
    return 0;
  }
  stream("l2", 64, 40, 15);
  stream("dram", 32768, 1, 9);
  float sink = 0;
  for (index_t size : {512, 1000, 1024}) {
    memory a(size * size), c(size * size);
    serial_executor exec;
    view<float const, 2> const x(a.x.data(), dims<2>(size, size));
    view<float, 2> const y(c.y.data(), dims<2>(size, size));
    std::vector<double> part, seconds;
    double peak_rate = 0;
    for (int i = 0; i < 9; ++i) {
      double const peak = fma_peak(4000000, &sink), start = now();
      linalg::tile_matmul(exec, x, x, y);
      seconds.push_back(now() - start);
      part.push_back(2.0 * static_cast<double>(size * size * size) / seconds.back() / peak);
      peak_rate = std::max(peak_rate, peak * 1e-9);
    }
    std::nth_element(seconds.begin(), seconds.begin() + 4, seconds.end());
    bench::print_measure({.bench = "tile_probe",
                          .name = "matmul " + std::to_string(size),
                          .seconds = seconds[4],
                          .work = 2.0 * static_cast<double>(size * size * size),
                          .ceiling = peak_rate});
    std::nth_element(part.begin(), part.begin() + 4, part.end());
    std::printf("evidence tile.matmul.%lld %.3f peak\n", static_cast<long long>(size), part[4]);
  }
  return sink == 1 ? 1 : 0;
}
