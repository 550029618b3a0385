// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// @file
/// The stable permutation of 2^24 random 32-bit keys with two threads, against loops written out and compiled with -O3
/// for this machine: placed directly, and by lines that are streamed out. Prints evidence partition: the time of the
/// faster loop / ours for 256 keys.

#include <heddle/algorithm/partition_by_key.hpp>
#include <heddle/backend/cpu/tile_context.hpp>
#include <heddle/exec/threads_executor.hpp>

#include <peers/algorithms.hpp>
#include <support/contest.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

using namespace heddle;

namespace {

struct aligned_indices {
  std::int32_t* data;
  explicit aligned_indices(index_t n) : data(new (std::align_val_t(64)) std::int32_t[static_cast<std::size_t>(n)]) {}
  aligned_indices(aligned_indices const&) = delete;
  aligned_indices& operator=(aligned_indices const&) = delete;
  ~aligned_indices() { ::operator delete[](data, std::align_val_t(64)); }
};

struct by_hand {
  threads_executor& exec;
  std::vector<std::int32_t> const& keys;
  index_t bins;
  std::int32_t* permutation;

  template <class Place>
  void run(Place const& place) const {
    std::size_t const half = keys.size() / 2, count = static_cast<std::size_t>(bins);
    std::vector<std::uint32_t> counts(2 * count);
    std::vector<std::int64_t> next(2 * count);
    exec.for_each_tile(2, [&](index_t t, int) {
      bench::peers::count_keys(keys.data() + static_cast<std::size_t>(t) * half, half, count,
                               counts.data() + static_cast<std::size_t>(t) * count);
    });
    std::int64_t at = 0;
    for (std::size_t k = 0; k < count; ++k)
      for (std::size_t t = 0; t < 2; ++t) next[t * count + k] = at, at += counts[t * count + k];
    exec.for_each_tile(2, [&](index_t t, int) {
      place(static_cast<std::size_t>(t) * half, half, next.data() + static_cast<std::size_t>(t) * count);
    });
  }
};

double ratio(index_t n, index_t bins, int runs) {
  std::vector<std::int32_t> keys(static_cast<std::size_t>(n));
  std::uint64_t state = 5;
  for (std::int32_t& k : keys) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    k = static_cast<std::int32_t>((state >> 32) * static_cast<std::uint64_t>(bins) >> 32);
  }
  aligned_indices ours(n), theirs(n);
  std::vector<index_t> counts(static_cast<std::size_t>(bins)), offsets(static_cast<std::size_t>(bins) + 1);
  index_t dropped = -1;
  threads_executor exec(2);
  by_hand const loops{exec, keys, bins, theirs.data};
  auto const run = [&] {
    partition_by_key(exec, view<std::int32_t const, 1>(keys.data(), dims<1>(n)),
                     view<index_t, 1>(counts.data(), dims<1>(bins)),
                     view<index_t, 1>(offsets.data(), dims<1>(bins + 1)), view<std::int32_t, 1>(ours.data, dims<1>(n)),
                     view<index_t, 1>(&dropped, dims<1>(1)));
  };
  auto const directly = [&] {
    loops.run([&](std::size_t first, std::size_t count, std::int64_t* next) {
      bench::peers::place_directly(keys.data(), first, count, next, theirs.data);
    });
  };
  auto const by_lines = [&] {
    loops.run([&](std::size_t first, std::size_t count, std::int64_t* next) {
      bench::peers::place_by_lines(keys.data(), first, count, static_cast<std::size_t>(bins), next, theirs.data);
    });
  };
  bench::measurement const m = bench::contest(runs,
                                              {.bench = "algorithm_partition_by_key",
                                               .name = bench::power_of_two(n) + " keys below " + std::to_string(bins),
                                               .threads = 2},
                                              run, {{"placed directly", directly}, {"streamed by lines", by_lines}});
  if (std::memcmp(ours.data, theirs.data, static_cast<std::size_t>(n) * sizeof(std::int32_t)) != 0 || dropped != 0)
    std::puts("the permutations differ"), std::exit(1);
  return bench::ratio(m);
}

}  // namespace

int main(int argc, char** argv) {
  bool const quick = argc > 1 && std::strcmp(argv[1], "--quick") == 0;
  index_t const n = quick ? index_t{1} << 20 : index_t{1} << 24;
  int const runs = quick ? 3 : 9;
  double of_256 = 0;
  for (index_t bins : {8, 64, 256, 512}) {
    double const r = ratio(n, bins, runs);
    if (bins == 256) of_256 = r;
  }
  std::printf("evidence partition %.3f ratio\n", of_256);
}
