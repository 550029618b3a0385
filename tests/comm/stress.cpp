// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support.hpp"

#include <algorithm>
#include <random>
#include <stdexcept>

#include <unistd.h>

using namespace heddle;
using namespace heddle::test;

namespace {

/// One random collective, the same on all ranks, with a result that every rank can check.
bool random_collective(thread_communicator& comm, std::mt19937& random) {
  serial_executor exec;
  index_t const sizes[] = {0, 1, 5, 100, 1500, 30000};
  index_t const n = sizes[random() % 6];
  int const p = comm.size(), root = static_cast<int>(random() % static_cast<unsigned>(p)),
            kind = static_cast<int>(random() % 6);
  int const seed = static_cast<int>(random() % 1000), me = comm.rank();
  std::vector<int> x = filled(n, seed + me), wide = filled(n * p, me == root || kind == 5 ? seed + me : 0), back = x;
  switch (kind) {
    case 0: barrier(comm, exec); return true;
    case 1: all_reduce(comm, exec, as_view(x), as_view(x)); return x == filled(n, p * seed + p * (p - 1) / 2);
    case 2: broadcast(comm, exec, as_view(x), root); return x == filled(n, seed + root);
    case 3: all_reduce(comm, exec, as_view(x), as_view(back), maximum{}); return back == filled(n, seed + p - 1);
    case 4: scatter(comm, exec, as_view(wide), as_view(x), root); return x == filled(n, seed + root);
    default: {
      std::vector<int> out = filled(n * p, -1);
      all_to_all(comm, exec, as_view(wide), as_view(out));
      for (index_t i = 0; i < n * p; ++i)
        if (out[static_cast<std::size_t>(i)] != seed + static_cast<int>(i / n)) return false;
      return true;
    }
  }
}

}  // namespace

TEST_CASE("random collectives and messages, more ranks than cores", "[comm]") {
  for (int p : {2, 3, 5, 8}) {
    rank_checks check;
    run_test_ranks(p, [&](thread_communicator& comm) {
      std::mt19937 random(static_cast<unsigned>(p));
      thread_communicator child = comm.split(comm.rank() % 2, 0);
      for (int i = 0; i < 150; ++i) {
        check(random_collective(comm, random), "collective");
        if (i % 5 == 0) check(random_collective(child, random), "collective of a split");
        std::vector<int> out = filled(static_cast<index_t>(random() % 3000), comm.rank()), in(out.size());
        int const to = (comm.rank() + 1) % p, from = (comm.rank() + p - 1) % p;
        auto t = comm.start_send(to, channel{3}, bytes_of(as_view(out)));
        comm.receive(from, channel{3}, bytes_of(as_view(in)));
        comm.finish_send(t);
        check(in == filled(static_cast<index_t>(in.size()), from), "message");
      }
    });
    check.finish();
  }
}

TEST_CASE("ranks that die at random never leave a peer waiting", "[comm]") {
  for (unsigned seed = 0; seed < 120; ++seed) {
    int const p = 2 + static_cast<int>(seed % 7);
    std::mt19937 choose(seed);
    int const victim = static_cast<int>(choose() % static_cast<unsigned>(p)), at = static_cast<int>(choose() % 12);
    int const way = static_cast<int>(choose() % 3);
    rank_checks check;
    try {
      run_test_ranks(p, [&](thread_communicator& comm) {
        std::mt19937 random(seed + 1000);
        std::string what;
        int rank = -1, done = 0;
        int const c = code_of([&] {
          for (; done < 20; ++done) {
            if (comm.rank() == victim && done == at) {
              if (way == 0) throw std::runtime_error("boom");
              if (way == 2) comm.fail("on purpose");
              return;
            }
            check(random_collective(comm, random), "result");
          }
        }, &what, &rank);
        if (comm.rank() != victim) check(c == code(errc::peer_failed) && rank == victim && done == at, what);
      });
      check(way != 0, "the exception is rethrown");
    } catch (std::runtime_error const& e) {
      check(way == 0 && std::string(e.what()) == "boom", e.what());
    }
    CAPTURE(seed);
    check.finish();
  }
}

TEST_CASE("nobody touches the memory of a rank that gave up", "[comm]") {
  struct slow_sum {
    float operator()(float a, float b) const noexcept {
      for (int i = 0; i < 40; ++i) asm volatile("" ::: "memory");
      return a + b;
    }
  };
  for (int attempt = 0; attempt < 25; ++attempt) {
    int touched = 0;
    run_test_ranks(3, [&](thread_communicator& comm) {
      serial_executor exec;
      std::vector<float> in = filled(200000, 1.0f), out = in;
      collective_options options;
      options.deadline_s = comm.rank() == 0 ? 1e-3 + 1e-4 * attempt : 20;
      (void)code_of([&] { all_reduce(comm, exec, as_view(in), as_view(out), slow_sum{}, options); });
      std::fill(out.begin(), out.end(), -1.0f);
      usleep(3000);
      for (float v : out)
        if (v != -1.0f) __atomic_store_n(&touched, 1, __ATOMIC_RELAXED);
    });
    REQUIRE(touched == 0);
  }
}

TEST_CASE("deadlines that pass at random give one outcome per call", "[comm]") {
  for (unsigned seed = 0; seed < 40; ++seed) {
    int const p = 2 + static_cast<int>(seed % 4);
    std::vector<int> outcomes(static_cast<std::size_t>(p), -7);
    run_test_ranks(p, [&](thread_communicator& comm) {
      serial_executor exec;
      std::mt19937 random(seed * 31 + static_cast<unsigned>(comm.rank()));
      std::vector<float> x = filled(60000, 1.0f);
      collective_options options;
      options.deadline_s = 1e-5 * static_cast<double>(1 + random() % 40);
      usleep(random() % 300);
      outcomes[static_cast<std::size_t>(comm.rank())] =
          code_of([&] { all_reduce(comm, exec, as_view(x), as_view(x), plus{}, options); });
      // Whoever has left may free its memory: nobody touches it any more.
      std::fill(x.begin(), x.end(), -1.0f);
      bool same = true;
      for (float v : x) same = same && v == -1.0f;
      if (!same) outcomes[static_cast<std::size_t>(comm.rank())] = -8;
    });
    CAPTURE(seed);
    for (int o : outcomes) REQUIRE((o == 0 || o == code(errc::timeout)));
    for (int o : outcomes) REQUIRE(o == outcomes[0]);
  }
}
