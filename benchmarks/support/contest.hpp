// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Programs that run in turns, so that what else the machine does meets all of them.

#include <support/timing.hpp>

#include <time.h>

#include <utility>
#include <vector>

namespace heddle::bench {

/// Medians, in seconds, of `runs` rounds in which every callable runs once, after one round that is not counted.
/// Threads of the one before get a moment to fall asleep.
template <class... F>
std::vector<double> medians(int runs, F const&... f) {
  std::vector<std::vector<double>> times(sizeof...(F));
  auto const once = [](auto const& call) {
    timespec const rest{0, 3000000};
    nanosleep(&rest, nullptr);
    double const start = now(watch::wall);
    call();
    return now(watch::wall) - start;
  };
  for (int r = -1; r < runs; ++r) {
    std::size_t i = 0;
    ((r < 0 ? static_cast<void>(once(f)) : times[i].push_back(once(f)), ++i), ...);
  }
  std::vector<double> result;
  for (auto& t : times) result.push_back(median(std::move(t)));
  return result;
}

}  // namespace heddle::bench
