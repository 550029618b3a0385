// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// @file
/// One matmul called from many threads at a time, and from inside a parallel region of the caller.

#include "products.hpp"

#include <thread>

#if defined(_OPENMP)
#include <omp.h>
#endif

using namespace heddle;

namespace {

struct shared_product {
  test::matrices<float> a, b;
  std::vector<float> right;

  shared_product(index_t m, index_t n, index_t k) : a(1, m, k), b(1, k, n), right() {
    a.random(1), b.random(2);
    serial_executor exec;
    right = product(exec);
  }
  template <class Executor>
  std::vector<float> product(Executor& exec) {
    test::matrices<float> c(1, a.input().extent(1), b.input().extent(2));
    matmul(exec, a.input(), b.input(), c.view());
    exec.synchronize();
    return c.values();
  }
};

}  // namespace

TEST_CASE("matmul: eight callers at a time have the result of one", "[linalg]") {
  // Read in place, in two chains, and one row.
  shared_product products[] = {{32, 48, 64}, {9, 40, 4200}, {1, 300, 500}};
  int wrong[8] = {};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 8; ++caller)
    callers.emplace_back([&, caller] {
      threads_executor exec(2);
      for (int turn = 0; turn < 3; ++turn)
        for (shared_product& p : products) wrong[caller] += p.product(exec) != p.right;
    });
  for (std::thread& each : callers) each.join();
  for (int const each : wrong) CHECK(each == 0);
}

#if defined(_OPENMP)
TEST_CASE("matmul: called inside a parallel region", "[linalg]") {
  shared_product p(9, 40, 4200);
  int const levels = omp_get_max_active_levels();
  for (int const active : {1, 2}) {
    omp_set_max_active_levels(active);
    std::vector<float> single, team, own;
#pragma omp parallel num_threads(2)
#pragma omp single
#pragma omp task shared(p, single, team, own)
    {
      serial_executor alone;
      single = p.product(alone);
      openmp_executor two(2);
      team = p.product(two);
      threads_executor threads(2);
      own = p.product(threads);
    }
    CHECK(single == p.right);
    CHECK(team == p.right);
    CHECK(own == p.right);
  }
  omp_set_max_active_levels(levels);
}
#endif
