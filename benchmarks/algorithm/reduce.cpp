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

namespace {

struct peer {
  char const* name;
  float (*sum)(float const*, std::size_t);
};
constexpr peer peers[] = {
    {"oneTBB", bench::peers::tbb_reduce},
    {"Thrust", bench::peers::thrust_reduce},
};

}  // namespace

int main(int argc, char** argv) {
  bool const quick = argc > 1 && std::strcmp(argv[1], "--quick") == 0;
  index_t const n = quick ? index_t{1} << 20 : index_t{1} << 24;
  std::vector<float> const x = bench::random_floats(static_cast<std::size_t>(n), 7);
  threads_executor exec(2);
  float ours = 0;
  auto const run = [&] {
    reduce(exec, view<float const, 1>(x.data(), dims<1>(n)), view<float, 1>(&ours, dims<1>(1)), plus<float>{});
  };
  std::vector<float> theirs(std::size(peers));
  bench::peer_programs others;
  for (std::size_t i = 0; i < theirs.size(); ++i)
    if (peers[i].sum) others.emplace_back(peers[i].name, [&, i] { theirs[i] = peers[i].sum(x.data(), x.size()); });
  bench::measurement const m = bench::contest(quick ? 3 : 15,
                                              {.bench = "algorithm_reduce",
                                               .name = "sum of " + bench::power_of_two(n) + " floats",
                                               .threads = 2,
                                               .work = 4.0 * double(n),
                                               .unit = "GB/s"},
                                              run, others);
  double exact = 0, size = 0;
  for (float v : x) exact += v, size += std::fabs(v);
  // A tree has log2(n) roundings on the way of each element, a chain n.
  if (std::fabs(ours - exact) > size * 0x1p-24 * 40) return std::puts("our sum is wrong"), 1;
  for (std::size_t i = 0; i < theirs.size(); ++i)
    if (peers[i].sum && std::fabs(theirs[i] - exact) > size * 1e-3)
      return std::printf("the sum of %s is wrong\n", peers[i].name), 1;
  if (others.empty())
    std::puts("evidence reduce absent no peer was found");
  else
    std::printf("evidence reduce %.3f ratio\n", bench::ratio(m));
}
