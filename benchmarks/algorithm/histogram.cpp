// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// @file
/// Counts of 2^24 keys in 256 bins with two threads against a loop written out with four tables, compiled with -O3 for
/// this machine. Prints evidence histogram: the loop's time / ours for keys of one byte.

#include <heddle/algorithm/histogram.hpp>
#include <heddle/backend/cpu/tile_context.hpp>
#include <heddle/exec/threads_executor.hpp>

#include <peers/algorithms.hpp>
#include <support/contest.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace heddle;

namespace {

template <class T, class Loop>
double ratio(char const* name, index_t n, int runs, Loop const& loop) {
  std::vector<T> keys(static_cast<std::size_t>(n));
  std::vector<index_t> ours(256, -1), theirs(256, -1);
  std::uint64_t state = 5;
  for (T& k : keys) k = static_cast<T>((state = state * 6364136223846793005u + 1442695040888963407u) >> 56);
  threads_executor exec(2);
  auto const run = [&] {
    histogram_by(exec, view<T const, 1>(keys.data(), dims<1>(n)), view<index_t, 1>(ours.data(), dims<1>(256)));
  };
  auto const by_hand = [&] {
    std::uint32_t parts[2][256];
    exec.for_each_tile(
        2, [&](index_t t, int) { loop(keys.data() + t * (n / 2), static_cast<std::size_t>(n / 2), parts[t]); });
    for (int b = 0; b < 256; ++b) theirs[b] = index_t{parts[0][b]} + parts[1][b];
  };
  bench::measurement const m = bench::contest(runs,
                                              {.bench = "algorithm_histogram",
                                               .name = bench::power_of_two(n) + " keys of " + name,
                                               .threads = 2,
                                               .work = double(n) * sizeof(T),
                                               .unit = "GB/s"},
                                              run, {{"loop written out", by_hand}});
  if (ours != theirs) std::puts("the counts differ"), std::exit(1);
  return bench::ratio(m);
}

}  // namespace

int main(int argc, char** argv) {
  bool const quick = argc > 1 && std::strcmp(argv[1], "--quick") == 0;
  index_t const n = quick ? index_t{1} << 20 : index_t{1} << 24;
  int const runs = quick ? 3 : 15;
  double const bytes = ratio<std::uint8_t>("one byte", n, runs, bench::peers::count_u8);
  ratio<std::uint32_t>("four bytes", n, runs, bench::peers::count_u32);
  std::printf("evidence histogram %.3f ratio\n", bytes);
}
