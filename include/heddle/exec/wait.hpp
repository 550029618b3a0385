// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/config.hpp>

#include <cstddef>
#include <cstdint>

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/// @file
/// How a thread waits for another one: spin only where cores are free, then yield, then park on a futex with an
/// absolute deadline. One word, one rule, used by the thread team, the queues and the thread communicator.

namespace heddle {

/// A point in monotonic time. Units: nanoseconds.
struct deadline {
  std::int64_t at_ns = INT64_MAX;

  static HEDDLE_FN deadline never() noexcept { return {}; }
  static HEDDLE_FN std::int64_t now_ns() noexcept {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return std::int64_t{t.tv_sec} * 1000000000 + t.tv_nsec;
  }
  static HEDDLE_FN deadline in_seconds(double s) noexcept {
    return s >= 9e9 ? never() : deadline{now_ns() + static_cast<std::int64_t>(s * 1e9)};
  }
  HEDDLE_FN bool passed() const noexcept { return at_ns != INT64_MAX && now_ns() >= at_ns; }
};

namespace detail {

HEDDLE_FN void pause_core() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Sleeps while *word == expected, until woken or the deadline passes; may return early.
HEDDLE_FN void futex_wait(std::uint32_t const* word, std::uint32_t expected, deadline until) noexcept {
  timespec t;
  t.tv_sec = static_cast<time_t>(until.at_ns / 1000000000);
  t.tv_nsec = static_cast<long>(until.at_ns % 1000000000);
  syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, expected, until.at_ns == INT64_MAX ? nullptr : &t, nullptr,
          FUTEX_BITSET_MATCH_ANY);
}
HEDDLE_FN void futex_wake_all(std::uint32_t const* word) noexcept {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr, nullptr, 0);
}

}  // namespace detail

/// Threads of heddle that are alive in this process; set by teams, queues and rank groups as they start and stop.
inline int live_threads = 1;

HEDDLE_FN void add_live_threads(int n) noexcept { __atomic_add_fetch(&live_threads, n, __ATOMIC_RELAXED); }

/// Cores that this process may use: the affinity mask, cut by the cgroup CPU quota. At least 1.
HEDDLE_FN int usable_cores() noexcept;

/// The stages of one wait: spins while cores are free, then yields, then asks for a park.
class backoff {
 public:
  HEDDLE_FN backoff() noexcept
      : spins_(__atomic_load_n(&live_threads, __ATOMIC_RELAXED) <= usable_cores() ? 2000 : 0), yields_(20) {}

  /// True while waiting is cheap; false when the thread should park.
  HEDDLE_FN bool pause() noexcept {
    if (spins_ > 0) {
      --spins_;
      detail::pause_core();
      return true;
    }
    if (yields_ > 0) {
      --yields_;
      sched_yield();
      return true;
    }
    return false;
  }

 private:
  int spins_, yields_;
};

namespace detail {

inline int usable_cores_cache = 0;

// Reads "max 100000" or "150000 100000" of cgroup v2, or the two files of v1. Without <cstdio>: open, read, parse.
HEDDLE_FN long read_small_file(char const* path, char* buffer, std::size_t size) noexcept;

}  // namespace detail
}  // namespace heddle

#include <heddle/exec/detail/cores.hpp>
