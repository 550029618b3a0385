// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Programs that run in turns, so that what else the machine does meets all of them.

#include <support/measure.hpp>
#include <support/timing.hpp>

#include <time.h>

#include <functional>

namespace heddle::bench {

/// What runs beside ours, with its name.
using peer_programs = std::vector<std::pair<std::string, std::function<void()>>>;

/// Runs ours and every peer once in each of `runs` rounds, after one that is not counted, by the wall clock. Threads of
/// the one before get a moment to fall asleep. Prints the medians of all, and fills them in.
inline measurement contest(int runs, measurement m, std::function<void()> const& ours, peer_programs const& peers) {
  std::vector<std::vector<double>> times(peers.size() + 1);
  for (int r = -1; r < runs; ++r)
    for (std::size_t i = 0; i < times.size(); ++i) {
      timespec const rest{0, 3000000};
      nanosleep(&rest, nullptr);
      double const start = now(watch::wall);
      i == 0 ? ours() : peers[i - 1].second();
      if (r >= 0) times[i].push_back(now(watch::wall) - start);
    }
  m.seconds = median(times[0]);
  for (std::size_t i = 0; i < peers.size(); ++i) m.peers.emplace_back(peers[i].first, median(times[i + 1]));
  print_measure(m);
  return m;
}

}  // namespace heddle::bench
