// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/comm/exchanges.hpp>
#include <heddle/comm/transport/thread.hpp>
#include <heddle/pipeline/run/links.hpp>

#include <support/catch.hpp>

#include <tuple>
#include <vector>

namespace heddle {
namespace {

using kind = pipeline::traffic;
using compute_types = std::tuple<serial_executor, queued<serial_executor>>;

rank_options quick() {
  rank_options o;
  o.threads_per_rank = 1;
  o.deadline = 20;
  return o;
}
channel key(kind what, int microbatch) { return make_channel(static_cast<unsigned>(what), 0, microbatch); }

}  // namespace

TEST_CASE("every boundary has a communicator of its own for each direction", "[pipeline]") {
  for (int stages = 1; stages <= 5; ++stages) {
    std::vector<int> seen(static_cast<std::size_t>(stages * 4), -1);
    run_ranks(stages, [&](thread_communicator& comm) {
      auto links = pipeline::make_stage_links(comm);
      int const stage = comm.rank();
      bool const first = stage == 0, last = stage + 1 == stages;
      int got[] = {-1, -1};
      auto const say = [&](thread_communicator& link, int peer, kind what) {
        link.send(peer, key(what, 7), const_bytes{&stage, sizeof stage});
      };
      auto const hear = [&](thread_communicator& link, int peer, kind what, int& to) {
        link.receive(peer, key(what, 7), mutable_bytes{&to, sizeof to});
      };
      // The earlier stage is rank 0 of a boundary; ends of the pipeline hold empty handles.
      if (!first) hear(links.activation_in, 0, kind::activation, got[0]);
      if (!last) say(links.activation_out, 1, kind::activation);
      if (!last) hear(links.gradient_in, 1, kind::gradient, got[1]);
      if (!first) say(links.gradient_out, 0, kind::gradient);
      std::size_t const at = static_cast<std::size_t>(stage) * 4;
      seen[at] = got[0];
      seen[at + 1] = got[1];
      seen[at + 2] = links.activation_in.size() + links.gradient_out.size();
      seen[at + 3] = links.activation_out.size() + links.gradient_in.size();
      serial_executor exec;
      barrier(comm, exec);
    }, quick());
    for (int s = 0; s < stages; ++s) {
      CAPTURE(stages, s);
      std::size_t const at = static_cast<std::size_t>(s) * 4;
      CHECK(seen[at] == s - 1);
      CHECK(seen[at + 1] == (s + 1 < stages ? s + 1 : -1));
      CHECK(seen[at + 2] == (s > 0 ? 4 : 0));
      CHECK(seen[at + 3] == (s + 1 < stages ? 4 : 0));
    }
  }
}

TEMPLATE_LIST_TEST_CASE("an outbox sends any number of messages from two buffers", "[pipeline]", compute_types) {
  constexpr int messages = 9;
  constexpr index_t rows = 3, columns = 5;
  using box = pipeline::outbox<float, thread_communicator, TestType>;
  CHECK(box::bytes(rows, columns) == 2 * 15 * sizeof(float));
  int wrong = 0;
  run_ranks(2, [&](thread_communicator& comm) {
    auto links = pipeline::make_stage_links(comm);
    host_space space;
    TestType compute;
    int faults = 0;
    if (comm.rank() == 0) {
      box out(compute, space, links.activation_out, 1, rows, columns);
      faults += space.counts().live != static_cast<index_t>(box::bytes(rows, columns));
      for (int m = 0; m < messages; ++m) {
        view<float, 2> const to = out.prepare();
        compute.for_each_tile(rows, [to, m, columns = columns](index_t r, int) {
          for (index_t c = 0; c < columns; ++c) to(r, c) = static_cast<float>(100 * m + 10 * r + c);
        });
        out.send(key(kind::activation, m));
      }
      compute.synchronize();
      out.synchronize();
      faults += space.counts().allocations != 2;
    } else {
      tensor<float, 2> to(compute, space, dims<2>(rows, columns));
      for (int i = 0; i < messages; ++i) {
        int const m = i % 2 == 0 && i + 1 < messages ? i + 1 : i % 2 == 1 ? i - 1 : i;  // keyed: in pairs turned round
        pipeline::receive_into(compute, links.activation_in, 0, key(kind::activation, m), to.view());
        compute.synchronize();
        for (index_t r = 0; r < rows; ++r)
          for (index_t c = 0; c < columns; ++c) faults += to.view()(r, c) != static_cast<float>(100 * m + 10 * r + c);
      }
    }
    __atomic_add_fetch(&wrong, faults, __ATOMIC_RELAXED);
    serial_executor exec;
      barrier(comm, exec);
  }, quick());
  CHECK(wrong == 0);
}

TEMPLATE_LIST_TEST_CASE("a receive from a stage that has gone fails where the queue is synchronised", "[pipeline]",
                        compute_types) {
  int told = 0;
  try {
    run_ranks(2, [&](thread_communicator& comm) {
      auto links = pipeline::make_stage_links(comm);
      if (comm.rank() == 1) throw error(errc::interrupted, "gone", 1);
      host_space space;
      TestType compute;
      pipeline::outbox<float, thread_communicator, TestType> out(compute, space, links.activation_out, 1, 1, 1);
      float never = 0;
      try {
        pipeline::receive_into(compute, links.gradient_in, 1, key(kind::gradient, 0),
                               view<float, 2>(&never, dims<2>(1, 1)));
        compute.synchronize();
      } catch (error const& e) {
        told = e.code() == errc::peer_failed ? 1 : -1;
      }
      out.cancel();
    }, quick());
  } catch (error const& e) {
    CHECK(e.code() == errc::interrupted);
  }
  CHECK(told == 1);
}

}  // namespace heddle
