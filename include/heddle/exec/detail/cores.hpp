// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/config.hpp>

#include <cstddef>
#include <cstdint>

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

namespace heddle {
namespace detail {

inline int usable_cores_cache = 0;
inline constexpr int no_quota = 1 << 20;

/// Reads up to size - 1 bytes and ends them by 0. Returns their number, or -1 where there is no such file.
HEDDLE_FN long read_small_file(char const* path, char* buffer, std::size_t size) noexcept {
  int const file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  long const n = ::read(file, buffer, size - 1);
  ::close(file);
  if (n >= 0) buffer[n] = 0;
  return n;
}

/// The next number of a text, or -1 at anything else; moves the cursor past it.
HEDDLE_FN std::int64_t next_number(char const*& at) noexcept {
  while (*at == ' ' || *at == '\n') ++at;
  if (*at < '0' || *at > '9') return -1;
  std::int64_t value = 0;
  while (*at >= '0' && *at <= '9') value = value * 10 + (*at++ - '0');
  return value;
}

/// Cores that a quota of so many microseconds in a period is worth, rounded up.
HEDDLE_FN int cores_of_quota(std::int64_t quota, std::int64_t period) noexcept {
  if (quota <= 0 || period <= 0) return no_quota;
  std::int64_t const cores = (quota + period - 1) / period;
  return cores < no_quota ? static_cast<int>(cores) : no_quota;
}

/// Reads the text of a cgroup v2 `cpu.max`: "150000 100000" is 2 cores, "max 100000" no quota.
HEDDLE_FN int cores_of_cpu_max(char const* text) noexcept {
  std::int64_t const quota = next_number(text);
  return quota > 0 ? cores_of_quota(quota, next_number(text)) : no_quota;
}

/// Finds the path of this process's group in the text of /proc/self/cgroup ("0::/a/b"). Returns its length.
HEDDLE_FN std::size_t find_unified_group(char const* text, char const*& path) noexcept {
  for (char const* line = text; *line;) {
    bool const unified = line[0] == '0' && line[1] == ':' && line[2] == ':';
    char const* end = line;
    while (*end && *end != '\n') ++end;
    if (unified) {
      path = line + 3;
      return static_cast<std::size_t>(end - path);
    }
    line = *end ? end + 1 : end;
  }
  return 0;
}

/// The least quota of a group and of the groups around it; `root` is where the hierarchy is mounted.
HEDDLE_FN int quota_of_group(char const* root, char const* path, std::size_t length) noexcept {
  char name[1024], text[64];
  std::size_t const root_length = __builtin_strlen(root);
  if (root_length + 16 > sizeof name) return no_quota;
  if (length > sizeof name - 16 - root_length) length = 0;
  int cores = no_quota;
  for (;;) {
    while (length > 0 && path[length - 1] == '/') --length;
    __builtin_memcpy(name, root, root_length);
    __builtin_memcpy(name + root_length, path, length);
    __builtin_memcpy(name + root_length + length, "/cpu.max", 9);
    if (read_small_file(name, text, sizeof text) > 0) {
      int const here = cores_of_cpu_max(text);
      if (here < cores) cores = here;
    }
    if (length == 0) return cores;
    while (length > 0 && path[length - 1] != '/') --length;
  }
}

/// Cores that the cgroup quotas allow; `no_quota` where there is none.
HEDDLE_FN int quota_cores() noexcept {
  char groups[2048], text[64];
  char const* path = "";
  std::size_t length = 0;
  if (read_small_file("/proc/self/cgroup", groups, sizeof groups) > 0) length = find_unified_group(groups, path);
  int const unified = quota_of_group("/sys/fs/cgroup", path, length);
  if (unified < no_quota) return unified;
  if (read_small_file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", text, sizeof text) <= 0) return no_quota;
  char const* at = text;
  std::int64_t const quota = next_number(at);
  if (quota <= 0 || read_small_file("/sys/fs/cgroup/cpu/cpu.cfs_period_us", text, sizeof text) <= 0) return no_quota;
  at = text;
  return cores_of_quota(quota, next_number(at));
}

}  // namespace detail

/// Cores that this process may use: the affinity mask of its first thread, cut by the cgroup CPU quotas. At least 1.
/// Sync: read once and kept, so that threads pinned later don't change it.
HEDDLE_FN int usable_cores() noexcept {
  int const known = __atomic_load_n(&detail::usable_cores_cache, __ATOMIC_RELAXED);
  if (known > 0) return known;
  cpu_set_t mask;
  CPU_ZERO(&mask);
  int cores = sched_getaffinity(getpid(), sizeof mask, &mask) == 0 ? CPU_COUNT(&mask) : 1;
  int const quota = detail::quota_cores();
  if (quota < cores) cores = quota;
  if (cores < 1) cores = 1;
  __atomic_store_n(&detail::usable_cores_cache, cores, __ATOMIC_RELAXED);
  return cores;
}

}  // namespace heddle
