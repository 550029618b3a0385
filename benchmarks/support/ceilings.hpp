// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// What the machine can do at most: fused multiply-adds in registers, and bytes from memory.

#include <heddle/exec/threads_executor.hpp>
#include <heddle/tile/targets.hpp>
#include <heddle/tile/vec.hpp>

#include <support/timing.hpp>

namespace heddle::bench {

struct fma_body {
  template <class Isa, class V, int... I>
  HEDDLE_TILE void steps(std::integer_sequence<int, I...>, V (&sums)[16], int n) const {
    V const x = V::splat(0.999f);
    for (int i = 0; i < n; ++i) ((sums[I] = fma(sums[I], x, x)), ...);
  }
  template <class Isa>
  HEDDLE_TILE void operator()(Isa, int const& n, float* const& out, double* const& flops) const {
    constexpr int lanes = Isa::template lanes<float>;
    using V = vec<float, lanes, lanes>;
    V sums[16];
    for (int i = 0; i < 16; ++i) sums[i] = V::splat(static_cast<float>(i));
    steps<Isa>(std::make_integer_sequence<int, 16>{}, sums, n);
    for (int i = 1; i < 16; ++i) sums[0] = sums[0] + sums[i];
    sums[0].store(out);
    *flops = 2.0 * 16 * lanes * n;
  }
};

/// Gflop/s of fp32 FMA, the median of nine.
inline double fma_peak(int threads) {
  threads_executor exec(threads);
  std::vector<float> sink(static_cast<std::size_t>(threads) * 64);
  std::vector<double> rates;
  for (int r = 0; r < 9; ++r) {
    double flops = 0, start = now(watch_for(threads));
    exec.for_each_tile(threads, [&, out = sink.data()](index_t, int worker) {
      double mine = 0;
      dispatch_isa(fma_body{}, 400000, out + 64 * worker, &mine);
      if (worker == 0) flops = mine * threads;
    });
    rates.push_back(flops / (now(watch_for(threads)) - start) * 1e-9);
  }
  return median(rates);
}

struct read_body {
  template <class Isa>
  HEDDLE_TILE void operator()(Isa, float const* const& from, index_t const& n, float* const& out) const {
    constexpr int lanes = Isa::template lanes<float>;
    using V = vec<float, lanes, lanes>;
    V a = V::zero(), b = a, c = a, d = a;
    for (index_t i = 0; i + 4 * lanes <= n; i += 4 * lanes) {
      a = a + V::load(from + i), b = b + V::load(from + i + lanes);
      c = c + V::load(from + i + 2 * lanes), d = d + V::load(from + i + 3 * lanes);
    }
    ((a + b) + (c + d)).store(out);
  }
};
struct triad_body {
  template <class Isa>
  HEDDLE_TILE void operator()(Isa, float* const& x, float const* const& y, float const* const& z,
                              index_t const& n) const {
    constexpr int lanes = Isa::template lanes<float>;
    using V = vec<float, lanes, lanes>;
    V const s = V::splat(0.5f);
    for (index_t i = 0; i + lanes <= n; i += lanes) fma(s, V::load(z + i), V::load(y + i)).store(x + i);
  }
};

struct bandwidth {
  double read, triad;  ///< GB/s; the triad counts 12 bytes per element
};
/// From memory that no cache holds (three arrays of 128 MiB), the median of five.
inline bandwidth memory_bandwidth(int threads) {
  constexpr index_t n = index_t{1} << 25;
  threads_executor exec(threads);
  std::vector<float> x(n, 1.0f), y(n, 2.0f), z(n, 3.0f), sink(static_cast<std::size_t>(threads) * 64);
  std::vector<double> read, triad;
  index_t const part = n / threads;
  for (int r = 0; r < 5; ++r) {
    double start = now(watch_for(threads));
    exec.for_each_tile(threads, [&](index_t tile, int worker) {
      dispatch_isa(read_body{}, static_cast<float const*>(y.data()) + tile * part, part, sink.data() + 64 * worker);
    });
    read.push_back(4e-9 * static_cast<double>(n) / (now(watch_for(threads)) - start));
    start = now(watch_for(threads));
    exec.for_each_tile(threads, [&](index_t tile, int) {
      dispatch_isa(triad_body{}, x.data() + tile * part, static_cast<float const*>(y.data()) + tile * part,
                   static_cast<float const*>(z.data()) + tile * part, part);
    });
    triad.push_back(12e-9 * static_cast<double>(n) / (now(watch_for(threads)) - start));
  }
  return {median(read), median(triad)};
}

}  // namespace heddle::bench
