// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/exec/wait.hpp>

#include <support/catch.hpp>

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include <sys/stat.h>

using namespace heddle;

TEST_CASE("the text of a CPU quota gives cores, rounded up", "[exec]") {
  CHECK(detail::cores_of_cpu_max("max 100000\n") == detail::no_quota);
  CHECK(detail::cores_of_cpu_max("100000 100000\n") == 1);
  CHECK(detail::cores_of_cpu_max("150000 100000\n") == 2);
  CHECK(detail::cores_of_cpu_max("50000 100000") == 1);
  CHECK(detail::cores_of_cpu_max("1600000 100000") == 16);
  CHECK(detail::cores_of_cpu_max("") == detail::no_quota);
  CHECK(detail::cores_of_cpu_max("garbage") == detail::no_quota);
  CHECK(detail::cores_of_cpu_max("100000") == detail::no_quota);
  CHECK(detail::cores_of_cpu_max("100000 0") == detail::no_quota);
  CHECK(detail::cores_of_cpu_max("0 100000") == detail::no_quota);
  CHECK(detail::cores_of_quota(-1, 100000) == detail::no_quota);
  CHECK(detail::cores_of_quota(INT64_MAX / 2, 1) == detail::no_quota);
}

TEST_CASE("the group of a process is the line of the unified hierarchy", "[exec]") {
  char const* path = nullptr;
  CHECK(detail::find_unified_group("0::/\n", path) == 1);
  CHECK(detail::find_unified_group("12:cpu,cpuacct:/x\n1:name=systemd:/y\n0::/a/b.scope\n", path) == 10);
  CHECK(path[1] == 'a');
  CHECK(detail::find_unified_group("12:cpu:/x\n", path) == 0);
  CHECK(detail::find_unified_group("", path) == 0);
}

TEST_CASE("the least quota on the way to the root counts", "[exec]") {
  char root[] = "/tmp/heddle_cores_XXXXXX";
  REQUIRE(mkdtemp(root) != nullptr);
  std::string const top(root);
  auto const write = [&](std::string const& where, char const* text) {
    std::FILE* const f = std::fopen((top + where + "/cpu.max").c_str(), "w");
    REQUIRE(f != nullptr);
    std::fputs(text, f);
    std::fclose(f);
  };
  mkdir((top + "/outer").c_str(), 0700);
  mkdir((top + "/outer/inner").c_str(), 0700);
  CHECK(detail::quota_of_group(root, "/outer/inner", 12) == detail::no_quota);
  write("/outer", "300000 100000\n");
  CHECK(detail::quota_of_group(root, "/outer/inner", 12) == 3);
  CHECK(detail::quota_of_group(root, "/", 1) == detail::no_quota);
  write("/outer/inner", "max 100000\n");
  CHECK(detail::quota_of_group(root, "/outer/inner", 12) == 3);
  write("/outer/inner", "100000 50000\n");
  CHECK(detail::quota_of_group(root, "/outer/inner/", 13) == 2);
  write("", "100000 100000\n");
  CHECK(detail::quota_of_group(root, "/outer/inner", 12) == 1);
  CHECK(detail::quota_of_group(root, "", 0) == 1);
  CHECK(std::system(("rm -r " + top).c_str()) == 0);
}

TEST_CASE("usable cores are at least one and at most those of the mask", "[exec]") {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  REQUIRE(sched_getaffinity(getpid(), sizeof mask, &mask) == 0);
  CHECK(usable_cores() >= 1);
  CHECK(usable_cores() <= CPU_COUNT(&mask));
}

TEST_CASE("deadlines", "[exec]") {
  CHECK(!deadline::never().passed());
  CHECK(!deadline::in_seconds(100).passed());
  CHECK(deadline::in_seconds(0).passed());
  CHECK(deadline::in_seconds(1e18).at_ns == INT64_MAX);
}

TEST_CASE("a wait ends at its deadline", "[exec]") {
  park_word word;
  CHECK(!word.wait([] { return false; }, deadline::in_seconds(0.01)));
  CHECK(word.wait([] { return true; }, deadline::in_seconds(0)));
}

TEST_CASE("no wake-up is lost between two threads", "[exec]") {
  park_word word;
  std::uint32_t turn = 0;
  constexpr std::uint32_t rounds = 2000;
  auto const play = [&](std::uint32_t mine) {
    spin_budget budget;
    for (std::uint32_t i = mine; i < rounds; i += 2) {
      word.wait([&] { return __atomic_load_n(&turn, __ATOMIC_ACQUIRE) == i; }, {}, &budget);
      __atomic_store_n(&turn, i + 1, __ATOMIC_RELEASE);
      word.notify();
    }
  };
  std::thread other(play, 1u);
  play(0u);
  other.join();
  CHECK(turn == rounds);
}

TEST_CASE("a partial wake leaves the others reachable", "[exec]") {
  park_word word;
  std::uint32_t tickets = 0, served = 0;
  std::vector<std::thread> waiters;
  for (int i = 0; i < 4; ++i)
    waiters.emplace_back([&] {
      auto const take = [&] {
        std::uint32_t left = __atomic_load_n(&tickets, __ATOMIC_ACQUIRE);
        while (left > 0)
          if (__atomic_compare_exchange_n(&tickets, &left, left - 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            return true;
        return false;
      };
      word.wait(take);
      __atomic_add_fetch(&served, 1u, __ATOMIC_RELAXED);
    });
  for (int i = 0; i < 4; ++i) {
    usleep(2000);
    __atomic_add_fetch(&tickets, 1u, __ATOMIC_RELEASE);
    word.notify(1);
  }
  for (auto& t : waiters) t.join();
  CHECK(served == 4);
}

TEST_CASE("a budget halves after a park and doubles after a success, within bounds", "[exec]") {
  int const before = live_threads;
  live_threads = usable_cores();
  spin_budget budget;
  park_word word;
  word.wait([] { return false; }, deadline::in_seconds(0), &budget);
  CHECK(budget.spins == spin_budget::most / 2);
  for (int i = 0; i < 20; ++i) word.wait([] { return false; }, deadline::in_seconds(0), &budget);
  CHECK(budget.spins == spin_budget::least);
  int calls = 0;
  word.wait([&] { return ++calls == 3; }, {}, &budget);
  CHECK(budget.spins == 2 * spin_budget::least);
  live_threads = usable_cores() + 1;  // crowded: no spin, so nothing to learn
  word.wait([] { return false; }, deadline::in_seconds(0), &budget);
  CHECK(budget.spins == 2 * spin_budget::least);
  live_threads = before;
}
