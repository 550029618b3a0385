// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../support.hpp"

#include <support/executors.hpp>

#include <algorithm>
#include <memory>

#include <time.h>
#include <unistd.h>

using namespace heddle;
using namespace heddle::test;

namespace {

void nap(int ms) { usleep(static_cast<useconds_t>(ms) * 1000); }

/// Every kind of collective, by number, on small or large data.
constexpr int collective_kinds = 9;
template <class C>
void call_collective(C& comm, int kind, index_t n) {
  serial_executor exec;
  int const p = comm.size();
  std::vector<float> a = filled(n * p, 1.0f), b = filled(n * p, 0.0f), part = filled(n, 1.0f);
  switch (kind) {
    case 0: return barrier(comm, exec);
    case 1: return broadcast(comm, exec, as_view(a), p - 1);
    case 2: return all_reduce(comm, exec, as_view(a), as_view(a));
    case 3: return reduce_scatter(comm, exec, as_view(a), as_view(part));
    case 4: return all_gather(comm, exec, as_view(part), as_view(a));
    case 5: return gather(comm, exec, as_view(part), as_view(a), 0);
    case 6: return scatter(comm, exec, as_view(a), as_view(part), 0);
    case 7: return all_to_all(comm, exec, as_view(a), as_view(b));
    default: return reduce_to_root(comm, exec, as_view(a), as_view(a), 0);
  }
}

}  // namespace

TEST_CASE("run_ranks starts every rank once and hands out executors", "[comm]") {
  for (int p : rank_counts) {
    std::vector<int> seen(static_cast<std::size_t>(p), 0);
    run_ranks(p, [&](thread_communicator& comm) { seen[static_cast<std::size_t>(comm.rank())] += comm.size(); });
    REQUIRE(seen == filled(p, p));
  }
  rank_checks check;
  rank_options options;
  options.threads_per_rank = 2;
  options.pin = true;
  run_ranks(3, [&](thread_communicator& comm, threads_executor& exec) {
    std::vector<int> v = filled(1000, comm.rank());
    auto const x = as_view(v);
    exec.for_each_tile(1000, [x](index_t i, int) { x(i) += 1; });
    all_reduce(comm, exec, x, x, maximum{});
    check(exec.concurrency() == 2 && v == filled(1000, 3), "executor");
  }, options);
  check.finish(3);
  REQUIRE_THROWS_AS(run_ranks(0, [](thread_communicator&) {}), contract_error);
}

TEST_CASE("the memory of a group is what reserved_bytes says, and nothing is allocated later", "[comm]") {
  for (int p : rank_counts) {
    host_space memory;
    rank_options options;
    options.memory = &memory;
    rank_checks check;
    run_ranks(p, [&](thread_communicator& comm) {
      memory_counts const before = memory.counts();
      for (int kind = 0; kind < collective_kinds; ++kind)
        for (index_t n : {0, 5, 20000}) call_collective(comm, kind, n);
      std::vector<char> big(10000), other(10000);
      thread_communicator::ticket t = comm.start_send((comm.rank() + 1) % p, channel{1}, bytes_of(as_view(big)));
      comm.receive((comm.rank() + p - 1) % p, channel{1}, bytes_of(as_view(other)));
      comm.finish_send(t);
      memory_counts const after = memory.counts();
      check(before.live == thread_communicator::reserved_bytes(p), "live");
      check(after.allocations == before.allocations && after.peak == before.live, "steady state");
    }, options);
    check.finish();
    REQUIRE(memory.counts().live == 0);
  }
}

TEST_CASE("messages of every size, to oneself too", "[comm]") {
  rank_checks check;
  run_test_ranks(3, [&](thread_communicator& comm) {
    for (std::size_t size : {0u, 1u, 4096u, 4097u, 1000000u})
      for (int step = 0; step < 3; ++step) {
        int const to = (comm.rank() + step) % 3, from = (comm.rank() + 3 - step) % 3;
        std::vector<char> out(size, static_cast<char>('a' + comm.rank())), in(size, '?');
        auto ticket = comm.start_send(to, channel{size}, {out.data(), size});
        comm.receive(from, channel{size}, {in.data(), size});
        comm.finish_send(ticket);
        check(in == std::vector<char>(size, static_cast<char>('a' + from)), "message");
      }
    // More small messages than the pool holds: the rest go by rendezvous, in order.
    for (int i = 0; i < 60 && comm.rank() == 0; ++i) comm.start_send(1, channel{5}, {&i, 4});
    barrier(comm, *std::make_unique<serial_executor>());
  });
  check.finish(45);
}

TEST_CASE("many messages in flight keep their order", "[comm]") {
  rank_checks check;
  run_test_ranks(2, [&](thread_communicator& comm) {
    std::vector<int> values(70), got(70);
    for (int i = 0; i < 70; ++i) values[static_cast<std::size_t>(i)] = i;
    if (comm.rank() == 0) {
      std::vector<thread_communicator::ticket> tickets;
      for (int& v : values) tickets.push_back(comm.start_send(1, channel{5}, {&v, 4}));
      for (auto& t : tickets) comm.finish_send(t);
    } else {
      nap(20);
      for (int& v : got) comm.receive(0, channel{5}, {&v, 4});
      check(got == values, "order");
    }
  });
  check.finish();
}

TEST_CASE("a message of another size is truncated on both sides, and the group goes on", "[comm]") {
  rank_checks check;
  run_test_ranks(2, [&](thread_communicator& comm) {
    serial_executor exec;
    for (std::size_t size : {8u, 100000u}) {
      std::vector<char> data(size + 1);
      if (comm.rank() == 0) {
        int const c = code_of([&] { comm.send(1, channel{1}, {data.data(), size}); });
        check(c == (size > 4096 ? code(errc::truncated) : 0), "sender");
      } else {
        int const c = code_of([&] { comm.receive(0, channel{1}, {data.data(), size + 1}); });
        check(c == code(errc::truncated), "receiver");
      }
    }
    barrier(comm, exec);
  });
  check.finish(4);
}

TEST_CASE("CO-3: calls that differ end in an error on every rank that names both", "[comm]") {
  rank_checks check;
  on_every_transport(3, [&](auto& comm) {
    serial_executor exec;
    int const r = comm.rank();
    std::string what;
    std::vector<float> x = filled(r == 0 ? 4 : 3, 1.0f);
    int c = code_of([&] { all_reduce(comm, exec, as_view(x), as_view(x)); }, &what);
    check(c == code(errc::mismatch) && what.find("of 4 float32") != std::string::npos &&
              what.find("of 3 float32") != std::string::npos, "size: " + what);
    std::vector<float> y = filled(3, 1.0f), out = filled(9, 0.0f);
    auto const sum = [&] { all_reduce(comm, exec, as_view(y), as_view(y)); };
    auto const collect = [&] { gather(comm, exec, as_view(y), as_view(out), 0); };
    c = r == 1 ? code_of(collect, &what) : code_of(sum, &what);
    check(c == code(errc::mismatch) && what.find("all_reduce") != std::string::npos &&
              what.find("gather") != std::string::npos, "kind: " + what);
    std::vector<std::int32_t> z(3, 1);
    c = r == 2 ? code_of([&] { all_reduce(comm, exec, as_view(z), as_view(z)); }, &what) : code_of(sum, &what);
    check(c == code(errc::mismatch) && what.find("int32") != std::string::npos, "type: " + what);
    c = r == 2 ? code_of([&] { all_reduce(comm, exec, as_view(y), as_view(y), maximum{}); }, &what)
               : code_of(sum, &what);
    check(c == code(errc::mismatch) && what.find("operation plus") != std::string::npos &&
              what.find("operation maximum") != std::string::npos, "operation: " + what);
    auto const lambda = [](float a, float b) { return a < b ? b : a; };
    c = r == 2 ? code_of([&] { all_reduce(comm, exec, as_view(y), as_view(y), lambda); }, &what) : code_of(sum, &what);
    check(c == code(errc::mismatch) && what.find("(without a name)") != std::string::npos, "lambda: " + what);
    c = code_of([&] { broadcast(comm, exec, as_view(y), r == 1 ? 1 : 0); }, &what);
    check(c == code(errc::mismatch) && what.find("root 1") != std::string::npos, "root: " + what);
    c = code_of([&] { broadcast(comm, exec, as_view(y), -1); }, &what);
    check(c == contract && what.find("broadcast: precondition broken: the root must be a rank") == 0,
          "bad root: " + what);
    std::vector<index_t> const one = {1, 1, 1}, odd = {1, 2, 1};
    std::vector<float> w = filled(r == 1 ? 4 : 3, 0.0f);
    c = code_of([&] { all_to_all_v(comm, exec, as_view(y), as_view(one), as_view(w), as_view(r == 1 ? odd : one)); },
                &what);
    check(c == code(errc::mismatch) && what.find("all_to_all") != std::string::npos, "counts: " + what);
    std::vector<index_t> const a = {3, 3, 3}, b = {3, 2, 4};
    c = code_of(
        [&] {
          all_gather_v(comm, exec, slice(as_view(y), 0, 0, r == 1 ? 2 : 3), as_view(out), as_view(r == 1 ? b : a));
        },
        &what);
    check(c == code(errc::mismatch), "counts vector: " + what);
    std::fill(y.begin(), y.end(), 1.0f);
    sum();
    check(y == filled(3, 3.0f), "the communicator is still usable");
  });
  check.finish(72);
}

TEST_CASE("a rank's own bad argument is told to its peers", "[comm]") {
  rank_checks check;
  on_every_transport(4, [&](auto& comm) {
    serial_executor exec;
    bool const bad = comm.rank() == 2;
    std::string what;
    int rank = -1;
    auto const expect = [&](int c, char const* name) {
      check(c == (bad ? contract : code(errc::invalid_argument)) && (bad || rank == 2), name + what);
    };
    std::vector<float> x = filled(100, 1.0f), y = filled(100, 0.0f), all = filled(12, 0.0f);
    auto const v = as_view(x);
    expect(code_of([&] { all_reduce(comm, exec, slice(v, 0, 0, 50), bad ? slice(v, 0, 49, 99) : slice(v, 0, 0, 50)); },
                   &what, &rank), "overlap by one ");
    std::vector<float> wide = filled(100, 1.0f);
    view<float, 1> const gaps(wide.data(), dims<1>(50), 2);
    expect(code_of([&] { all_reduce(comm, exec, bad ? gaps : slice(v, 0, 0, 50), slice(as_view(y), 0, 0, 50)); }, &what,
                   &rank), "strided ");
    index_t const slot = bad ? 0 : 3 * comm.rank();
    expect(code_of([&] { all_gather(comm, exec, slice(as_view(all), 0, slot, slot + 3), as_view(all)); }, &what, &rank),
           "in place at the wrong slot ");
    std::vector<index_t> const counts = bad ? std::vector<index_t>{3, -1, 3, 3} : std::vector<index_t>{3, 3, 3, 3};
    expect(code_of([&] { all_gather_v(comm, exec, slice(v, 0, 0, 3), as_view(all), as_view(counts)); }, &what, &rank),
           "negative count ");
    int const c = code_of([&] { broadcast(comm, exec, v, 4); }, &what);
    check(c == contract, "a root that no rank is: " + what);
    std::fill(x.begin(), x.end(), 1.0f);
    all_reduce(comm, exec, v, v);
    check(x == filled(100, 4.0f), "the communicator is still usable");
  });
  check.finish(72);
}

TEST_CASE("outputs that share memory with a peer's are refused", "[comm]") {
  rank_checks check;
  std::vector<float> shared = filled(2000, 1.0f), in = filled(2000, 1.0f);
  run_test_ranks(2, [&](thread_communicator& comm) {
    serial_executor exec;
    int const c = code_of([&] { all_reduce(comm, exec, as_view(in), as_view(shared)); });
    check(c == code(errc::invalid_argument), "one output for two ranks");
    std::vector<float> out = filled(2000, 0.0f);
    all_reduce(comm, exec, as_view(in), as_view(out));
    check(out == filled(2000, 2.0f), "one input for two ranks is legal");
  });
  check.finish(4);
}

TEST_CASE("split orders by key and then by rank, and nests", "[comm]") {
  rank_checks check;
  host_space memory;
  rank_options options;
  options.memory = &memory;
  run_ranks(8, [&](thread_communicator& comm) {
    serial_executor exec;
    int const old = comm.rank();
    thread_communicator parity = comm.split(old % 2, -old);
    check(parity.size() == 4 && parity.rank() == (7 - old) / 2, "parity");
    thread_communicator half = parity.split(old >= 4, 0);
    std::vector<int> x = filled(1, old), y = filled(1, old);
    int const right[] = {2, 4, 2, 4, 10, 12, 10, 12};
    all_reduce(half, exec, as_view(x), as_view(x));
    check(x[0] == right[old], "nested sum");
    all_reduce(comm, exec, as_view(y), as_view(y));
    check(y[0] == 28, "the parent goes on");
    thread_communicator some = comm.split(old < 3 ? 5 : -1, 0);
    check(bool(some) == (old < 3) && some.size() == (old < 3 ? 3 : 0), "no color, no handle");
    barrier(half, exec);
    parity = thread_communicator();
    int z = old;
    view<int, 1> const vz(&z, dims<1>(1));
    all_reduce(half, exec, vz, vz);
    check(z == right[old], "the parent of a group may die first");
    barrier(comm, exec);
  }, options);
  check.finish(40);
  REQUIRE(memory.counts().live == 0);
}

TEST_CASE("a mismatched split leaves queued collectives usable", "[comm]") {
  rank_checks check;
  run_test_ranks(3, [&](thread_communicator& comm) {
    serial_executor exec;
    queued<serial_executor> queue;
    int const failed = code_of([&] {
      if (comm.rank() == 1) return barrier(comm, exec);
      thread_communicator const child = comm.split(0, 0);
    });
    check(failed == code(errc::mismatch), "mismatch");
    std::vector<int> x = filled(10, comm.rank() + 1), y = x;
    std::string what;
    all_reduce(comm, queue, as_view(x), as_view(x));
    check(code_of([&] { queue.synchronize(); }, &what) == 0 && x == filled(10, 6), "sum " + what);
    thread_communicator child = comm.split(0, 0);
    all_reduce(comm, queue, as_view(y), as_view(y));
    check(code_of([&] { queue.synchronize(); }, &what) == 0 && y == filled(10, 6), "after a split " + what);
  });
  check.finish(9);
}

TEST_CASE("ranks that the system does not start are reported with what to do", "[comm]") {
  pthread_attr_t before, huge;
  REQUIRE(pthread_getattr_default_np(&before) == 0);
  REQUIRE(pthread_getattr_default_np(&huge) == 0);
  REQUIRE(pthread_attr_setstacksize(&huge, std::size_t{1} << 50) == 0);  // more than there are addresses
  REQUIRE(pthread_setattr_default_np(&huge) == 0);
  std::string ranks, team;
  int const at_ranks = code_of([&] { run_test_ranks(3, [](thread_communicator&) {}); }, &ranks);
  int const at_team = code_of([&] { threads_executor const exec(3); }, &team);
  pthread_setattr_default_np(&before);
  pthread_attr_destroy(&before);
  pthread_attr_destroy(&huge);
  INFO(ranks << " / " << team);
  REQUIRE(at_ranks == code(errc::unsupported));
  REQUIRE(at_team == code(errc::unsupported));
  REQUIRE(ranks.find("did not start 3 of 3 ranks") != std::string::npos);
  REQUIRE(team.find("did not start another thread") != std::string::npos);
  for (std::string const& what : {ranks, team})
    REQUIRE(what.find("give fewer ranks or threads, or raise the limit (ulimit -u)") != std::string::npos);
}

TEST_CASE("splitting again and again keeps no memory", "[comm]") {
  host_space memory;
  rank_options options;
  options.memory = &memory;
  rank_checks check;
  run_ranks(2, [&](thread_communicator& comm) {
    for (int i = 0; i < 2000; ++i) {
      thread_communicator const child = comm.split(0, i % 2 == 0 ? comm.rank() : -comm.rank());
      if (child.rank() != (i % 2 == 0 ? comm.rank() : 1 - comm.rank())) check(false, "order");
    }
    check(memory.counts().peak <= 4 * thread_communicator::reserved_bytes(2), "peak");
  }, options);
  check.finish(2);
  REQUIRE(memory.counts().live == 0);
}
