// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// The line that a benchmark prints for each measurement. cmake/evidence.cmake keeps the lines in
/// docs/benchmarks.jsonl, from which cmake/checks/benchmarks.py makes docs/benchmarks.md and its pictures.

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace heddle::bench {

/// A time of ours with the times of others for the same work. `bench` is the program without `bench_`; one of its
/// tables has a row for each `name`, and one column for each number of threads.
struct measurement {
  std::string bench, name;
  int threads = 1;
  double seconds = 0;
  std::vector<std::pair<std::string, double>> peers = {};  ///< name and seconds; none where nothing was compared
  double work = 0;                                         ///< flops or bytes of one call, where a rate is shown
  char const* unit = "Gflop/s";                            ///< of the rate
  double ceiling = 0;                                      ///< the most that the machine can do, in that unit
};

/// n as "2^24", where it is a power of two.
inline std::string power_of_two(long long n) {
  return "2^" + std::to_string(__builtin_ctzll(static_cast<unsigned long long>(n)));
}

/// The fastest peer's time / ours; 0 without a peer.
inline double ratio(measurement const& m) {
  double least = 0;
  for (auto const& [name, seconds] : m.peers) least = least == 0 || seconds < least ? seconds : least;
  return least / m.seconds;
}

/// Units: microseconds, four digits of each number. Names must need no escapes in JSON.
inline void print_measure(measurement const& m) {
  std::printf(R"(measure {"bench":"%s","case":"%s","threads":%d,"ours_us":%.4g,"peers":{)", m.bench.c_str(),
              m.name.c_str(), m.threads, m.seconds * 1e6);
  char const* comma = "";
  for (auto const& [name, seconds] : m.peers) {
    std::printf("%s\"%s\":%.4g", comma, name.c_str(), seconds * 1e6);
    comma = ",";
  }
  std::printf("}");
  if (m.work > 0) std::printf(R"(,"rate":%.4g,"unit":"%s")", m.work / m.seconds * 1e-9, m.unit);
  if (m.ceiling > 0) std::printf(R"(,"ceiling":%.4g)", m.ceiling);
  std::printf("}\n");
  std::fflush(stdout);
}

}  // namespace heddle::bench
