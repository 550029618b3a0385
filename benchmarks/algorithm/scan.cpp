// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// @file
/// Running sums of 2^24 floats with two threads against oneTBB and Thrust's OpenMP system. Prints evidence scan: the
/// time of the fastest peer / ours.

#include <heddle/algorithm/scan.hpp>
#include <heddle/backend/cpu/tile_context.hpp>
#include <heddle/exec/threads_executor.hpp>

#include <peers/algorithms.hpp>
#include <support/contest.hpp>

#include <cmath>
#include <cstdio>
#include <cstring>

using namespace heddle;

namespace {

// Whether running sums follow those in double, within what a chain of additions may lose.
bool right(std::vector<float> const& x, std::vector<float> const& y) {
  double exact = 0, size = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    exact += x[i], size += std::fabs(x[i]);
    if (!(std::fabs(y[i] - exact) <= size * 1e-3 + 1e-3)) return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  bool const quick = argc > 1 && std::strcmp(argv[1], "--quick") == 0;
  index_t const n = quick ? index_t{1} << 20 : index_t{1} << 24;
  std::vector<float> const x = bench::random_floats(static_cast<std::size_t>(n), 7);
  std::vector<float> ours(x.size(), NAN), tbb = ours, thrust = ours;
  threads_executor exec(2);
  auto const run = [&] {
    inclusive_scan(exec, view<float const, 1>(x.data(), dims<1>(n)), view<float, 1>(ours.data(), dims<1>(n)),
                   plus<float>{});
  };
  auto const with_tbb = [&] {
#if defined(HEDDLE_BENCH_TBB)
    bench::peers::tbb_scan(x.data(), tbb.data(), x.size());
#endif
  };
  auto const with_thrust = [&] {
#if defined(HEDDLE_BENCH_THRUST)
    bench::peers::thrust_scan(x.data(), thrust.data(), x.size());
#endif
  };
  std::vector<double> const t = bench::medians(quick ? 3 : 15, run, with_tbb, with_thrust);
  if (!right(x, ours)) return std::puts("our running sums are wrong"), 1;
  std::printf("running sums of %td floats: ours %.3f ms", static_cast<std::ptrdiff_t>(n), t[0] * 1e3);
  double best = 0;
#if defined(HEDDLE_BENCH_TBB)
  if (!right(x, tbb)) return std::puts("TBB's running sums are wrong"), 1;
  std::printf(", TBB %.3f ms", t[1] * 1e3);
  best = t[1];
#endif
#if defined(HEDDLE_BENCH_THRUST)
  if (!right(x, thrust)) return std::puts("Thrust's running sums are wrong"), 1;
  std::printf(", Thrust %.3f ms", t[2] * 1e3);
  if (best == 0 || t[2] < best) best = t[2];
#endif
  if (best == 0)
    std::puts("\nevidence scan absent neither oneTBB nor Thrust was found");
  else
    std::printf("\nevidence scan %.3f ratio\n", best / t[0]);
}
