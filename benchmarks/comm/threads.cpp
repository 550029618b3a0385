// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Ranks as threads: a barrier of 8, the CPU time of a rank that waits for a second, and all_reduce of 65536 floats on
// 4 ranks. Medians of 9 runs.

#include <heddle/comm/collectives.hpp>
#include <heddle/comm/transport/thread.hpp>
#include <heddle/exec/serial_executor.hpp>

#include <algorithm>
#include <cstdio>
#include <vector>

#include <time.h>
#include <unistd.h>

using namespace heddle;

namespace {

double seconds(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Microseconds per call of f, median of 9 runs of `calls`, on rank 0.
template <class F>
double median_us(thread_communicator& comm, serial_executor& exec, int calls, F const& f) {
  std::vector<double> runs;
  for (int run = 0; run < 9; ++run) {
    barrier(comm, exec);
    double const begin = seconds(CLOCK_MONOTONIC);
    for (int i = 0; i < calls; ++i) f();
    runs.push_back((seconds(CLOCK_MONOTONIC) - begin) * 1e6 / calls);
  }
  std::sort(runs.begin(), runs.end());
  return runs[runs.size() / 2];
}

double barrier_us(int ranks) {
  double result = 0;
  run_ranks(ranks, [&](thread_communicator& comm) {
    serial_executor exec;
    double const us = median_us(comm, exec, 500, [&] { barrier(comm, exec); });
    if (comm.rank() == 0) result = us;
  });
  return result;
}

double all_reduce_us(int ranks, index_t n) {
  double result = 0;
  run_ranks(ranks, [&](thread_communicator& comm) {
    serial_executor exec;
    std::vector<float> x(static_cast<std::size_t>(n), 1.0f), y(x.size());
    view<float, 1> const in(x.data(), dims<1>(n)), out(y.data(), dims<1>(n));
    double const us = median_us(comm, exec, 50, [&] { all_reduce(comm, exec, in, out); });
    if (comm.rank() == 0) result = us;
  });
  return result;
}

double blocked_cpu_ms() {
  double result = 0;
  run_ranks(2, [&](thread_communicator& comm) {
    serial_executor exec;
    if (comm.rank() == 0) sleep(1);
    double const begin = seconds(CLOCK_THREAD_CPUTIME_ID);
    barrier(comm, exec);
    if (comm.rank() == 1) result = (seconds(CLOCK_THREAD_CPUTIME_ID) - begin) * 1e3;
  });
  return result;
}

}  // namespace

int main() {
  std::printf("usable cores %d\n", usable_cores());
  for (int p : {2, 4, 8}) std::printf("barrier p%d %.2f us\n", p, barrier_us(p));
  for (index_t n : {1, 64, 1000, 65536, 1048576})
    for (int p : {2, 4, 8})
      std::printf("all_reduce n%lld p%d %.2f us\n", static_cast<long long>(n), p, all_reduce_us(p, n));
  std::printf("evidence comm.barrier.p8_us %.2f us\n", barrier_us(8));
  std::printf("evidence comm.blocked_cpu_ms %.3f ms\n", blocked_cpu_ms());
  std::printf("evidence comm.allreduce.64k.p4 absent Open MPI is not run by this program (ours: %.2f us)\n",
              all_reduce_us(4, 65536));
  return 0;
}
