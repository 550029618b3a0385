// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/exec/arena.hpp>

#include <support/catch.hpp>
#include <support/executors.hpp>

using namespace heddle;

namespace {

// An operation that needs one element of scratch. The right form writes it in the queue.
template <class Executor>
void right_operation(Executor& exec, float* out, float value) {
  scratch_frame frame(exec);
  float* const s = frame.template take<float>(16);
  exec.for_each_tile(1, [s, value](index_t, int) { s[0] = value; });
  exec.for_each_tile(1, [s, out](index_t, int) { *out = s[0]; });
}

// The wrong form writes it on the host while the queue still holds earlier work.
template <class Executor>
void wrong_operation(Executor& exec, float* out, float value) {
  scratch_frame frame(exec);
  float* const s = frame.template take<float>(16);
  s[0] = value;
  exec.for_each_tile(1, [s, out](index_t, int) { *out = s[0]; });
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("frames of later operations reuse the bytes in order", "[exec]", test::executor_cases) {
  TestType setup;
  auto& exec = setup.exec;
  exec.scratch().guard(false);  // plans don't count guards
  float out[200] = {};
  for (int i = 0; i < 200; ++i) right_operation(exec, out + i, static_cast<float>(i));
  exec.synchronize();
  int wrong = 0;
  for (int i = 0; i < 200; ++i) wrong += out[i] != static_cast<float>(i);
  CHECK(wrong == 0);
  CHECK(exec.scratch().top() == 0);
  CHECK(exec.scratch().high_water() == arena::alignment);
}

TEST_CASE("a host write to scratch at submission shows as NaN on a queue", "[exec]") {
  queued<serial_executor> exec;
  exec.scratch().poison(true);
  exec.scratch().reserve(1024);
  int caught = 0;
  float out[100] = {};
  for (int i = 0; i < 100; ++i) {
    int held = 1;  // keeps the queue from running until everything is submitted
    exec.for_each_tile(1, [h = &held](index_t, int) {
      while (__atomic_load_n(h, __ATOMIC_ACQUIRE)) sched_yield();
    });
    right_operation(exec, out + i, 1.0f);
    wrong_operation(exec, out + i, 2.0f);
    __atomic_store_n(&held, 0, __ATOMIC_RELEASE);
    exec.synchronize();
    caught += out[i] != out[i];
  }
  CHECK(caught == 100);
}

TEMPLATE_LIST_TEST_CASE("released frames are poisoned by the queue", "[exec]", test::executor_cases) {
  TestType setup;
  auto& exec = setup.exec;
  float* kept = nullptr;
  {
    scratch_frame frame(exec);
    kept = frame.template take<float>(100);
    exec.for_each_tile(100, [kept](index_t i, int) { kept[i] = 1.0f; });
  }
  exec.synchronize();
  int numbers = 0;
  for (int i = 0; i < 100; ++i) numbers += kept[i] == kept[i];
  CHECK(numbers == 0);
}

TEMPLATE_LIST_TEST_CASE("a frame that made the arena grow is poisoned whole", "[exec]", test::executor_cases) {
  TestType setup;
  auto& exec = setup.exec;
  exec.scratch().reserve(1024);
  float *kept = nullptr, *before = nullptr, *after = nullptr;
  float outer = 0;
  {
    scratch_frame frame(exec);
    kept = frame.template take<float>(16);
    exec.for_each_tile(16, [kept](index_t i, int) { kept[i] = 1.0f; });
    {
      scratch_frame inner(exec);
      before = inner.template take<float>(16);
      after = inner.template take<float>(1000);
      exec.for_each_tile(16, [before, after](index_t i, int) { before[i] = after[i] = 2.0f; });
    }
    exec.for_each_tile(1, [kept, o = &outer](index_t, int) { *o = kept[0] + kept[15]; });
  }
  exec.synchronize();
  CHECK(outer == 2.0f);
  int numbers = 0;
  for (int i = 0; i < 16; ++i) numbers += kept[i] == kept[i] || before[i] == before[i] || after[i] == after[i];
  CHECK(numbers == 0);
}

TEMPLATE_LIST_TEST_CASE("nested frames stack, and growth keeps open frames", "[exec]", test::executor_cases) {
  TestType setup;
  auto& exec = setup.exec;
  exec.scratch().reserve(256);
  bool same = true;
  for (int round = 0; round < 3; ++round) {
    scratch_frame outer(exec);
    int* const a = outer.template take<int>(10);
    exec.for_each_tile(10, [a](index_t i, int) { a[i] = static_cast<int>(i); });
    {
      scratch_frame inner(exec);
      int* const b = inner.template take<int>(100000);
      CHECK(reinterpret_cast<std::uintptr_t>(b) % arena::alignment == 0);
      exec.for_each_tile(100000, [b](index_t i, int) { b[i] = -1; });
    }
    exec.for_each_tile(1, [a, s = &same](index_t, int) {
      for (int i = 0; i < 10; ++i) *s = *s && a[i] == i;
    });
  }
  exec.synchronize();
  CHECK(same);
  CHECK(exec.scratch().top() == 0);
}

TEST_CASE("an arena that was reserved to its plan never allocates", "[exec]") {
  host_space space;
  serial_executor exec(space);
  exec.scratch().reserve(4096);
  index_t const before = space.counts().allocations;
  for (int i = 0; i < 10; ++i) {
    scratch_frame frame(exec);
    CHECK(frame.take<char>(1000) != nullptr);
    CHECK(frame.take<double>(300) != nullptr);
  }
  CHECK(space.counts().allocations == before);
  CHECK(exec.scratch().high_water() == 1024 + 2432);
  {
    scratch_frame frame(exec);
    frame.take<char>(10000);
    CHECK_THROWS_AS(exec.scratch().reserve(1), contract_error);
  }
  CHECK(space.counts().allocations == before + 1);
  index_t const live = space.counts().live;
  exec.scratch().trim();
  CHECK(space.counts().live == live - 4096 - 64);
}

TEST_CASE("an arena gives all memory back", "[exec]") {
  host_space space;
  {
    arena a(space);
    CHECK(a.capacity() == 0);
    CHECK(a.push(0) == nullptr);
    for (int i = 0; i < 5; ++i) a.push(1000);
    a.pop(0);
  }
  CHECK(space.counts().live == 0);
  CHECK(space.counts().allocations > 0);
}

TEMPLATE_TEST_CASE("a write past the end of a piece of scratch is counted", "[exec]", reference_executor,
                   serial_executor, threads_executor, queued<serial_executor>) {
  TestType exec;
  exec.scratch().guard(true);
  for (index_t past : {-1, 0, 1, 15}) {
    index_t const before = exec.scratch().overruns();
    {
      scratch_frame frame(exec);
      float* const first = frame.template take<float>(33);
      frame.template take<float>(1);
      exec.for_each_tile(1, [to = first + 33 + past](index_t, int) { *to = 1; });
    }
    exec.synchronize();
    CHECK(exec.scratch().overruns() == before + (past < 0 ? 0 : 1));
  }
}
