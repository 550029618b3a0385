// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support.hpp"

#include <heddle/comm/counting.hpp>
#include <heddle/comm/elastic.hpp>

#include <cmath>

using namespace heddle;
using namespace heddle::test;

namespace {

float leaf_value(index_t leaf, index_t i) {
  return std::ldexp(static_cast<float>((leaf * 2654435761 + i * 40503) % 8191) - 4000.0f,
                    static_cast<int>((leaf + i) % 23) - 11);
}

/// The leaves of one rank, merged as they arrive; the result is what elastic reductions take.
struct pieces {
  std::vector<float> rows;
  index_t count, n, stride;

  pieces(index_t leaves, int ranks, int rank, index_t elements) : count(0), n(elements), stride(elements + 3) {
    part const own = balanced_part(leaves, ranks, rank);
    index_t const slots = tree_slots(leaves, own.offset, own.end());
    rows.assign(static_cast<std::size_t>(slots * stride), __builtin_nanf(""));
    tree_accumulate merge(leaves, own.offset, own.end());
    while (!merge.done()) {
      index_t const leaf = merge.leaf();
      int slot = merge.next_slot();
      for (index_t i = 0; i < n; ++i) at(slot, i) = leaf_value(leaf, i);
      for (int merges = merge.push(); merges > 0; --merges, --slot)
        for (index_t i = 0; i < n; ++i) at(slot - 1, i) += at(slot, i);
    }
    count = merge.pieces();
  }
  float& at(index_t row, index_t i) { return rows[static_cast<std::size_t>(row * stride + i)]; }
  view<float, 2> matrix() { return view<float, 2>(rows.data(), dims<2>(count, n), stride, index_t{1}); }
};

std::vector<float> whole_tree(index_t leaves, index_t n, float divisor) {
  std::vector<float> v(static_cast<std::size_t>(n));
  for (index_t i = 0; i < n; ++i)
    v[static_cast<std::size_t>(i)] =
        tree_reduce(
            leaves, [&](index_t leaf) { return leaf_value(leaf, i); }, [](float a, float b) { return a + b; }) /
        divisor;
  return v;
}

}  // namespace

TEST_CASE("elastic reductions give T(V) for every number of ranks", "[comm]") {
  for (index_t leaves : test::sampled({1, 2, 3, 5, 7, 12, 64}))
    for (int p : rank_counts) {
      rank_checks check;
      on_every_transport(p, [&, leaves](auto& comm) {
        serial_executor exec;
        for (index_t n : {0, 1, 31, 1500}) {
          std::vector<float> const right = whole_tree(leaves, n, 1),
                                   averaged = whole_tree(leaves, n, static_cast<float>(leaves));
          pieces mine(leaves, p, comm.rank(), n);
          check(mine.count == elastic_pieces(leaves, p, comm.rank()), "pieces");
          std::vector<float> out = filled(n, __builtin_nanf(""));
          elastic_all_reduce(comm, exec, mine.matrix(), as_view(out), leaves);
          check(out == right, "all_reduce V " + std::to_string(leaves) + " p " + std::to_string(p));
          part const block = balanced_part(n, p, comm.rank());
          std::vector<float> scattered = filled(block.size, __builtin_nanf(""));
          elastic_reduce_scatter(comm, exec, mine.matrix(), as_view(scattered), leaves, mean{});
          check(std::equal(scattered.begin(), scattered.end(), averaged.begin() + block.offset), "reduce_scatter");
          if (mine.count == 0 || n == 0) {  // every rank must call; a rank without a piece has nothing to reuse
            elastic_all_reduce(comm, exec, mine.matrix(), as_view(out), leaves);
          } else {
            view<float, 1> const first(mine.rows.data(), dims<1>(n));
            elastic_all_reduce(comm, exec, mine.matrix(), first, leaves);
            std::copy(mine.rows.begin(), mine.rows.begin() + n, out.begin());
          }
          check(out == right, "in place");
        }
      });
      check.finish();
    }
}

TEST_CASE("elastic pieces of 16-bit results are fp32 and are rounded once", "[comm]") {
  for (int p : {1, 2, 3, 4}) {
    rank_checks check;
    on_every_transport(p, [&](auto& comm) {
      serial_executor exec;
      pieces mine(12, p, comm.rank(), 100);
      std::vector<float> const right = whole_tree(12, 100, 1);
      std::vector<bf16> out(100);
      elastic_all_reduce(comm, exec, mine.matrix(), as_view(out), 12);
      bool same = true;
      for (std::size_t i = 0; i < 100; ++i) same = same && out[i].bits == bf16(right[i]).bits;
      check(same, "rounded once");
    });
    check.finish();
  }
}

TEST_CASE("elastic byte counts are the pieces times what a rank does not own", "[comm]") {
  std::vector<index_t> const piece_counts[] = {{2, 2}, {1, 1, 1}, {}, {2, 2, 1, 1, 1}};
  for (int p : {2, 3, 5}) {
    rank_checks check;
    run_test_ranks(p, [&](thread_communicator& comm) {
      serial_executor exec;
      counting<thread_communicator> over(comm);
      index_t const n = 1001, c = piece_counts[p - 2][static_cast<std::size_t>(comm.rank())];
      pieces mine(12, p, comm.rank(), n);
      index_t const own = balanced_part(n, p, comm.rank()).size;
      std::vector<float> block = filled(own, 0.0f);
      elastic_reduce_scatter(over, exec, mine.matrix(), as_view(block), 12);
      check(over.counts().bytes_of(traffic::reduce_scatter) == c * 4 * (n - own), "messages");
      elastic_reduce_scatter(comm, exec, mine.matrix(), as_view(block), 12);
      check(comm.counts().bytes_of(traffic::reduce_scatter) == c * 4 * (n - own), "shared memory");
      check(comm.counts().messages_of(traffic::reduce_scatter) == over.counts().messages_of(traffic::reduce_scatter),
            "count");
    });
    check.finish();
  }
}

TEST_CASE("elastic calls that break their contract", "[comm]") {
  rank_checks check;
  on_every_transport(2, [&](auto& comm) {
    serial_executor exec;
    pieces mine(12, 2, comm.rank(), 10);
    std::vector<float> out = filled(10, 0.0f);
    std::string what;
    int c = code_of([&] { elastic_all_reduce(comm, exec, mine.matrix(), as_view(out), 8); }, &what);
    check(c == contract && what.find("pieces") != std::string::npos, what);
    c = code_of([&] { elastic_all_reduce(comm, exec, mine.matrix(), as_view(out), 0); }, &what);
    check(c == contract, what);
    view<float, 1> const shifted(mine.rows.data() + 1, dims<1>(10));
    c = code_of([&] { elastic_all_reduce(comm, exec, mine.matrix(), shifted, 12); }, &what);
    check(c == contract && what.find("in place") != std::string::npos, what);
  });
  check.finish();
}
