// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/config.hpp>
#include <heddle/exec/detail/cores.hpp>

#include <climits>
#include <cstddef>
#include <cstdint>

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/// @file
/// How a thread waits for another one: spin only where cores are free, then yield, then park on a futex with an
/// absolute deadline. One word, one rule, used by the thread team, the queues and the messages of the thread
/// communicator. Its collectives wait in the same stages, but park on the word that decides their outcome.

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
HEDDLE_FN void futex_wake(std::uint32_t const* word, int waiters) noexcept {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, waiters, nullptr, nullptr, 0);
}
HEDDLE_FN void futex_wake_all(std::uint32_t const* word) noexcept { futex_wake(word, INT_MAX); }

}  // namespace detail

/// Threads of heddle that are alive in this process; set by teams, queues and rank groups as they start and stop.
inline int live_threads = 1;

/// Counts threads in, or out where n is negative.
HEDDLE_FN void add_live_threads(int n) noexcept { __atomic_add_fetch(&live_threads, n, __ATOMIC_RELAXED); }

/// How long one kind of wait spins: halved by each wait that had to park, doubled by each that a spin ended.
/// Sync: belongs to one waiting thread.
struct spin_budget {
  static constexpr int least = 32, most = 2000;
  int spins;

  HEDDLE_FN spin_budget() noexcept : spins(most) {}
};

/// The stages of one wait: spins while cores are free, then yields, then asks for a park.
///
/// Where heddle's threads outnumber the cores a spin only keeps the awaited thread from running, so the first
/// stage is left out and the second lasts for up to 100 microseconds.
class backoff {
 public:
  HEDDLE_FN backoff() noexcept : backoff(nullptr) {}
  HEDDLE_FN explicit backoff(spin_budget* budget) noexcept
      : budget_(budget), crowded_(__atomic_load_n(&live_threads, __ATOMIC_RELAXED) > usable_cores()), over_(false),
        spun_(0), yields_(0), yield_until_(0) {}
  backoff(backoff const&) = delete;
  backoff& operator=(backoff const&) = delete;
  HEDDLE_FN ~backoff() {
    if (budget_ && spun_ > 0 && yields_ == 0)
      budget_->spins = budget_->spins < spin_budget::most / 2 ? budget_->spins * 2 : spin_budget::most;
  }

  /// True while waiting is cheap; false when the thread should park.
  HEDDLE_FN bool pause() noexcept {
    if (!crowded_ && spun_ < (budget_ ? budget_->spins : spin_budget::most)) {
      ++spun_;
      detail::pause_core();
      return true;
    }
    return yield();
  }

 private:
  HEDDLE_FN bool yield() noexcept {
    if (over_) return false;
    if (yields_ == 0 && crowded_) yield_until_ = deadline::now_ns() + 100000;
    over_ = crowded_ ? yields_ >= 4 && deadline::now_ns() >= yield_until_ : yields_ >= 2;
    if (!over_) {
      ++yields_;
      sched_yield();
    } else if (budget_ && spun_ > 0) {
      int const half = budget_->spins / 2;
      budget_->spins = half > spin_budget::least ? half : spin_budget::least;
    }
    return !over_;
  }

  spin_budget* budget_;
  bool crowded_, over_;
  int spun_, yields_;
  std::int64_t yield_until_;
};

/// A word that threads park on until a condition holds. Bit 0 says that somebody may be parked; the rest counts.
///
/// Whoever makes a condition true first publishes it (a release store or stronger) and then calls `notify`, always:
/// testing for waiters with a plain load first would lose a wake-up.
class park_word {
 public:
  HEDDLE_FN park_word() noexcept : word_(0) {}
  park_word(park_word const&) = delete;
  park_word& operator=(park_word const&) = delete;

  /// Waits until `over()` returns true, or the deadline passes. Returns what `over()` returned last.
  /// Pre: `over` loads with acquire.
  template <class Condition>
  HEDDLE_FN bool wait(Condition const& over, deadline until = deadline::never(), spin_budget* budget = nullptr) {
    if (over()) return true;
    backoff stage(budget);
    while (stage.pause())
      if (over()) return true;
    for (;;) {
      std::uint32_t seen = __atomic_load_n(&word_, __ATOMIC_ACQUIRE);
      if (over()) return true;
      if (until.passed()) return false;
      if ((seen & 1) == 0 &&
          !__atomic_compare_exchange_n(&word_, &seen, seen | 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        continue;
      detail::futex_wait(&word_, seen | 1, until);
    }
  }

  /// Wakes at most `waiters` parked threads; costs no system call where nobody is parked.
  HEDDLE_FN void notify(int waiters = INT_MAX) noexcept {
    // A partial wake keeps the bit, because somebody may still sleep.
    std::uint32_t const keep = waiters == INT_MAX ? ~std::uint32_t{1} : ~std::uint32_t{0};
    std::uint32_t old = __atomic_load_n(&word_, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&word_, &old, (old & keep) + 2, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
    }
    if (old & 1) detail::futex_wake(&word_, waiters);
  }

 private:
  std::uint32_t word_;
};

}  // namespace heddle
