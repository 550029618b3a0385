// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/core/tensor.hpp>
#include <heddle/exec/memory.hpp>

#include <support/buffer.hpp>
#include <support/catch.hpp>
#include <support/executors.hpp>

using namespace heddle;

TEST_CASE("a memory space counts live and peak bytes exactly", "[exec]") {
  host_space space;
  void* const a = space.allocate_now(100, 64);
  void* const b = space.allocate_now(28, 256);
  CHECK(reinterpret_cast<std::uintptr_t>(b) % 256 == 0);
  CHECK(space.counts().live == 128);
  space.deallocate_now(a, 100, 64);
  CHECK(space.counts().live == 28);
  CHECK(space.counts().peak == 128);
  CHECK(space.counts().allocations == 2);
  space.deallocate_now(b, 28, 256);
  CHECK(space.counts().live == 0);
}

TEST_CASE("no bytes are no allocation", "[exec]") {
  host_space space;
  CHECK(space.allocate_now(0, 64) == nullptr);
  space.deallocate_now(nullptr, 0, 64);
  CHECK(space.counts().allocations == 0);
}

TEST_CASE("what the host can't give is a named error", "[exec]") {
  host_space space;
  try {
    space.allocate_now(std::size_t{1} << 62, 64);
    CHECK(false);
  } catch (error const& e) {
    CHECK(e.code() == errc::out_of_memory);
  }
  CHECK(space.counts().live == 0);
  CHECK(space.counts().allocations == 0);
}

TEMPLATE_LIST_TEST_CASE("a tensor is freed after the work that uses it", "[exec]", test::executor_cases) {
  TestType setup;
  auto& exec = setup.exec;
  static_assert(memory_space_for<host_space, std::remove_reference_t<decltype(exec)>>);
  host_space space;
  index_t live_inside = 0;
  double sum = 0;
  {
    tensor<double, 1> t(exec, space, dims<1>(1000));
    exec.for_each_tile(1000, [v = t.view()](index_t i, int) { v(i) = 1.0; });
    exec.for_each_tile(1, [v = t.view(), s = &sum, l = &live_inside, m = &space](index_t, int) {
      for (int i = 0; i < 2000; ++i) detail::pause_core();
      for (index_t i = 0; i < v.size(); ++i) *s += v(i);
      *l = m->counts().live;
    });
  }
  exec.synchronize();
  CHECK(sum == 1000.0);
  CHECK(live_inside == 8000);
  CHECK(space.counts().live == 0);
  CHECK(space.counts().peak == 8000);
}

TEMPLATE_LIST_TEST_CASE("a step that is warm allocates nothing", "[exec]", test::executor_cases) {
  host_space space;  // lives as long as work that frees in it
  TestType setup;
  auto& exec = setup.exec;
  tensor<float, 1> t(exec, space, dims<1>(100));
  index_t const default_before = default_host_space.counts().allocations;
  for (int step = 0; step < 20; ++step)
    exec.for_each_tile(100, [v = t.view(), step](index_t i, int) { v(i) = static_cast<float>(step); });
  exec.synchronize();
  CHECK(space.counts().allocations == 1);
  CHECK(default_host_space.counts().allocations == default_before);
  CHECK(t.view()(99) == 19.0f);
}

TEMPLATE_LIST_TEST_CASE("moved tensors free once", "[exec]", test::executor_cases) {
  TestType setup;
  auto& exec = setup.exec;
  host_space space;
  {
    tensor<int, 2> a(exec, space, dims<2>(3, 4));
    tensor<int, 2> b = static_cast<tensor<int, 2>&&>(a);
    CHECK(a.size() == 0);
    CHECK(b.size() == 12);
    a = static_cast<tensor<int, 2>&&>(b);
    a = tensor<int, 2>(exec, space, dims<2>(5, 5));
    exec.synchronize();
    CHECK(space.counts().live == 100);
  }
  exec.synchronize();
  CHECK(space.counts().live == 0);
  CHECK(space.counts().allocations == 2);
}

TEMPLATE_LIST_TEST_CASE("poisoned tensors hold no number", "[exec]", test::executor_cases) {
  TestType setup;
  auto& exec = setup.exec;
  auto t = test::poisoned<float>(exec, 3, 5);
  exec.synchronize();
  int numbers = 0;
  for (index_t i = 0; i < t.size(); ++i) numbers += t.data()[i] == t.data()[i];
  CHECK(t.extent(1) == 5);
  CHECK(numbers == 0);
}
