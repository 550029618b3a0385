// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/exec/team.hpp>
#include <heddle/exec/threads_executor.hpp>

#include <support/catch.hpp>

#include <stdexcept>
#include <thread>
#include <vector>

using namespace heddle;

static_assert(immediate_executor<threads_executor>);

namespace {

std::int64_t process_cpu_ns() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return std::int64_t{t.tv_sec} * 1000000000 + t.tv_nsec;
}

}  // namespace

TEST_CASE("a team takes its size from the caller, by default the usable cores", "[exec]") {
  CHECK(threads_executor().concurrency() == usable_cores());
  CHECK(threads_executor(3).concurrency() == 3);
  CHECK_THROWS_AS(threads_executor(0), contract_error);
  CHECK_THROWS_AS(team(4097), contract_error);
}

TEST_CASE("one slow tile does not hold the others back", "[exec]") {
  team t(2);
  index_t others = 0, seen = 0;
  // Tile 0 waits for all others, which include the rest of its own worker's part.
  t.run(16, [&](index_t tile, int) {
    if (tile != 0) {
      __atomic_add_fetch(&others, index_t{1}, __ATOMIC_RELEASE);
      return;
    }
    deadline const until = deadline::in_seconds(60);
    while (seen < 15 && !until.passed()) {
      sched_yield();
      seen = __atomic_load_n(&others, __ATOMIC_ACQUIRE);
    }
  });
  CHECK(seen == 15);
}

TEST_CASE("a loop does not wait for threads that never come", "[exec]") {
  // More threads than any machine has cores: most loops end before most threads have woken.
  team t(64);
  index_t sum = 0;
  for (int loop = 0; loop < 200; ++loop)
    t.run(100, [&](index_t tile, int) { __atomic_add_fetch(&sum, tile, __ATOMIC_RELAXED); });
  CHECK(sum == 200 * 4950);
}

TEST_CASE("loops of changing size follow one another without losing a tile", "[exec]") {
  team t(3);
  std::vector<int> runs(1000);
  index_t wrong = 0;
  for (int loop = 0; loop < 3000; ++loop) {
    index_t const n = (loop * 37) % 41;
    t.run(n, [&](index_t tile, int) { ++runs[static_cast<std::size_t>(tile)]; });
    for (index_t i = 0; i < n; ++i) {
      wrong += runs[static_cast<std::size_t>(i)] != 1;
      runs[static_cast<std::size_t>(i)] = 0;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("late workers never break the count of those inside", "[exec]") {
  // Far more threads than cores and tiny loops: workers come and go while loops open and close.
  team t(12);
  index_t sum = 0;
  for (int loop = 0; loop < 20000; ++loop)
    t.run(12, [&](index_t, int) {
      for (int i = 0; i < 20; ++i) detail::pause_core();
      __atomic_add_fetch(&sum, index_t{1}, __ATOMIC_RELAXED);
    });
  CHECK(sum == 240000);
}

TEST_CASE("tiles that have not started are left out after an exception", "[exec]") {
  team t(2);
  constexpr index_t n = 20000;
  index_t ran = 0;
  int thrown = 0, helped = 0;
  auto const tile_five_fails = [&](index_t tile, int worker) {
    __atomic_add_fetch(&ran, index_t{1}, __ATOMIC_RELAXED);
    if (worker != 0) __atomic_store_n(&helped, 1, __ATOMIC_RELEASE);
    if (tile == 5) {
      while (__atomic_load_n(&helped, __ATOMIC_ACQUIRE) == 0) sched_yield();
      __atomic_store_n(&thrown, 1, __ATOMIC_RELEASE);
      throw std::runtime_error("five");
    }
    if (tile < 64) return;
    while (__atomic_load_n(&thrown, __ATOMIC_ACQUIRE) == 0) sched_yield();
    usleep(100);  // two seconds for all of them: time enough to see the exception
  };
  CHECK_THROWS_AS(t.run(n, tile_five_fails), std::runtime_error);
  CHECK(ran >= 6);
  CHECK(ran < n - 64);  // more than the rest of one chunk was left out
}

TEST_CASE("a team that is not used sleeps, and wakes for the next loop", "[exec]") {
  team t(4);
  // Tile 0 ends when another worker has run a tile.
  auto const shared_loop = [&t] {
    index_t others = 0, seen = 0;
    t.run(4, [&](index_t tile, int worker) {
      if (worker != 0) __atomic_add_fetch(&others, index_t{1}, __ATOMIC_RELEASE);
      deadline const until = deadline::in_seconds(60);
      while (tile == 0 && seen == 0 && !until.passed()) {
        sched_yield();
        seen = __atomic_load_n(&others, __ATOMIC_ACQUIRE);
      }
    });
    return seen > 0;
  };
  CHECK(shared_loop());
  // Asleep means that the process's CPU clock stands still; the threads may take a while to get there.
  bool asleep = false;
  for (int look = 0; look < 200 && !asleep; ++look) {
    std::int64_t const before = process_cpu_ns();
    usleep(20000);
    asleep = process_cpu_ns() - before < 1000000;
  }
  CHECK(asleep);
  CHECK(shared_loop());
}

TEST_CASE("threads can be kept on given cores", "[exec]") {
  cpu_set_t mine, one;
  REQUIRE(sched_getaffinity(0, sizeof mine, &mine) == 0);
  int first = 0;
  while (!CPU_ISSET(static_cast<unsigned>(first), &mine)) ++first;
  CPU_ZERO(&one);
  CPU_SET(static_cast<unsigned>(first), &one);
  for (bool pin : {false, true}) {
    team_options options;
    options.cores = &one;
    options.pin = pin;
    team t(3, options);
    int inside = 0, seen = 0;
    while (seen == 0)
      t.run(300, [&](index_t, int worker) {
        sched_yield();
        if (worker == 0) return;
        cpu_set_t now;
        CPU_ZERO(&now);
        sched_getaffinity(0, sizeof now, &now);
        __atomic_add_fetch(&seen, 1, __ATOMIC_RELAXED);
        if (CPU_EQUAL(&now, &one)) __atomic_add_fetch(&inside, 1, __ATOMIC_RELAXED);
      });
    CHECK(inside == seen);
  }
}

TEST_CASE("two threads may not submit to one executor at once", "[exec]") {
  threads_executor exec(2);
  int refused = 0, entered = 0, leave = 0;
  std::thread other([&] {
    exec.for_each_tile(1, [&](index_t, int) {
      __atomic_store_n(&entered, 1, __ATOMIC_RELEASE);
      while (__atomic_load_n(&leave, __ATOMIC_ACQUIRE) == 0) sched_yield();
    });
  });
  while (__atomic_load_n(&entered, __ATOMIC_ACQUIRE) == 0) sched_yield();
  try {
    exec.for_each_tile(1, [](index_t, int) {});
  } catch (contract_error const&) {
    refused = 1;
  }
  __atomic_store_n(&leave, 1, __ATOMIC_RELEASE);
  other.join();
  CHECK(refused == 1);
}

TEST_CASE("teams of several rank threads run side by side", "[exec]") {
  std::vector<index_t> sums(4);
  std::vector<std::thread> ranks;
  for (std::size_t r = 0; r < 4; ++r)
    ranks.emplace_back([&sums, r] {
      threads_executor exec(2);
      for (int loop = 0; loop < 200; ++loop)
        exec.for_each_tile(50, [s = &sums[r]](index_t tile, int) { __atomic_add_fetch(s, tile, __ATOMIC_RELAXED); });
    });
  for (auto& t : ranks) t.join();
  for (index_t s : sums) CHECK(s == 200 * 1225);
}
