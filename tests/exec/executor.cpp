// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/core/tensor.hpp>

#include <support/catch.hpp>
#include <support/executors.hpp>

#include <stdexcept>

using namespace heddle;

namespace {

// Runs a submission and what follows it, and returns the text of the exception that surfaced, or "".
template <class Executor, class Submit>
text failure_of(Executor& exec, Submit const& submit) {
  try {
    submit();
    exec.synchronize();
  } catch (std::exception const& e) {
    return text(e.what());
  }
  return text();
}

bool contains(text const& t, char const* part) { return __builtin_strstr(t.c_str(), part) != nullptr; }

}  // namespace

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

TEMPLATE_LIST_TEST_CASE("no two running tiles share a worker", "[exec]", test::executor_cases) {
  TestType setup;
  auto& exec = setup.exec;
  int busy[8] = {}, shared = 0;
  for (int round = 0; round < 50; ++round)
    exec.for_each_tile(40, [b = &busy[0], s = &shared](index_t, int worker) {
      if (__atomic_add_fetch(b + worker, 1, __ATOMIC_RELAXED) != 1) __atomic_add_fetch(s, 1, __ATOMIC_RELAXED);
      for (int i = 0; i < 20; ++i) detail::pause_core();
      __atomic_sub_fetch(b + worker, 1, __ATOMIC_RELAXED);
    });
  exec.synchronize();
  CHECK(shared == 0);
}

TEMPLATE_LIST_TEST_CASE("work runs in the order of submission", "[exec]", test::executor_cases) {
  TestType setup;
  auto& exec = setup.exec;
  constexpr index_t n = 37;
  constexpr std::uint64_t operations = 700;  // more than a queue holds at once
  std::uint64_t x[n] = {};
  for (std::uint64_t k = 0; k < operations; ++k)
    exec.for_each_tile(n, [p = &x[0], k](index_t tile, int) { p[tile] = p[tile] * 3 + k; });
  exec.synchronize();
  std::uint64_t expected = 0;
  for (std::uint64_t k = 0; k < operations; ++k) expected = expected * 3 + k;
  int wrong = 0;
  for (std::uint64_t value : x) wrong += value != expected;
  CHECK(wrong == 0);
}

TEMPLATE_LIST_TEST_CASE("the callable is copied at submission", "[exec]", test::executor_cases) {
  TestType setup;
  auto& exec = setup.exec;
  struct task {
    int* out;
    int value;
    char filling[max_task_bytes - 16];
    void operator()(index_t, int) const { *out += value; }
  };
  static_assert(sizeof(task) == max_task_bytes && queueable_task<task>);
  int sum = 0;
  task t{&sum, 1, {}};
  exec.for_each_tile(1, t);
  t.value = 100;
  exec.synchronize();
  CHECK(sum == 1);
}

TEMPLATE_LIST_TEST_CASE("an exception surfaces once and the executor goes on", "[exec]", test::executor_cases) {
  TestType setup;
  auto& exec = setup.exec;
  index_t started = 0;
  text const first = failure_of(exec, [&] {
    exec.for_each_tile(100000, [s = &started](index_t, int) {
      __atomic_add_fetch(s, index_t{1}, __ATOMIC_RELAXED);
      throw std::runtime_error("tile failed");
    });
  });
  CHECK(contains(first, "tile failed"));
  CHECK(started >= 1);
  CHECK(started <= exec.concurrency());  // each worker stops at its first exception or before
  CHECK_NOTHROW(exec.synchronize());
  int after = 0;
  exec.for_each_tile(5, [a = &after](index_t, int) { __atomic_add_fetch(a, 1, __ATOMIC_RELAXED); });
  exec.synchronize();
  CHECK(after == 5);
}

TEMPLATE_LIST_TEST_CASE("a tile that submits to its own executor is a contract error", "[exec]", test::executor_cases) {
  TestType setup;
  auto& exec = setup.exec;
  for (index_t n : {1, 9}) {
    text const what = failure_of(exec, [&] {
      exec.for_each_tile(n, [e = &exec](index_t, int) { e->for_each_tile(1, [](index_t, int) {}); });
    });
    CHECK(contains(what, "must not submit"));
    int after = 0;
    exec.for_each_tile(1, [a = &after](index_t, int) { ++*a; });
    exec.synchronize();
    CHECK(after == 1);
  }
}

TEST_CASE("helpers of a queue's team are refused like its worker", "[exec]") {
  queued<threads_executor> exec(2);
  text what;
  int tried = 0;
  for (int round = 0; round < 10000 && __atomic_load_n(&tried, __ATOMIC_RELAXED) == 0; ++round)
    what = failure_of(exec, [&] {
      exec.for_each_tile(64, [e = &exec, t = &tried](index_t, int worker) {
        sched_yield();
        if (worker == 0) return;
        __atomic_store_n(t, 1, __ATOMIC_RELAXED);
        e->for_each_tile(1, [](index_t, int) {});
      });
    });
  CHECK(tried == 1);
  CHECK(contains(what, "must not submit"));
}

TEMPLATE_LIST_TEST_CASE("read blocks until the value is there", "[exec]", test::executor_cases) {
  TestType setup;
  auto& exec = setup.exec;
  tensor<double, 1> t(exec, default_host_space, dims<1>(1));
  exec.for_each_tile(1, [v = t.view()](index_t, int) {
    for (int i = 0; i < 20000; ++i) detail::pause_core();
    v(0) = 42.0;
  });
  CHECK(read(exec, t.view()) == 42.0);
  tensor<double, 1> two(exec, default_host_space, dims<1>(2));
  CHECK_THROWS_AS(read(exec, two.view()), contract_error);
}
