// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/core/tensor.hpp>
#include <heddle/exec/observed.hpp>
#include <heddle/exec/observer.hpp>
#include <heddle/exec/recorder.hpp>
#include <heddle/nn/softmax.hpp>

#include <support/catch.hpp>
#include <support/executors.hpp>

#include <optional>
#include <stdexcept>
#include <vector>

using namespace heddle;

static_assert(observer_type<null_observer> && observer_type<counter> && observer_type<recorder>);
static_assert(!null_observer::enabled && std::is_empty_v<null_observer>);

namespace {

/// An operation as the library writes it: the span is built by its caller and marks the work in the queue.
template <class Executor>
void operation(Executor& exec, char const* name, index_t n) {
  observed_span scope(exec, {.operation = name, .shape = {n}, .bytes = 4 * n, .flops = 2 * n});
  exec.for_each_tile(n, [](index_t, int) {
    for (int i = 0; i < 10; ++i) detail::pause_core();
  });
}

std::vector<recorded_span> spans_of(recorder const& r) {
  std::vector<recorded_span> all;
  r.for_each([&](recorded_span const& s) { all.push_back(s); });
  return all;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("a counter adds up what passes", "[exec]", test::executor_cases) {
  TestType setup;
  counter c;
  observed exec(setup.exec, c);
  using watched = decltype(exec);
  static_assert(executor<watched>);
  using plain = std::remove_reference_t<decltype(setup.exec)>;
  static_assert(std::same_as<typename watched::backend, typename plain::backend>);
  static_assert(std::same_as<typename watched::event, typename plain::event>);
  for (index_t n : {0, 1, 10}) operation(exec, "work", n);
  operation(setup.exec, "not watched", 100);
  exec.synchronize();
  CHECK(c.operations == 3);
  CHECK(c.bytes == 44);
  CHECK(c.flops == 22);
  CHECK(exec.concurrency() == setup.exec.concurrency());
  CHECK(&exec.scratch() == &setup.exec.scratch());
}

TEMPLATE_LIST_TEST_CASE("a watched executor frees tensors and scratch like the plain one", "[exec]",
                        test::executor_cases) {
  TestType setup;
  counter c;
  observed exec(setup.exec, c);
  host_space space;
  float last = 0;
  {
    tensor<float, 1> t(exec, space, dims<1>(10));
    scratch_frame frame(exec);
    float* const s = frame.template take<float>(10);
    exec.for_each_tile(10, [s](index_t i, int) { s[i] = static_cast<float>(i); });
    exec.for_each_tile(10, [s, v = t.view()](index_t i, int) { v(i) = s[i]; });
    exec.for_each_tile(1, [v = t.view(), l = &last](index_t, int) { *l = v(9); });
  }
  exec.wait(exec.record());
  exec.synchronize();
  CHECK(last == 9.0f);
  CHECK(space.counts().live == 0);
}

TEMPLATE_LIST_TEST_CASE("a watched executor runs tile programs like the plain one", "[exec]", test::tile_cases) {
  TestType setup;
  counter c;
  observed exec(setup.exec, c);
  std::vector<float> const x{1, 2, 3, -1, 0, 5};
  std::vector<float> watched(x.size(), -1), plain(x.size(), -2);
  dims<2> const e(2, 3);
  nn::softmax(exec, view<float const, 2>(x.data(), e), view<float, 2>(watched.data(), e));
  nn::softmax(setup.exec, view<float const, 2>(x.data(), e), view<float, 2>(plain.data(), e));
  exec.synchronize();
  CHECK(watched == plain);
  CHECK(c.operations == 1);
  CHECK(c.flops == 5 * 6);
}

TEMPLATE_LIST_TEST_CASE("a recorder keeps nested spans with their times", "[exec]", test::executor_cases) {
  TestType setup;
  recorder r(100);
  observed exec(setup.exec, r);
  std::int64_t const start = deadline::now_ns();
  {
    observed_span step(exec, {.operation = "step", .rank = 3, .schedule_id = 7});
    operation(exec, "first", 5);
    operation(exec, "second", 6);
  }
  exec.synchronize();
  std::int64_t const stop = deadline::now_ns();
  auto const all = spans_of(r);
  REQUIRE(all.size() == 3);
  CHECK(all[0].what.operation == std::string("step"));
  CHECK(all[0].what.rank == 3);
  CHECK(all[0].what.schedule_id == 7);
  CHECK(all[2].what.shape[0] == 6);
  CHECK(start <= all[0].begin_ns);
  CHECK(all[0].begin_ns <= all[1].begin_ns);
  CHECK(all[1].begin_ns <= all[1].end_ns);
  CHECK(all[1].end_ns <= all[2].begin_ns);
  CHECK(all[2].end_ns <= all[0].end_ns);
  CHECK(all[0].end_ns <= stop);
  CHECK(all[0].thread == all[1].thread);
  r.clear();
  CHECK(spans_of(r).empty());
}

TEST_CASE("one recorder serves several queues", "[exec]") {
  recorder r(1000);
  queued<serial_executor> a, b;
  observed first(a, r), second(b, r);
  for (int i = 0; i < 200; ++i) {
    operation(first, "a", 1);
    operation(second, "b", 1);
  }
  first.synchronize();
  second.synchronize();
  auto const all = spans_of(r);
  REQUIRE(all.size() == 400);
  int open = 0, mixed = 0;
  std::int64_t last_end[2] = {0, 0};
  for (auto const& s : all) {
    int const q = s.what.operation[0] == 'b';
    open += s.end_ns < 0;
    mixed += s.begin_ns < last_end[q] || s.end_ns < s.begin_ns;
    last_end[q] = s.end_ns;
  }
  CHECK(open == 0);
  CHECK(mixed == 0);
  CHECK(r.dropped() == 0);
}

TEST_CASE("spans of one name that overlap on two queues keep their own ends", "[exec]") {
  recorder r(10);
  queued<serial_executor> a, b;
  observed first(a, r), second(b, r);
  std::optional<observed_span<decltype(first)>> of_a;
  std::optional<observed_span<decltype(second)>> of_b;
  of_a.emplace(first, span{.operation = "same"});
  second.wait(first.record());
  of_b.emplace(second, span{.operation = "same"});
  first.wait(second.record());
  of_a.reset();
  second.wait(first.record());
  of_b.reset();
  first.synchronize();
  second.synchronize();
  auto const all = spans_of(r);
  REQUIRE(all.size() == 2);
  CHECK(all[0].thread != all[1].thread);
  CHECK(all[0].begin_ns <= all[1].begin_ns);
  CHECK(all[1].begin_ns <= all[0].end_ns);
  CHECK(all[0].end_ns < all[1].end_ns);
}

TEST_CASE("an end whose begin was skipped closes no other span", "[exec]") {
  recorder r(10);
  queued<serial_executor> q;
  observed exec(q, r);
  std::int64_t later = 0;
  {
    observed_span outer(exec, {.operation = "outer"});
    exec.synchronize();
    exec.cancel();
    {
      observed_span inner(exec, {.operation = "inner"});
      exec.synchronize();  // from here on work runs again
    }
    exec.synchronize();
    later = deadline::now_ns();
  }
  exec.synchronize();
  auto const all = spans_of(r);
  REQUIRE(all.size() == 1);
  CHECK(all[0].end_ns >= later);
}

TEST_CASE("a full recorder drops and counts, and its first spans stay right", "[exec]") {
  serial_executor plain;
  recorder r(2);
  observed exec(plain, r);
  for (int i = 0; i < 5; ++i) operation(exec, "x", 1);
  CHECK(r.dropped() == 6);
  auto const all = spans_of(r);
  REQUIRE(all.size() == 2);
  CHECK(all[1].end_ns >= all[1].begin_ns);
  recorder none(0);
  observed unseen(plain, none);
  operation(unseen, "x", 1);
  CHECK(spans_of(none).empty());
  CHECK(none.dropped() == 2);
}

TEST_CASE("work that a failure cut short has no end", "[exec]") {
  recorder r(10);
  queued<serial_executor> q;
  observed exec(q, r);
  {
    observed_span scope(exec, {.operation = "failing"});
    exec.for_each_tile(1, [](index_t, int) { throw std::runtime_error("broken"); });
  }
  CHECK_THROWS(exec.synchronize());
  operation(exec, "later", 1);
  exec.synchronize();
  auto const all = spans_of(r);
  REQUIRE(all.size() == 2);
  CHECK(all[0].end_ns == -1);
  CHECK(all[1].end_ns >= all[1].begin_ns);
}

TEST_CASE("a recorder's memory is counted and returned", "[exec]") {
  host_space space;
  {
    recorder r(50, space);
    CHECK(space.counts().live > 0);
    CHECK(space.counts().allocations == 1);
  }
  CHECK(space.counts().live == 0);
  CHECK_THROWS_AS(recorder(-1), contract_error);
}
