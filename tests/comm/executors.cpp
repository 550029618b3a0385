// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support.hpp"

#include <heddle/comm/elastic.hpp>

#include <heddle/exec/queued.hpp>
#include <heddle/exec/threads_executor.hpp>

#include <support/executors.hpp>

using namespace heddle;
using namespace heddle::test;

TEMPLATE_LIST_TEST_CASE("collectives are work of the executor's queue", "[comm]", executor_cases) {
  for (int p : {1, 2, 3, 5}) {
    rank_checks check;
    on_every_transport(p, [&](auto& comm) {
      TestType setup;
      auto& exec = setup.exec;
      for (index_t n : {0, 1, 31, 5000}) {
        std::vector<float> x = filled(n, -1.0f), sum = filled(n, __builtin_nanf("")), twice = sum;
        auto const v = as_view(x), s = as_view(sum), t = as_view(twice);
        float const mine = static_cast<float>(comm.rank() + 1);
        // Earlier work makes the input, later work uses the output, and nothing waits in between.
        exec.for_each_tile(n, [v, mine](index_t i, int) { v(i) = mine * static_cast<float>(i); });
        all_reduce(comm, exec, v, s);
        exec.for_each_tile(n, [s, t](index_t i, int) { t(i) = 2 * s(i); });
        broadcast(comm, exec, v, p - 1);
        exec.synchronize();
        bool right = true;
        for (index_t i = 0; i < n; ++i) {
          right = right && twice[static_cast<std::size_t>(i)] == static_cast<float>(p * (p + 1) * i);
          right = right && x[static_cast<std::size_t>(i)] == static_cast<float>(p * i);
        }
        check(right, "p " + std::to_string(p) + " n " + std::to_string(n));
      }
    });
    check.finish();
  }
}

TEST_CASE("a queued collective lets the caller go on", "[comm]") {
  rank_checks check;
  run_test_ranks(2, [&](thread_communicator& comm) {
    queued<serial_executor> second;
    std::vector<int> x = filled(10, comm.rank() + 1);
    // Rank 0 submits its part before rank 1 has been told to start: a call that blocked would never get there.
    if (comm.rank() == 1) {
      char go = 0;
      comm.receive(0, channel{7}, {&go, 1});
    }
    all_reduce(comm, second, as_view(x), as_view(x));
    if (comm.rank() == 0) comm.send(1, channel{7}, {"g", 1});
    second.synchronize();
    check(x == filled(10, 3), "sum");
  });
  check.finish(2);
}

TEST_CASE("failures of a queued collective surface at synchronize", "[comm]") {
  rank_checks check;
  run_test_ranks(3, [&](thread_communicator& comm) {
    queued<serial_executor> second;
    std::vector<int> x = filled(comm.rank() == 1 ? 9 : 10, 1);
    std::string what;
    int const at_call = code_of([&] { all_reduce(comm, second, as_view(x), as_view(x)); });
    int const later = code_of([&] { second.synchronize(); }, &what);
    check(at_call == 0 && later == code(errc::mismatch), what);
    std::vector<int> y = filled(4, 1), out = filled(comm.rank() == 2 ? 5 : 4, 0);
    all_reduce(comm, second, as_view(y), as_view(out));
    int const bad = code_of([&] { second.synchronize(); }, &what);
    check(bad == (comm.rank() == 2 ? contract : code(errc::invalid_argument)), what);
  });
  check.finish(6);
}

TEST_CASE("a collective that its executor refuses leaves the communicator usable", "[comm]") {
  rank_checks check;
  run_test_ranks(3, [&](thread_communicator& comm) {
    std::vector<int> x = filled(10, comm.rank() + 1), y = x, z = x;
    threads_executor team(2);
    queued<serial_executor> queue;
    auto const inside = [&](auto& exec) {
      return code_of(
          [&] { exec.for_each_tile(1, [&](index_t, int) { all_reduce(comm, exec, as_view(x), as_view(x)); }); });
    };
    serial_executor serial;
    check(inside(serial) == contract && inside(team) == contract, "refused");
    auto* const own = &queue;
    int refused = 0;
    queue.for_each_tile(1, [own, &comm, &x, &refused](index_t, int) {
      refused = code_of([&] { all_reduce(comm, *own, as_view(x), as_view(x)); });
    });
    queue.synchronize();
    check(refused == contract && x == filled(10, comm.rank() + 1), "refused by the queue");
    all_reduce(comm, queue, as_view(y), as_view(y));
    check(code_of([&] { queue.synchronize(); }) == 0 && y == filled(10, 6), "queued");
    all_reduce(comm, team, as_view(z), as_view(z));
    check(z == filled(10, 6), "at once");
  });
  check.finish(12);
}

TEST_CASE("spans of collectives have the names of their functions", "[comm]") {
  REQUIRE(std::string(name(traffic::reduce_to_root)) == "reduce_to_root");
  REQUIRE(std::string(name(traffic::all_reduce)) == "all_reduce");
  REQUIRE(std::string(name(traffic::check)) == "check");
}
