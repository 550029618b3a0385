// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// @file
/// MPI's all-reduce of n floats, to be started by mpirun beside a benchmark of ours. Prints the microseconds of one
/// call: the median of nine runs of fifty on rank 0, and whether the sums were right.
///
/// Usage: mpirun -np P bench_peers_mpi_all_reduce N

#include <mpi.h>

#include <support/timing.hpp>

#include <cstdio>
#include <cstdlib>

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int const n = count > 1 ? std::atoi(arguments[1]) : 65536;
  std::vector<float> x(static_cast<std::size_t>(n), 1.0f), y(x.size());
  std::vector<double> runs;
  constexpr int calls = 50;
  for (int run = 0; run < 9; ++run) {
    MPI_Barrier(MPI_COMM_WORLD);
    double const begin = heddle::bench::now(heddle::bench::watch::wall);
    for (int i = 0; i < calls; ++i) MPI_Allreduce(x.data(), y.data(), n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    runs.push_back((heddle::bench::now(heddle::bench::watch::wall) - begin) * 1e6 / calls);
  }
  bool right = true;
  for (float const v : y) right = right && v == static_cast<float>(ranks);
  if (rank == 0) std::printf("%.3f %s\n", heddle::bench::median(runs), right ? "right" : "wrong");
  MPI_Finalize();
  return right ? 0 : 1;
}
