// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Seconds, medians and made-up numbers for benchmarks.

#include <time.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace heddle::bench {

/// What is measured: the wall clock, or the processor time of the calling thread, which leaves out other programs.
enum class watch { wall, thread };

inline double now(watch w) {
  timespec t;
  clock_gettime(w == watch::wall ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// One thread is timed by its processor time, so that a busy machine spoils less.
inline watch watch_for(int threads) { return threads == 1 ? watch::thread : watch::wall; }

inline double median(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  return x[x.size() / 2];
}

/// n floats in [-1, 1), the same for one seed everywhere.
inline std::vector<float> random_floats(std::size_t n, unsigned seed) {
  std::vector<float> x(n);
  for (float& v : x) {
    seed = seed * 1664525u + 1013904223u;
    v = static_cast<float>(seed >> 8) * 0x1p-23f - 1.0f;
  }
  return x;
}

}  // namespace heddle::bench
