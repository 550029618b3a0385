// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../support.hpp"

#include <heddle/comm/failure_guard.hpp>
#include <heddle/exec/queued.hpp>

#include <stdexcept>

#include <time.h>
#include <unistd.h>

using namespace heddle;
using namespace heddle::test;

namespace {

double now() { return static_cast<double>(deadline::now_ns()) * 1e-9; }
void nap(int ms) { usleep(static_cast<useconds_t>(ms) * 1000); }

struct throwing_sum {
  int rank;
  index_t at;
  float operator()(float a, float b) const {
    if (a + b > 1e6f) throw std::runtime_error("op");
    return a + b;
  }
};

/// Runs ranks that are expected to fail and returns what run_ranks throws.
template <class F>
std::string failure_of(int p, F const& f, double deadline = 20) {
  try {
    run_test_ranks(p, f, deadline);
  } catch (std::exception const& e) {
    return e.what();
  }
  return "nothing";
}

}  // namespace

TEST_CASE("a rank that throws ends the others with its name", "[comm]") {
  for (int p : {2, 3, 4, 8})
    for (int victim : {0, p - 1}) {
      rank_checks check;
      double const begin = now();
      std::string const first = failure_of(p, [&](thread_communicator& comm) {
        serial_executor exec;
        std::vector<float> x = filled(3000, 1.0f);
        for (int call = 1;; ++call) {
          if (comm.rank() == victim && call == 3) throw std::runtime_error("boom");
          std::string what;
          int rank = -1;
          int const c = code_of([&] { all_reduce(comm, exec, as_view(x), as_view(x)); }, &what, &rank);
          if (c == 0) continue;
          check(c == code(errc::peer_failed) && rank == victim && call == 3 && what.find("boom") != std::string::npos,
                what);
          int const again = code_of([&] { barrier(comm, exec); });
          check(again == code(errc::revoked), "later calls");
          return;
        }
      });
      REQUIRE(first == "boom");
      REQUIRE(now() - begin < 5);
      check.finish(static_cast<std::size_t>(2 * (p - 1)));
    }
}

TEST_CASE("peers that do not catch pass the failure on, and the original is rethrown", "[comm]") {
  for (int victim = 0; victim < 4; ++victim) {
    std::string const first = failure_of(4, [&](thread_communicator& comm) {
      serial_executor exec;
      if (comm.rank() == victim) {
        nap(5);
        throw std::runtime_error("original");
      }
      if (comm.rank() == (victim + 1) % 4) {
        int x = 0;
        comm.receive(victim, channel{1}, {&x, 4});
      }
      barrier(comm, exec);
    });
    REQUIRE(first == "original");
  }
}

TEST_CASE("a rank that returns early is known, not waited for", "[comm]") {
  rank_checks check;
  double const begin = now();
  run_test_ranks(4, [&](thread_communicator& comm) {
    serial_executor exec;
    barrier(comm, exec);
    if (comm.rank() == 1) return;
    std::string what;
    int rank = -1;
    int c = code_of([&] { barrier(comm, exec); }, &what, &rank);
    check(c == code(errc::peer_failed) && rank == 1 && what.find("returned") != std::string::npos, what);
    // Messages between the others go on; those with the one that left end.
    int x = comm.rank(), y = -1;
    if (comm.rank() == 0) comm.send(2, channel{1}, {&x, 4});
    if (comm.rank() == 2) comm.receive(0, channel{1}, {&y, 4});
    check(comm.rank() != 2 || y == 0, "message");
    c = code_of([&] { comm.receive(1, channel{1}, {&y, 4}); }, &what, &rank);
    check(c == code(errc::peer_failed) && rank == 1, what);
    std::vector<char> large(100000);
    c = code_of([&] { comm.send(1, channel{1}, bytes_of(as_view(large))); }, &what, &rank);
    check(c == code(errc::peer_failed) && rank == 1, what);
  });
  check.finish(12);
  REQUIRE(now() - begin < 5);
}

TEST_CASE("what a rank sent before it ended is still received", "[comm]") {
  rank_checks check;
  run_test_ranks(2, [&](thread_communicator& comm) {
    int x = 42;
    if (comm.rank() == 0) return comm.send(1, channel{1}, {&x, 4});
    nap(20);
    int y = 0;
    comm.receive(0, channel{1}, {&y, 4});
    check(y == 42, "late receipt");
  });
  check.finish();
}

TEST_CASE("a deadline that passes names the missing ranks", "[comm]") {
  rank_checks check;
  run_test_ranks(5, [&](thread_communicator& comm) {
    serial_executor exec;
    std::vector<float> x = filled(9000, 1.0f);
    bool const late = comm.rank() == 1 || comm.rank() == 3;
    if (late) nap(600);
    std::string what;
    collective_options options;
    options.deadline_s = late ? 5 : 0.2;
    double const begin = now();
    int const c = code_of([&] { all_reduce(comm, exec, as_view(x), as_view(x), plus{}, options); }, &what);
    check(c == code(errc::timeout) && what.find("missing: 1 3") != std::string::npos, what);
    check(now() - begin < 2, "in time");
    int const again = code_of([&] { barrier(comm, exec); });
    check(again == code(errc::revoked), "given up");
  });
  check.finish(15);
}

TEST_CASE("a receive and a large send have deadlines too", "[comm]") {
  rank_checks check;
  run_test_ranks(2, [&](thread_communicator& comm) {
    serial_executor exec;
    std::vector<char> large(100000);
    comm.set_deadline(0.1);
    std::string what;
    int const c = comm.rank() == 0 ? code_of([&] { comm.receive(1, channel{9}, bytes_of(as_view(large))); }, &what)
                                   : code_of([&] { comm.send(0, channel{8}, bytes_of(as_view(large))); }, &what);
    check(c == code(errc::timeout), what);
    comm.set_deadline(20);
    barrier(comm, exec);
    int x = 1;  // the withdrawn message is gone, and its place can be used again
    if (comm.rank() == 1) comm.send(0, channel{8}, {&x, 4});
    if (comm.rank() == 0) comm.receive(1, channel{8}, {&x, 4});
  });
  check.finish(2);
}

TEST_CASE("an operation that throws ends the call on all ranks", "[comm]") {
  for (int p : {2, 3, 8}) {
    rank_checks check;
    int threw = 0;
    std::string const first = failure_of(p, [&](thread_communicator& comm) {
      serial_executor exec;
      std::vector<float> x = filled(50000, 1.0f);
      x[49999] = 1e7f;
      try {
        all_reduce(comm, exec, as_view(x), as_view(x), throwing_sum{0, 0});
        check(false, "must not succeed");
      } catch (error const& e) {
        check(e.code() == errc::peer_failed, e.what());
      } catch (std::runtime_error const& e) {
        check(std::string(e.what()) == "op", e.what());
        __atomic_add_fetch(&threw, 1, __ATOMIC_RELAXED);
      }
    });
    REQUIRE(first == "nothing");
    REQUIRE(threw >= 1);
    check.finish(static_cast<std::size_t>(p));
  }
}

TEST_CASE("a call that failed returns only when no peer is inside this rank's memory", "[comm]") {
  if (usable_cores() < 2) {
    WARN("not tested: a rank that waits on one core is not woken to help, and this needs two ranks inside one call");
    SUCCEED();
    return;
  }
  struct meeting {
    int inside = 0, thrown = 0, left = 0;
  } meet;
  auto const wait_for = [](int const& flag, double seconds) {
    for (double const end = now() + seconds; __atomic_load_n(&flag, __ATOMIC_ACQUIRE) == 0 && now() < end;) nap(1);
  };
  rank_checks check;
  run_test_ranks(2, [&](thread_communicator& comm) {
    serial_executor exec;
    std::vector<float> x = filled(1 << 20, 1.0f);
    bool entered = false;
    // Rank 1 stays in its first chunk, which works on the buffers of both, until rank 0 has thrown and returned.
    auto const sum = [&, me = comm.rank()](float a, float b) {
      if (entered) return a + b;
      entered = true;
      if (me == 1) {
        __atomic_store_n(&meet.inside, 1, __ATOMIC_RELEASE);
        wait_for(meet.thrown, 10);
        wait_for(meet.left, 0.2);
        __atomic_store_n(&meet.inside, 0, __ATOMIC_RELEASE);
        return a + b;
      }
      wait_for(meet.inside, 10);
      __atomic_store_n(&meet.thrown, 1, __ATOMIC_RELEASE);
      throw std::runtime_error("op");
    };
    try {
      all_reduce(comm, exec, as_view(x), as_view(x), sum);
      check(false, "must not succeed");
    } catch (std::exception const&) {
      bool const alone = __atomic_load_n(&meet.inside, __ATOMIC_ACQUIRE) == 0;
      __atomic_store_n(&meet.left, 1, __ATOMIC_RELEASE);
      check(alone, "a peer is inside while rank " + std::to_string(comm.rank()) + " goes on");
    }
  });
  check.finish(2);
  REQUIRE(meet.thrown == 1);
}

TEST_CASE("fail wakes peers in groups that were split from it, while a queue still runs", "[comm]") {
  rank_checks check;
  double const begin = now();
  std::string const first = failure_of(4, [&](thread_communicator& world) {
    thread_communicator pair = world.split(world.rank() / 2, 0);
    std::vector<float> x = filled(20000, 1.0f);
    queued<serial_executor> queue;
    if (world.rank() == 1) {
      nap(20);
      world.fail("a bad shape");  // before the queue is drained and before anything is freed
      nap(700);                   // its handles still live: only the call can have woken the peers
      throw std::runtime_error("a bad shape");
    }
    all_reduce(pair, queue, as_view(x), as_view(x));
    if (world.rank() >= 2) all_reduce(world, queue, as_view(x), as_view(x));
    std::string what;
    int rank = -1;
    double const start = now();
    int const c = code_of([&] { queue.synchronize(); }, &what, &rank);
    check(c == code(errc::peer_failed) && now() - start < 0.5, what);
    check(what.find("rank 1") != std::string::npos, what);
  });
  REQUIRE(first == "a bad shape");
  REQUIRE(now() - begin < 5);
  check.finish(6);
}

TEST_CASE("a guard fails the group before the queues of a throwing rank are drained", "[comm]") {
  rank_checks check;
  double const begin = now();
  std::string const first = failure_of(3, [&](thread_communicator& comm) {
    std::vector<float> x = filled(20000, 1.0f);
    queued<serial_executor> queue;
    failure_guard<thread_communicator> const guard(comm);
    if (comm.rank() == 0) {
      // Its own queue waits for peers that wait for a message: without the guard the drain would never end.
      all_reduce(comm, queue, as_view(x), as_view(x));
      throw std::runtime_error("thrown");
    }
    int y = 0;
    int const c = code_of([&] { comm.receive(0, channel{1}, {&y, 4}); });
    check(c == code(errc::peer_failed), "receive");
  });
  REQUIRE(first == "thrown");
  REQUIRE(now() - begin < 5);
  check.finish(2);
}

TEST_CASE("a queue that leaves a collective out fails the group", "[comm]") {
  for (bool cancelled : {false, true}) {
    rank_checks check;
    double const begin = now();
    run_test_ranks(3, [&](thread_communicator& comm) {
      std::vector<float> x = filled(100, 1.0f);
      queued<serial_executor> queue;
      bool const bad = comm.rank() == 1;
      all_reduce(comm, queue, as_view(x), as_view(x));
      if (bad && cancelled) {
        queue.synchronize();
        queue.cancel();
      }
      if (bad && !cancelled) queue.for_each_tile(1, [](index_t, int) { throw std::runtime_error("work"); });
      all_reduce(comm, queue, as_view(x), as_view(x));
      std::string what;
      int rank = -1;
      if (bad) {
        int y = 0;  // the host waits for peers that wait for the collective
        check(code_of([&] { comm.receive(0, channel{1}, {&y, 4}); }) == code(errc::peer_failed), "receive");
        return queue.drain();
      }
      int const c = code_of([&] { queue.synchronize(); }, &what, &rank);
      check(c == code(errc::peer_failed) && rank == 1 && what.find("queue") != std::string::npos, what);
    });
    check.finish(3);
    REQUIRE(now() - begin < 5);
  }
}

TEST_CASE("a rank that waits does not burn its core", "[comm]") {
  rank_checks check;
  run_test_ranks(3, [&](thread_communicator& comm) {
    serial_executor exec;
    if (comm.rank() == 0) {
      nap(500);
      int x = 1;
      comm.send(1, channel{1}, {&x, 4});
      return barrier(comm, exec);
    }
    timespec a, b;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
    int x = 0;
    if (comm.rank() == 1) comm.receive(0, channel{1}, {&x, 4});
    barrier(comm, exec);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
    double const used = static_cast<double>(b.tv_sec - a.tv_sec) + 1e-9 * static_cast<double>(b.tv_nsec - a.tv_nsec);
    check(used < 0.25, "CPU seconds " + std::to_string(used));
  });
  check.finish(2);
}

TEST_CASE("two threads in one communicator are detected", "[comm]") {
  rank_checks check;
  run_test_ranks(2, [&](thread_communicator& comm) {
    serial_executor exec;
    queued<serial_executor> second;
    if (comm.rank() == 1) nap(100);
    barrier(comm, second);
    if (comm.rank() == 0) {
      nap(30);
      std::string what;
      int const c = code_of([&] { barrier(comm, exec); }, &what);
      check(c == contract && what.find("two threads") != std::string::npos, what);
    }
    second.synchronize();
    barrier(comm, exec);
  });
  check.finish(1);
}
