// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// What collectives, messages and exact sums say of their work: the closed formulas, the same from a plan and from an
/// observer, on every rank.

#include <heddle/comm/collectives.hpp>
#include <heddle/comm/elastic.hpp>
#include <heddle/comm/exact_sum.hpp>
#include <heddle/comm/point_to_point.hpp>
#include <heddle/comm/transport/thread.hpp>
#include <heddle/exec/observed.hpp>
#include <heddle/exec/plan.hpp>
#include <heddle/exec/queued.hpp>
#include <heddle/exec/serial_executor.hpp>

#include <support/catch.hpp>

#include <vector>

using namespace heddle;

namespace {

struct work_seen {
  index_t bytes, flops;
  friend bool operator==(work_seen const& a, work_seen const& b) { return a.bytes == b.bytes && a.flops == b.flops; }
};

template <class T>
view<T, 1> on(std::vector<double>& memory, index_t n) {
  return view<T, 1>(reinterpret_cast<std::remove_const_t<T>*>(memory.data()), dims<1>(n));
}

/// What every rank of p sees of `submit(exec, comm)`, in rank order. Plans first, so that a plan must not count.
template <class E, class Submit>
std::vector<work_seen> seen_by_ranks(int p, Submit const& submit) {
  std::vector<work_seen> planned(static_cast<std::size_t>(p)), run(static_cast<std::size_t>(p));
  run_ranks(p, [&](thread_communicator& comm) {
    E exec;
    std::size_t const me = static_cast<std::size_t>(comm.rank());
    work_plan const w = plan(exec, [&] { submit(exec, comm); });
    planned[me] = {w.bytes_moved, w.flops};
    counter seen;
    observed<E, counter> watched(exec, seen);
    submit(watched, comm);
    watched.synchronize();
    run[me] = {seen.bytes, seen.flops};
  });
  CHECK(planned == run);
  return run;
}

using by_rank = std::vector<work_seen>;

}  // namespace

TEMPLATE_TEST_CASE("collectives say what each rank moves and adds", "[comm]", serial_executor,
                   queued<serial_executor>) {
  using E = TestType;
  // Blocks of 11 over 3 ranks are 4, 4 and 3.
  auto const reduced = seen_by_ranks<E>(3, [](auto& exec, auto& comm) {
    std::vector<double> in(11), out(11);
    all_reduce(comm, exec, on<float const>(in, 11), on<float>(out, 11));
    exec.synchronize();
  });
  CHECK(reduced == by_rank{{88, 8}, {88, 8}, {88, 6}});
  auto const scattered = seen_by_ranks<E>(3, [](auto& exec, auto& comm) {
    std::vector<double> in(11), out(11);
    index_t const mine = balanced_part(11, 3, comm.rank()).size;
    reduce_scatter(comm, exec, on<float const>(in, 11), on<float>(out, mine));
    exec.synchronize();
  });
  CHECK(scattered == by_rank{{60, 8}, {60, 8}, {56, 6}});
  auto const rooted = seen_by_ranks<E>(3, [](auto& exec, auto& comm) {
    std::vector<double> in(11), out(11);
    reduce_to_root(comm, exec, on<float const>(in, 11), on<float>(out, 11), 1);
    exec.synchronize();
  });
  CHECK(rooted == by_rank{{44, 0}, {88, 22}, {44, 0}});
  auto const gathered = seen_by_ranks<E>(3, [](auto& exec, auto& comm) {
    std::vector<double> in(11), out(11);
    index_t const mine = balanced_part(11, 3, comm.rank()).size;
    all_gather(comm, exec, on<float const>(in, mine), on<float>(out, 11));
    exec.synchronize();
  });
  CHECK(gathered == by_rank{{60, 0}, {60, 0}, {56, 0}});
  auto const told = seen_by_ranks<E>(3, [](auto& exec, auto& comm) {
    std::vector<double> data(11);
    broadcast(comm, exec, on<float>(data, 11), 2);
    barrier(comm, exec);
    exec.synchronize();
  });
  CHECK(told == by_rank{{44, 0}, {44, 0}, {44, 0}});
}

TEMPLATE_TEST_CASE("an elastic reduction adds pieces", "[comm]", serial_executor, queued<serial_executor>) {
  // Ranks hold leaves 0 1, 2 3 and 4; the middle two are no node of the tree: four pieces. Blocks of 9 are 3, 3 and 3.
  auto const seen = seen_by_ranks<TestType>(3, [](auto& exec, auto& comm) {
    index_t const count = elastic_pieces(5, 3, comm.rank());
    std::vector<double> in(100), out(10);
    view<float const, 2> const pieces(reinterpret_cast<float*>(in.data()), dims<2>(count, 9));
    elastic_all_reduce(comm, exec, pieces, on<float>(out, 9), 5);
    exec.synchronize();
  });
  CHECK(seen == by_rank{{72, 9}, {108, 9}, {72, 9}});
}

TEMPLATE_TEST_CASE("messages and exact sums say what they move", "[comm]", serial_executor, queued<serial_executor>) {
  auto const passed = seen_by_ranks<TestType>(2, [](auto& exec, auto& comm) {
    std::vector<double> data(5);
    if (comm.rank() == 0)
      send(comm, exec, on<double const>(data, 5), 1, make_channel(0));
    else
      receive(comm, exec, on<double>(data, 4), 0, make_channel(0, 1));
    if (comm.rank() == 0)
      send(comm, exec, on<double const>(data, 4), 1, make_channel(0, 1));
    else
      receive(comm, exec, on<double>(data, 5), 0, make_channel(0));
    exec.synchronize();
  });
  CHECK(passed == by_rank{{72, 0}, {72, 0}});
  auto const summed = seen_by_ranks<TestType>(1, [](auto& exec, auto&) {
    std::vector<double> x(100), sum(static_cast<std::size_t>(exact_sum_words)), out(1);
    exact_sum_add(exec, on<float const>(x, 100), on<std::uint64_t>(sum, exact_sum_words));
    exact_sum_round(exec, on<std::uint64_t const>(sum, exact_sum_words), on<double>(out, 1));
    exec.synchronize();
  });
  CHECK(summed == by_rank{{400 + 3 * 8 * exact_sum_words + 8, 200}});
}
