// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/core/tensor.hpp>

#include <support/catch.hpp>
#include <support/executors.hpp>

using namespace heddle;

TEMPLATE_LIST_TEST_CASE("every tile runs exactly once, on a worker in range", "[exec]", test::executor_cases) {
  TestType setup;
  auto& exec = setup.exec;
  for (index_t n : {0, 1, 2, 3, 7, 64, 1000, 10007}) {
    tensor<int, 1> runs(exec, default_host_space, dims<1>(n));
    int wrong_worker = 0;
    auto const v = runs.view();
    exec.for_each_tile(1, [v](index_t, int) {
      for (index_t i = 0; i < v.size(); ++i) v(i) = 0;
    });
    exec.for_each_tile(n, [v, w = &wrong_worker, c = exec.concurrency()](index_t tile, int worker) {
      __atomic_add_fetch(&v(tile), 1, __ATOMIC_RELAXED);
      if (worker < 0 || worker >= c) __atomic_add_fetch(w, 1, __ATOMIC_RELAXED);
    });
    exec.synchronize();
    int wrong = 0;
    for (index_t i = 0; i < n; ++i) wrong += v(i) != 1;
    CHECK(wrong == 0);
    CHECK(wrong_worker == 0);
  }
}
