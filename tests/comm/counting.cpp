// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support.hpp"

#include <heddle/comm/counting.hpp>
#include <heddle/comm/counts.hpp>

using namespace heddle;
using namespace heddle::test;

namespace {

int log2_of(int q) { return q <= 1 ? 0 : 1 + log2_of(q / 2); }

/// What collectives.md says that recursive doubling sends: folded even, folded odd, others.
index_t doubling_bytes(int p, int r, index_t n, index_t acc, index_t raw) {
  int q = 1;
  while (2 * q <= p) q *= 2;
  int const f = p - q;
  if (r < 2 * f && r % 2 == 0) return acc * n;
  return acc * n * log2_of(q) + (r < 2 * f ? raw * n : 0);
}

}  // namespace

TEST_CASE("message algorithms send what their formulas say", "[comm]") {
  for (int p : rank_counts)
    for (index_t n : {0, 1, 13, 31, 5000}) {
      rank_checks check;
      post_office office;
      run_test_ranks(p, [&, n](thread_communicator& comm) {
        mail_transport mail(office, comm.rank(), p);
        counting<mail_transport> c(mail);
        serial_executor exec;
        int const r = comm.rank(), root = p - 1;
        std::string const at = " p " + std::to_string(p) + " n " + std::to_string(n);
        index_t const own = balanced_part(n, p, r).size;
        std::vector<bf16> x(static_cast<std::size_t>(n), bf16(1.0f)), y = x, block(static_cast<std::size_t>(own));
        std::vector<bf16> wide(static_cast<std::size_t>(n * p)), other = wide;
        all_reduce(c, exec, as_view(x), as_view(y));
        index_t const small = doubling_bytes(p, r, n, 4, 2), large = 2 * (n - own) + 2 * own * (p - 1);
        check(c.counts().bytes_of(traffic::all_reduce) == (4 * n <= 4096 ? small : large), "all_reduce" + at);
        reduce_scatter(c, exec, as_view(x), as_view(block));
        check(c.counts().bytes_of(traffic::reduce_scatter) == 2 * (n - own), "reduce_scatter" + at);
        all_gather(c, exec, as_view(block), as_view(x));
        check(c.counts().bytes_of(traffic::all_gather) == 2 * own * (p - 1), "all_gather" + at);
        reduce_to_root(c, exec, as_view(x), as_view(y), root);
        check(c.counts().bytes_of(traffic::reduce_to_root) == (r == root ? 0 : 4 * n), "reduce" + at);
        gather(c, exec, as_view(x), as_view(wide), root);
        check(c.counts().bytes_of(traffic::gather) == (r == root ? 0 : 2 * n), "gather" + at);
        scatter(c, exec, as_view(wide), as_view(x), root);
        check(c.counts().bytes_of(traffic::scatter) == (r == root ? 2 * n * (p - 1) : 0), "scatter" + at);
        all_to_all(c, exec, as_view(wide), as_view(other));
        check(c.counts().bytes_of(traffic::all_to_all) == 2 * n * (p - 1), "all_to_all" + at);
        index_t messages = 0;
        for (int k = 0; k < traffic_kinds && n == 0; ++k)
          messages += static_cast<traffic>(k) == traffic::check ? 0 : c.counts().messages[k];
        check(messages == 0, "no message for an empty block" + at);
        index_t sent = c.counts().payload_bytes(), received = c.received().payload_bytes();
        all_reduce(comm, exec, view<index_t, 1>(&sent, dims<1>(1)), view<index_t, 1>(&sent, dims<1>(1)));
        all_reduce(comm, exec, view<index_t, 1>(&received, dims<1>(1)), view<index_t, 1>(&received, dims<1>(1)));
        check(sent == received, "all that was sent was received" + at);
      });
      check.finish();
    }
}

TEST_CASE("broadcast, barrier and the check round", "[comm]") {
  int const children[] = {3, 0, 1, 0, 1, 0};
  rank_checks check;
  post_office office;
  run_test_ranks(6, [&](thread_communicator& comm) {
    mail_transport mail(office, comm.rank(), 6);
    counting<mail_transport> c(mail);
    serial_executor exec;
    std::vector<char> x(10);
    broadcast(c, exec, as_view(x), 2);
    check(c.counts().bytes_of(traffic::broadcast) == 10 * children[(comm.rank() + 4) % 6], "binomial");
    check(c.counts().messages_of(traffic::check) == 3 && c.counts().bytes_of(traffic::check) == 72, "check round");
    barrier(c, exec);
    check(c.counts().messages_of(traffic::barrier) == 3 && c.counts().bytes_of(traffic::barrier) == 0, "barrier");
    c.reset();
    collective_options options;
    options.unchecked = true;
    broadcast(c, exec, as_view(x), 2, options);
    check(c.counts().messages_of(traffic::check) == 0, "unchecked");
  });
  check.finish(24);
}

TEST_CASE("the thread transport counts what the direct algorithms would send", "[comm]") {
  for (int p : rank_counts) {
    rank_checks check;
    run_test_ranks(p, [&](thread_communicator& comm) {
      serial_executor exec;
      counting<thread_communicator> over(comm);
      index_t const n = 5000;
      std::vector<float> x = filled(n, 1.0f), block = filled(balanced_part(n, p, comm.rank()).size, 0.0f);
      std::vector<float> wide = filled(n * p, 0.0f), other = wide;
      auto const run = [&](auto& c) {
        all_reduce(c, exec, as_view(x), as_view(x));
        reduce_scatter(c, exec, as_view(x), as_view(block));
        all_gather(c, exec, as_view(block), as_view(x));
        gather(c, exec, as_view(x), as_view(wide), 0);
        scatter(c, exec, as_view(wide), as_view(x), 0);
        all_to_all(c, exec, as_view(wide), as_view(other));
      };
      run(comm);
      traffic_counts const shared = comm.counts();
      run(over);
      for (traffic k : {traffic::all_reduce, traffic::reduce_scatter, traffic::all_gather, traffic::gather,
                        traffic::scatter, traffic::all_to_all}) {
        check(shared.bytes_of(k) == over.counts().bytes_of(k), std::string("bytes of ") + name(k));
        check(shared.messages_of(k) == over.counts().messages_of(k), std::string("messages of ") + name(k));
      }
    });
    check.finish();
  }
}

TEST_CASE("no elements, no payload", "[comm]") {
  rank_checks check;
  run_test_ranks(4, [&](thread_communicator& comm) {
    serial_executor exec;
    counting<thread_communicator> over(comm);
    auto const run = [&](auto& c) {
      view<float, 1> const none(nullptr, dims<1>(0));
      all_reduce(c, exec, none, none);
      reduce_scatter(c, exec, none, none);
      all_gather(c, exec, none, none);
      broadcast(c, exec, none, 1);
      gather(c, exec, none, none, 1);
      scatter(c, exec, none, none, 1);
      all_to_all(c, exec, none, none);
      reduce_to_root(c, exec, none, none, 3);
      check(c.counts().payload_bytes() == 0, "no payload");
      std::vector<float> one(1);
      int const got = code_of(
          [&] { all_reduce(c, exec, comm.rank() == 2 ? as_view(one) : none, comm.rank() == 2 ? as_view(one) : none); });
      check(got == code(errc::mismatch), "the fingerprint is still checked");
    };
    run(comm);
    run(over);
  });
  check.finish(16);
}
