// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bits.hpp"

#include <heddle/comm/reductions.hpp>
#include <heddle/comm/transport/thread.hpp>

#include <string>

namespace {

using namespace heddle;
using test::array;

void reduce_over(int ranks) {
  dims<1> const n(4099);
  array<float, 1> result(n);
  run_ranks(ranks, [&](thread_communicator& comm) {
    threads_executor exec(test::threads);
    array<float, 1> mine(n, static_cast<std::uint64_t>(comm.rank()) + 1), sum_of(n);
    all_reduce(comm, exec, mine.v, sum_of.v);
    exec.synchronize();
    if (comm.rank() == 0) result.data = sum_of.data;
  });
  test::print_bits(("comm.all_reduce.f32." + std::to_string(ranks)).c_str(), result);
}

test::section const comm_section("comm", [] {
  reduce_over(3);
  reduce_over(5);
});

}  // namespace
