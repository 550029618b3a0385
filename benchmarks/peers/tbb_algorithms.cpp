// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "algorithms.hpp"

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_reduce.h>
#include <tbb/parallel_scan.h>

namespace heddle::bench::peers {

namespace {
tbb::global_control const two_threads(tbb::global_control::max_allowed_parallelism, 2);

using range = tbb::blocked_range<std::size_t>;
constexpr std::size_t grain = 1 << 14;

// Sixty-four running sums, which the compiler turns into vectors.
float sum(float const* x, std::size_t n) {
  float lanes[64] = {};
  std::size_t i = 0;
  for (; i + 64 <= n; i += 64)
    for (int l = 0; l < 64; ++l) lanes[l] += x[i + l];
  float total = 0;
  for (; i < n; ++i) total += x[i];
  for (float lane : lanes) total += lane;
  return total;
}
}  // namespace

float tbb_reduce(float const* x, std::size_t n) {
  return tbb::parallel_reduce(
      range(0, n, grain), 0.0f, [x](range const& r, float before) { return before + sum(x + r.begin(), r.size()); },
      [](float a, float b) { return a + b; });
}

void tbb_scan(float const* x, float* y, std::size_t n) {
  tbb::parallel_scan(
      range(0, n, grain), 0.0f,
      [x, y](range const& r, float before, bool final) {
        if (!final) return before + sum(x + r.begin(), r.size());
        for (std::size_t i = r.begin(); i != r.end(); ++i) y[i] = before += x[i];
        return before;
      },
      [](float a, float b) { return a + b; });
}

}  // namespace heddle::bench::peers
