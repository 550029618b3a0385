// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// A problem as the driver sees it: a name, the sizes that are legal, and a check that runs anywhere.

#include "chosen_executor.hpp"
#include "values.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace pareval {

using cpu_executor = chosen_executor<heddle::cpu_tag>;
using oracle_executor = chosen_executor<heddle::reference_tag>;

/// What a check gets: an executor, a size, what the numbers are like, and a source of them.
template <class Executor>
struct trial {
  Executor& exec;
  index_t n;
  pareval::shape shape;
  std::mt19937 random;
  double seconds = 0;

  template <class T>
  values<T> numbers(index_t count, int lo, int hi) {
    return pareval::numbers<T>(count, lo, hi, shape, random);
  }
  int number(int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(random); }

  /// Runs what is checked, and takes its time.
  template <class F>
  void run(F const& solution) {
    auto const start = std::chrono::steady_clock::now();
    solution();
    exec.synchronize();
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
};

/// A check returns what is wrong, or nothing.
struct problem {
  char const* category;
  char const* name;
  index_t least, most;  ///< sizes that are legal, and that the plain loops can afford
  std::string (*on_cpu)(trial<cpu_executor>&);
  std::string (*on_reference)(trial<oracle_executor>&);
};

/// Legal sizes of a problem.
struct sizes {
  index_t least = 0;
  index_t most = index_t{1} << 24;
};

template <class Check>
problem make_problem(char const* category, char const* name, sizes s, Check) {
  return {category,
          name,
          s.least,
          s.most,
          [](trial<cpu_executor>& t) { return Check{}(t); },
          [](trial<oracle_executor>& t) { return Check{}(t); }};
}

// One function per category, each in a file of its own.
std::vector<problem> dense_la_problems();
std::vector<problem> fft_problems();
std::vector<problem> geometry_problems();
std::vector<problem> graph_problems();
std::vector<problem> histogram_problems();
std::vector<problem> reduce_problems();
std::vector<problem> scan_problems();
std::vector<problem> search_problems();
std::vector<problem> sort_problems();
std::vector<problem> sparse_la_problems();
std::vector<problem> stencil_problems();
std::vector<problem> transform_problems();

}  // namespace pareval
