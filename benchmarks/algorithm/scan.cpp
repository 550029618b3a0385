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

struct peer {
  char const* name;
  void (*scan)(float const*, float*, std::size_t);
};
constexpr peer peers[] = {
    {"oneTBB", bench::peers::tbb_scan},
    {"Thrust", bench::peers::thrust_scan},
};

}  // namespace

int main(int argc, char** argv) {
  bool const quick = argc > 1 && std::strcmp(argv[1], "--quick") == 0;
  index_t const n = quick ? index_t{1} << 20 : index_t{1} << 24;
  std::vector<float> const x = bench::random_floats(static_cast<std::size_t>(n), 7);
  std::vector<float> ours(x.size(), NAN);
  threads_executor exec(2);
  auto const run = [&] {
    inclusive_scan(exec, view<float const, 1>(x.data(), dims<1>(n)), view<float, 1>(ours.data(), dims<1>(n)),
                   plus<float>{});
  };
  std::vector<std::vector<float>> theirs(std::size(peers), ours);
  bench::peer_programs others;
  for (std::size_t i = 0; i < theirs.size(); ++i)
    if (peers[i].scan) others.emplace_back(peers[i].name, [&, i] { peers[i].scan(x.data(), theirs[i].data(), n); });
  bench::measurement const m = bench::contest(quick ? 3 : 15,
                                              {.bench = "algorithm_scan",
                                               .name = "running sums of " + bench::power_of_two(n) + " floats",
                                               .threads = 2,
                                               .work = 8.0 * double(n),
                                               .unit = "GB/s"},
                                              run, others);
  if (!right(x, ours)) return std::puts("our running sums are wrong"), 1;
  for (std::size_t i = 0; i < theirs.size(); ++i)
    if (peers[i].scan && !right(x, theirs[i]))
      return std::printf("the running sums of %s are wrong\n", peers[i].name), 1;
  if (others.empty())
    std::puts("evidence scan absent no peer was found");
  else
    std::printf("evidence scan %.3f ratio\n", bench::ratio(m));
}
