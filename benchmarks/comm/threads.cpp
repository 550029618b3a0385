// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Ranks as threads: a barrier of 8, the CPU time of a rank that waits for a second, and all_reduce of 65536 floats on
// 4 ranks, beside MPI's where the build found one. Medians of 9 runs.

#include <heddle/comm/collectives.hpp>
#include <heddle/comm/transport/thread.hpp>
#include <heddle/exec/serial_executor.hpp>

#include <support/measure.hpp>
#include <support/timing.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

using namespace heddle;

namespace {

/// Microseconds per call of f, median of 9 runs of `calls`, on rank 0.
template <class F>
double median_us(thread_communicator& comm, serial_executor& exec, int calls, F const& f) {
  std::vector<double> runs;
  for (int run = 0; run < 9; ++run) {
    barrier(comm, exec);
    double const begin = bench::now(bench::watch::wall);
    for (int i = 0; i < calls; ++i) f();
    runs.push_back((bench::now(bench::watch::wall) - begin) * 1e6 / calls);
  }
  return bench::median(runs);
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
    for (float const v : y)
      if (v != static_cast<float>(ranks)) throw error(errc::backend, "a sum of ones is wrong");
    if (comm.rank() == 0) result = us;
  });
  return result;
}

double blocked_cpu_ms() {
  double result = 0;
  run_ranks(2, [&](thread_communicator& comm) {
    serial_executor exec;
    if (comm.rank() == 0) sleep(1);
    double const begin = bench::now(bench::watch::thread);
    barrier(comm, exec);
    if (comm.rank() == 1) result = (bench::now(bench::watch::thread) - begin) * 1e3;
  });
  return result;
}

/// Microseconds of MPI's all-reduce of n floats; 0 where the build found no MPI or its sums were wrong.
double mpi_all_reduce_us(std::string const& folder, int ranks, index_t n) {
#if defined(HEDDLE_BENCH_MPIEXEC)
  // As root and with more ranks than cores, Open MPI asks to be told that this is meant.
  setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
  setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
  setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 1);
  std::string const command = std::string(HEDDLE_BENCH_MPIEXEC) + " -np " + std::to_string(ranks) + " '" + folder +
                              "bench_peers_mpi_all_reduce' " + std::to_string(n) + " 2>/dev/null";
  std::FILE* const pipe = popen(command.c_str(), "r");
  if (!pipe) return 0;
  double us = 0;
  char verdict[16] = "";
  bool const read = std::fscanf(pipe, "%lf %15s", &us, verdict) == 2;
  return pclose(pipe) == 0 && read && std::string(verdict) == "right" ? us : 0;
#else
  (void)folder, (void)ranks, (void)n;
  return 0;
#endif
}

/// Three turns of both, each the median of nine; ours and MPI's microseconds, the latter 0 where there is none.
std::pair<double, double> compare_all_reduce(std::string const& folder, int ranks, index_t n) {
  std::vector<double> us, them;
  for (int i = 0; i < 3; ++i) {
    us.push_back(all_reduce_us(ranks, n));
    them.push_back(mpi_all_reduce_us(folder, ranks, n));
  }
  double const ours = bench::median(us), other = bench::median(them);
  bench::measurement m{.bench = "comm_threads",
                       .name = "all_reduce of " + std::to_string(n) + " floats, " + std::to_string(ranks) + " ranks",
                       .threads = usable_cores(),
                       .seconds = ours * 1e-6};
  if (other > 0) m.peers.emplace_back("Open MPI", other * 1e-6);
  bench::print_measure(m);
  return {ours, other};
}

void print_evidence(double ours, double other) {
  if (other > 0)
    std::printf("evidence comm.allreduce.64k.p4 %.3f ratio\n", other / ours);
  else
    std::printf("evidence comm.allreduce.64k.p4 absent no MPI to compare with (ours: %.2f us)\n", ours);
}

}  // namespace

int main(int, char** arguments) {
  std::printf("usable cores %d\n", usable_cores());
  for (int p : {2, 4, 8})
    bench::print_measure({.bench = "comm_threads",
                          .name = "barrier, " + std::to_string(p) + " ranks",
                          .threads = usable_cores(),
                          .seconds = barrier_us(p) * 1e-6});
  std::printf("evidence comm.barrier.p8_us %.2f us\n", barrier_us(8));
  std::printf("evidence comm.blocked_cpu_ms %.3f ms\n", blocked_cpu_ms());
  std::string const self = arguments[0];
  std::string const folder = self.substr(0, self.rfind('/') + 1);
  // MPI's ranks spin while they wait: more of them, or longer sums, take minutes where cores are few.
  constexpr std::pair<int, index_t> compared[] = {{2, 64}, {4, 64}, {2, 65536}, {4, 65536}, {2, 1048576}};
  for (auto const& [p, n] : compared) {
    auto const [ours, other] = compare_all_reduce(folder, p, n);
    if (n == 65536 && p == 4) print_evidence(ours, other);
  }
  return 0;
}
