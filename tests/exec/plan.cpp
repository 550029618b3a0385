// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/core/tensor.hpp>
#include <heddle/exec/plan.hpp>
#include <heddle/nn/softmax.hpp>

#include "support/catch.hpp"
#include "support/executors.hpp"

#include <vector>

using namespace heddle;

namespace {

// Takes two frames, one inside the other, and a span: 3 + 2 cache lines at the most.
template <class E>
void submit_some(E& exec, int* ran) {
  span s;
  s.flops = 10;
  s.bytes = 20;
  observed_span scope(exec, s);
  scratch_frame<E> outer(exec);
  outer.template take<float>(33);
  {
    scratch_frame<E> inner(exec);
    inner.template take<std::byte>(65);
  }
  outer.template take<std::byte>(1);
  exec.for_each_tile(3, [ran](index_t, int) { __atomic_add_fetch(ran, 1, __ATOMIC_RELAXED); });
}

template <class E>
void submit_softmax(E& exec, float const* x, float* y, dims<2> const& e) {
  nn::softmax(exec, view<float const, 2>(x, e), view<float, 2>(y, e));
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("a plan counts and runs nothing", "[exec]", test::executor_cases) {
  TestType setup;
  auto& exec = setup.exec;
  exec.scratch().guard(false);  // plans don't count guards
  int ran = 0;
  memory_counts const before = default_host_space.counts();
  work_plan const p = plan(exec, [&] { submit_some(exec, &ran); });
  exec.synchronize();
  CHECK(ran == 0);
  CHECK(p.scratch_bytes == 5 * 64);
  CHECK(p.flops == 10);
  CHECK(p.bytes_moved == 20);
  CHECK(default_host_space.counts().allocations == before.allocations);

  exec.scratch().reserve(p.scratch_bytes);
  std::size_t const reserved = exec.scratch().capacity();
  submit_some(exec, &ran);
  exec.synchronize();
  CHECK(ran == 3);
  CHECK(exec.scratch().high_water() == p.scratch_bytes);
  CHECK(exec.scratch().capacity() == reserved);
}

TEMPLATE_LIST_TEST_CASE("a plan of a tile program touches nothing and gives the bytes that running it takes", "[exec]",
                        test::tile_cases) {
  for (index_t rows : {0, 1, 9, 300}) {
    TestType setup;
    auto& exec = setup.exec;
    exec.scratch().guard(false);
    dims<2> const e(rows, 7);
    memory_counts const before = default_host_space.counts();
    auto* const nowhere = reinterpret_cast<float*>(4096);
    work_plan const p = plan(exec, [&] { submit_softmax(exec, nowhere, nowhere, e); });
    exec.synchronize();
    CHECK((p.scratch_bytes > 0) == (rows > 0));
    CHECK(p.flops == 5 * 7 * rows);
    CHECK(p.bytes_moved == 8 * 7 * rows);
    CHECK(default_host_space.counts().allocations == before.allocations);

    std::vector<float> const x(static_cast<std::size_t>(7 * rows));
    std::vector<float> y(x.size(), -1);
    submit_softmax(exec, x.data(), y.data(), e);
    exec.synchronize();
    CHECK(exec.scratch().high_water() == p.scratch_bytes);
    CHECK(y == std::vector<float>(x.size(), 1.0f / 7));
  }
}

TEMPLATE_LIST_TEST_CASE("a plan that throws leaves the executor usable", "[exec]", test::executor_cases) {
  TestType setup;
  auto& exec = setup.exec;
  CHECK_THROWS_AS(plan(exec, [] { throw error(errc::interrupted, "stop"); }), error);
  int ran = 0;
  exec.for_each_tile(1, [&ran](index_t, int) { ran = 1; });
  exec.synchronize();
  CHECK(ran == 1);
}

TEMPLATE_LIST_TEST_CASE("a tensor that dies inside a plan is freed", "[exec]", test::executor_cases) {
  TestType setup;
  auto& exec = setup.exec;
  host_space space;
  (void)plan(exec, [&] {
    tensor<float, 1> const t(exec, space, dims<1>(10));
    exec.for_each_tile(1, [at = t.view()](index_t, int) { at(0) = 1; });
  });
  exec.synchronize();
  CHECK(space.counts().allocations == 1);
  CHECK(space.counts().live == 0);
}
