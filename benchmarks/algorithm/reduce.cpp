// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// @file
/// The sum of 2^24 floats with two threads against oneTBB and Thrust's OpenMP system. Prints evidence reduce: the time
/// of the fastest peer / ours.

#include <heddle/algorithm/reduce.hpp>
#include <heddle/backend/cpu/tile_context.hpp>
#include <heddle/exec/threads_executor.hpp>

#include <peers/algorithms.hpp>
#include <support/contest.hpp>

#include <cmath>
#include <cstdio>
#include <cstring>

using namespace heddle;

int main(int argc, char** argv) {
  bool const quick = argc > 1 && std::strcmp(argv[1], "--quick") == 0;
  index_t const n = quick ? index_t{1} << 20 : index_t{1} << 24;
  std::vector<float> const x = bench::random_floats(static_cast<std::size_t>(n), 7);
  threads_executor exec(2);
  float ours = 0, tbb = 0, thrust = 0;
  auto const run = [&] {
    reduce(exec, view<float const, 1>(x.data(), dims<1>(n)), view<float, 1>(&ours, dims<1>(1)), plus<float>{});
  };
  auto const with_tbb = [&] {
#if defined(HEDDLE_BENCH_TBB)
    tbb = bench::peers::tbb_reduce(x.data(), x.size());
#endif
  };
  auto const with_thrust = [&] {
#if defined(HEDDLE_BENCH_THRUST)
    thrust = bench::peers::thrust_reduce(x.data(), x.size());
#endif
  };
  std::vector<double> const t = bench::medians(quick ? 3 : 15, run, with_tbb, with_thrust);
  double exact = 0, size = 0;
  for (float v : x) exact += v, size += std::fabs(v);
  // A tree has log2(n) roundings on the way of each element, a chain n.
  if (std::fabs(ours - exact) > size * 0x1p-24 * 40) return std::puts("our sum is wrong"), 1;
  std::printf("sum of %td floats: ours %.3f ms", static_cast<std::ptrdiff_t>(n), t[0] * 1e3);
  double best = 0;
#if defined(HEDDLE_BENCH_TBB)
  if (std::fabs(tbb - exact) > size * 1e-3) return std::puts("TBB's sum is wrong"), 1;
  std::printf(", TBB %.3f ms", t[1] * 1e3);
  best = t[1];
#endif
#if defined(HEDDLE_BENCH_THRUST)
  if (std::fabs(thrust - exact) > size * 1e-3) return std::puts("Thrust's sum is wrong"), 1;
  std::printf(", Thrust %.3f ms", t[2] * 1e3);
  if (best == 0 || t[2] < best) best = t[2];
#endif
  if (best == 0)
    std::puts("\nevidence reduce absent neither oneTBB nor Thrust was found");
  else
    std::printf("\nevidence reduce %.3f ratio\n", best / t[0]);
}
