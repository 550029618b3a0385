// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/exec/wait.hpp>

#include <fcntl.h>
#include <unistd.h>

namespace heddle {
namespace detail {

inline long read_small_file(char const* path, char* buffer, std::size_t size) noexcept {
  int const file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  long const n = ::read(file, buffer, size - 1);
  ::close(file);
  if (n >= 0) buffer[n] = 0;
  return n;
}

/// The next number of a text, or -1 at "max" or the end; moves the cursor past it.
HEDDLE_FN std::int64_t next_number(char const*& at) noexcept {
  while (*at == ' ' || *at == '\n') ++at;
  if (*at < '0' || *at > '9') return -1;
  std::int64_t value = 0;
  while (*at >= '0' && *at <= '9') value = value * 10 + (*at++ - '0');
  return value;
}

/// Cores that the cgroup quota allows, rounded up; a large number where there is no quota.
HEDDLE_FN int quota_cores() noexcept {
  char text[64];
  std::int64_t quota = -1, period = 0;
  if (read_small_file("/sys/fs/cgroup/cpu.max", text, sizeof text) > 0) {
    char const* at = text;
    quota = next_number(at);
    if (quota > 0) period = next_number(at);
  } else if (read_small_file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", text, sizeof text) > 0) {
    char const* at = text;
    quota = next_number(at);
    if (quota > 0 && read_small_file("/sys/fs/cgroup/cpu/cpu.cfs_period_us", text, sizeof text) > 0) {
      at = text;
      period = next_number(at);
    }
  }
  if (quota <= 0 || period <= 0) return 1 << 20;
  return static_cast<int>((quota + period - 1) / period);
}

}  // namespace detail

inline int usable_cores() noexcept {
  int const known = __atomic_load_n(&detail::usable_cores_cache, __ATOMIC_RELAXED);
  if (known > 0) return known;
  cpu_set_t mask;
  CPU_ZERO(&mask);
  int cores = sched_getaffinity(0, sizeof mask, &mask) == 0 ? CPU_COUNT(&mask) : 1;
  int const quota = detail::quota_cores();
  if (quota < cores) cores = quota;
  if (cores < 1) cores = 1;
  __atomic_store_n(&detail::usable_cores_cache, cores, __ATOMIC_RELAXED);
  return cores;
}

}  // namespace heddle
