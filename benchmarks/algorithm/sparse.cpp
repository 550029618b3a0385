// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// @file
/// y = A x for a sparse matrix of floats against Eigen (rows, its OpenMP loop, -O3 -march=native). The ratio is Eigen's
/// time / ours, both on two threads, medians of interleaved runs by the wall clock.
///
/// The matrix: 2^20 rows and columns, 2^24 entries at random columns, ascending in a row. A row in 64 has 192 to 352
/// entries, the others 0 to 24; a few thousand rows at the end have none.
///
/// Usage: bench_algorithm_sparse [--quick]    with it, a sixteenth of the rows.

#include <heddle/algorithm/sparse.hpp>
#include <heddle/backend/cpu/sparse.hpp>
#include <heddle/exec/threads_executor.hpp>

#include <support/measure.hpp>
#include <support/timing.hpp>

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

using namespace heddle;

namespace {

struct matrix {
  std::vector<int> offsets{0}, columns;
  std::vector<float> values;
  int rows, entries;

  explicit matrix(int rows_log2) : rows(1 << rows_log2), entries(rows * 16) {
    std::uint64_t state = 1;
    auto const random = [&state] {
      state = state * 6364136223846793005u + 1442695040888963407u;
      return static_cast<std::uint32_t>(state >> 33);
    };
    for (int r = 0; r < rows; ++r) {
      int const length = static_cast<int>(random() % 64 == 0 ? 192 + random() % 161 : random() % 25);
      int const left = entries - offsets.back();
      offsets.push_back(offsets.back() + (r + 1 == rows ? left : std::min(left, length)));
    }
    columns.resize(static_cast<std::size_t>(entries));
    for (int& c : columns) c = static_cast<int>(random() % static_cast<unsigned>(rows));
    for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r)
      std::sort(columns.begin() + offsets[r], columns.begin() + offsets[r + 1]);
    values = bench::random_floats(static_cast<std::size_t>(entries), 3);
  }
  csr_view<float, int> view() const {
    return {heddle::view<int const, 1>(offsets.data(), dims<1>(rows + 1)),
            heddle::view<int const, 1>(columns.data(), dims<1>(entries)),
            heddle::view<float const, 1>(values.data(), dims<1>(entries)), rows};
  }
};

/// peers/spmv_eigen.cpp, where it was built.
using eigen_function = void (*)(int, int, int, int const*, int const*, float const*, float const*, float*, int);
eigen_function find_eigen() {
  void* const library = dlopen(HEDDLE_BENCH_PEERS "/spmv_eigen.so", RTLD_NOW | RTLD_LOCAL);
  return library ? reinterpret_cast<eigen_function>(dlsym(library, "heddle_peer_spmv")) : nullptr;
}

/// Rows whose sums are not within the error bound of sums in double.
int wrong_rows(matrix const& a, std::vector<float> const& x, std::vector<float> const& y) {
  int wrong = 0;
  for (std::size_t r = 0; r < y.size(); ++r) {
    double sum = 0, size = 0;
    for (int e = a.offsets[r]; e < a.offsets[r + 1]; ++e) {
      double const p = static_cast<double>(a.values[static_cast<std::size_t>(e)]) *
                       static_cast<double>(x[static_cast<std::size_t>(a.columns[static_cast<std::size_t>(e)])]);
      sum += p, size += std::fabs(p);
    }
    double const nu = (a.offsets[r + 1] - a.offsets[r] + 1) * 0x1p-24;
    wrong += !(std::fabs(static_cast<double>(y[r]) - sum) <= nu / (1 - nu) * size);
  }
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  bool const quick = argc > 1 && std::strcmp(argv[1], "--quick") == 0;
  matrix const a(quick ? 16 : 20);
  std::size_t const n = static_cast<std::size_t>(a.rows);
  std::vector<float> const x = bench::random_floats(n, 4);
  std::vector<float> y(n, __builtin_nanf("")), z = y;
  threads_executor one(1), two(2);
  view<float const, 1> const in(x.data(), dims<1>(a.rows));
  view<float, 1> const out(y.data(), dims<1>(a.rows));
  eigen_function const eigen = find_eigen();
  auto const run = [&](int what) {
    if (what == 0) spmv(one, a.view(), in, out);
    if (what == 1) spmv(two, a.view(), in, out);
    if (what >= 2)
      eigen(a.rows, a.rows, a.entries, a.offsets.data(), a.columns.data(), a.values.data(), x.data(), z.data(),
            what - 1);
  };
  int const programs = eigen ? 4 : 2;
  for (int what = 0; what < programs; ++what) run(what);
  int const ours_wrong = wrong_rows(a, x, y), theirs_wrong = programs > 2 ? wrong_rows(a, x, z) : 0;
  std::vector<double> seconds[4];
  for (int r = 0; r < (quick ? 9 : 21); ++r)
    for (int what = 0; what < programs; ++what) {
      double const start = bench::now(bench::watch::wall);
      run(what);
      seconds[what].push_back(bench::now(bench::watch::wall) - start);
    }
  for (int i = 0; i < 2; ++i) {
    bench::measurement m{.bench = "algorithm_sparse",
                         .name = "matrix by vector, 2^24 entries",
                         .threads = i + 1,
                         .seconds = bench::median(seconds[i]),
                         .work = 2.0 * a.entries};
    if (programs > 2) m.peers.emplace_back("Eigen", bench::median(seconds[2 + i]));
    bench::print_measure(m);
  }
  if (ours_wrong != 0 || theirs_wrong != 0) {
    std::printf("spmv: rows outside the error bound: ours %d, Eigen's %d\n", ours_wrong, theirs_wrong);
    return 1;
  }
  if (programs > 2)
    std::printf("evidence spmv %.3f ratio\n", bench::median(seconds[3]) / bench::median(seconds[1]));
  else
    std::printf("evidence spmv absent Eigen was not found when the benchmarks were configured\n");
  return 0;
}
