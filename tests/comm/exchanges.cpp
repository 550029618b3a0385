// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support.hpp"

#include <heddle/comm/channel.hpp>
#include <heddle/comm/exchanges.hpp>
#include <heddle/comm/point_to_point.hpp>

using namespace heddle;
using namespace heddle::test;

namespace {

int element(int rank, index_t i) { return static_cast<int>(rank * 1000003 + i * 7 + 1); }

std::vector<int> block_of(int rank, index_t n) {
  std::vector<int> v(static_cast<std::size_t>(n));
  for (index_t i = 0; i < n; ++i) v[static_cast<std::size_t>(i)] = element(rank, i);
  return v;
}

std::vector<int> joined(std::vector<index_t> const& counts) {
  std::vector<int> all;
  for (std::size_t r = 0; r < counts.size(); ++r) {
    std::vector<int> const b = block_of(static_cast<int>(r), counts[r]);
    all.insert(all.end(), b.begin(), b.end());
  }
  return all;
}

std::vector<index_t> balanced_counts(index_t n, int p) {
  std::vector<index_t> c;
  for (int r = 0; r < p; ++r) c.push_back(balanced_part(n, p, r).size);
  return c;
}

}  // namespace

TEST_CASE("broadcast, barrier and all_gather move every element", "[comm]") {
  for (int p : rank_counts) {
    rank_checks check;
    on_every_transport(p, [&](auto& comm) {
      serial_executor exec;
      for (index_t n : element_counts) {
        int const root = static_cast<int>(n % p);
        std::vector<int> data = comm.rank() == root ? block_of(root, n) : filled(n, -1);
        broadcast(comm, exec, as_view(data), root);
        check(data == block_of(root, n), "broadcast");
        barrier(comm, exec);
        std::vector<index_t> const counts = balanced_counts(n, p);
        std::vector<int> const mine = block_of(comm.rank(), counts[static_cast<std::size_t>(comm.rank())]);
        std::vector<int> out = filled(n, -1);
        all_gather(comm, exec, as_view(mine), as_view(out));
        check(out == joined(counts), "all_gather");
        std::vector<int> in_place = filled(n, -1);
        part const own = balanced_part(n, p, comm.rank());
        std::copy(mine.begin(), mine.end(), in_place.begin() + own.offset);
        all_gather(comm, exec, slice(as_view(in_place), 0, own.offset, own.end()), as_view(in_place));
        check(in_place == out, "all_gather in place");
      }
    });
    check.finish();
  }
}

TEST_CASE("gather and scatter use every root", "[comm]") {
  for (int p : rank_counts) {
    rank_checks check;
    on_every_transport(p, [&](auto& comm) {
      serial_executor exec;
      for (int root = 0; root < p; ++root)
        for (index_t m : {0, 1, 13, 5000}) {
          std::vector<index_t> const counts(static_cast<std::size_t>(p), m);
          bool const is_root = comm.rank() == root;
          std::vector<int> const mine = block_of(comm.rank(), m), whole = joined(counts), none;
          std::vector<int> out = filled(is_root ? m * p : 0, -1), back = filled(m, -1);
          gather(comm, exec, as_view(mine), as_view(out), root);
          check(out == (is_root ? whole : none), "gather");
          scatter(comm, exec, as_view(out), as_view(back), root);
          check(back == mine, "scatter");
          if (!is_root) continue;
          std::vector<int> const kept = out;
          check(kept == whole, "scatter leaves its input");
        }
    });
    check.finish();
  }
}

TEST_CASE("blocks of any sizes, empty ones included", "[comm]") {
  std::vector<std::vector<index_t>> const cases = {{0, 3, 0, 0}, {2, 0, 5, 1}, {0, 0, 0, 0}, {9000, 1, 0, 20000}};
  for (auto const& counts : cases) {
    rank_checks check;
    on_every_transport(4, [&](auto& comm) {
      serial_executor exec;
      std::vector<int> const whole = joined(counts);
      std::vector<int> const mine = block_of(comm.rank(), counts[static_cast<std::size_t>(comm.rank())]);
      std::vector<int> out(whole.size(), -1), back(mine.size(), -1), nothing;
      all_gather_v(comm, exec, as_view(mine), as_view(out), as_view(counts));
      check(out == whole, "all_gather_v");
      bool const root = comm.rank() == 2;
      std::vector<int> at_root(root ? whole.size() : 0, -1);
      gather_v(comm, exec, as_view(mine), as_view(at_root), as_view(counts), 2);
      check(!root || at_root == whole, "gather_v");
      scatter_v(comm, exec, as_view(at_root), as_view(back), as_view(counts), 2);
      check(back == mine, "scatter_v");
    });
    check.finish();
  }
}

TEST_CASE("all_to_all transposes blocks", "[comm]") {
  for (int p : rank_counts) {
    rank_checks check;
    on_every_transport(p, [&](auto& comm) {
      serial_executor exec;
      for (index_t c : {0, 1, 7, 3000}) {
        std::vector<int> in = block_of(comm.rank(), c * p), out = filled(c * p, -1), right;
        for (int s = 0; s < p; ++s)
          for (index_t i = 0; i < c; ++i) right.push_back(element(s, comm.rank() * c + i));
        all_to_all(comm, exec, as_view(in), as_view(out));
        check(out == right, "all_to_all");
      }
    });
    check.finish();
  }
}

TEST_CASE("all_to_all_v with uneven counts", "[comm]") {
  std::vector<std::vector<int>> const rows = {
      {0, 1, 2, 3, 4, 5}, {10, 11, 12, 13, 14, 15, 16, 17, 18}, {20, 21, 22, 23, 24}, {30, 31, 32, 33, 34, 35, 36}};
  std::vector<std::vector<index_t>> const sent = {{2, 2, 1, 1}, {3, 2, 2, 2}, {2, 1, 1, 1}, {2, 2, 2, 1}};
  std::vector<std::vector<int>> const right = {
      {0, 1, 10, 11, 12, 20, 21, 30, 31}, {2, 3, 13, 14, 22, 32, 33}, {4, 15, 16, 23, 34, 35}, {5, 17, 18, 24, 36}};
  rank_checks check;
  on_every_transport(4, [&](auto& comm) {
    serial_executor exec;
    std::size_t const me = static_cast<std::size_t>(comm.rank());
    std::vector<index_t> received;
    for (auto const& row : sent) received.push_back(row[me]);
    std::vector<int> out(right[me].size(), -1);
    all_to_all_v(comm, exec, as_view(rows[me]), as_view(sent[me]), as_view(out), as_view(received));
    check(out == right[me], "rank " + std::to_string(me));
  });
  check.finish(12);
}

TEST_CASE("CO-1: zero counts in all_to_all_v end on all ranks", "[comm]") {
  std::vector<std::vector<index_t>> const sent = {{0, 2, 0}, {1, 0, 0}, {0, 0, 0}};
  std::vector<std::vector<int>> const in = {{10, 11}, {20}, {}}, right = {{20}, {10, 11}, {}};
  rank_checks check;
  on_every_transport(3, [&](auto& comm) {
    serial_executor exec;
    std::size_t const me = static_cast<std::size_t>(comm.rank());
    std::vector<index_t> received;
    for (auto const& row : sent) received.push_back(row[me]);
    std::vector<int> out(right[me].size(), -1);
    all_to_all_v(comm, exec, as_view(in[me]), as_view(sent[me]), as_view(out), as_view(received));
    check(out == right[me], "rank " + std::to_string(me));
    std::vector<index_t> const zero(3, 0);
    std::vector<int> none;
    all_to_all_v(comm, exec, as_view(none), as_view(zero), as_view(none), as_view(zero));
    check(none.empty(), "all counts zero");
  });
  check.finish(18);
}

TEST_CASE("messages are kept apart by channel and keep their order", "[comm]") {
  rank_checks check;
  on_every_transport(3, [&](auto& comm) {
    serial_executor exec;
    int const next = (comm.rank() + 1) % 3, before = (comm.rank() + 2) % 3;
    channel const red = make_channel(1, 2, 3), blue = make_channel(1, 2, 4);
    std::vector<int> a = block_of(comm.rank(), 5), b = block_of(comm.rank() + 10, 5), c = block_of(comm.rank() + 20, 5);
    send(comm, exec, as_view(a), next, red);
    send(comm, exec, as_view(b), next, red);
    send(comm, exec, as_view(c), next, blue);
    std::vector<int> x(5), y(5), z(5);
    receive(comm, exec, as_view(z), before, blue);
    receive(comm, exec, as_view(x), before, red);
    receive(comm, exec, as_view(y), before, red);
    check(x == block_of(before, 5) && y == block_of(before + 10, 5) && z == block_of(before + 20, 5), "channels");
  });
  check.finish(9);
  REQUIRE_THROWS_AS(make_channel(240), contract_error);
}
