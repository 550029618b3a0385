// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support.hpp"

using namespace heddle;
using namespace heddle::test;

namespace {

/// One test body for three ways to reach the peers: shared memory, messages between threads, a user's transport.
template <class F>
void on_every_transport(int p, F const& f) {
  rank_options options;
  options.deadline = 20;
  run_ranks(p, [&](thread_communicator& comm) { f(comm); }, options);
  run_ranks(
      p,
      [&](thread_communicator& comm) {
        messages_only<thread_communicator> over(comm);
        f(over);
      },
      options);
  post_office office;
  run_ranks(
      p,
      [&](thread_communicator& comm) {
        mail_transport mail(office, comm.rank(), comm.size());
        f(mail);
      },
      options);
}

float value(int rank, index_t i) { return static_cast<float>((i * 7 + rank * 31) % 101) * 0.37f - 11.0f * static_cast<float>(rank); }

/// T(p) over ranks, as the definition reads.
template <class A, class Leaf>
A tree(int p, Leaf const& leaf) {
  return tree_reduce(p, [&](index_t r) { return leaf(static_cast<int>(r)); }, [](A a, A b) { return a + b; });
}

}  // namespace

TEST_CASE("all_reduce follows T(p) on every transport", "[comm]") {
  for (int p : rank_counts) {
    rank_checks check;
    on_every_transport(p, [&](auto& comm) {
      serial_executor exec;
      for (index_t n : element_counts) {
        std::vector<float> in(static_cast<std::size_t>(n)), out(in.size(), __builtin_nanf(""));
        for (index_t i = 0; i < n; ++i) in[static_cast<std::size_t>(i)] = value(comm.rank(), i);
        all_reduce(comm, exec, as_view(in), as_view(out));
        bool same = true;
        for (index_t i = 0; i < n; ++i)
          same = same && out[static_cast<std::size_t>(i)] == tree<float>(p, [&](int r) { return value(r, i); });
        check(same, "p " + std::to_string(p) + " n " + std::to_string(n));
        all_reduce(comm, exec, as_view(in), as_view(in));
        check(n == 0 || std::memcmp(in.data(), out.data(), in.size() * 4) == 0, "in place");
      }
    });
    check.finish();
  }
}
