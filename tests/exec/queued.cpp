// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/core/tensor.hpp>
#include <heddle/exec/queued.hpp>
#include <heddle/exec/serial_executor.hpp>
#include <heddle/exec/threads_executor.hpp>

#include <support/catch.hpp>

#include <stdexcept>

using namespace heddle;
using queue = queued<serial_executor>;

static_assert(executor<queue> && !immediate_executor<queue>);
static_assert(std::same_as<queue::backend, cpu_tag>);

namespace {

/// Holds a queue until it is opened, so that a test can look at work that has not run.
struct gate {
  int is_open = 0;
  void close_on(queue& q) {
    q.for_each_tile(1, [o = &is_open](index_t, int) {
      while (__atomic_load_n(o, __ATOMIC_ACQUIRE) == 0) sched_yield();
    });
  }
  void open() { __atomic_store_n(&is_open, 1, __ATOMIC_RELEASE); }
};

void add(queue& q, int& x, int value) {
  q.for_each_tile(1, [p = &x, value](index_t, int) { *p += value; });
}
void fail(queue& q) {
  q.for_each_tile(1, [](index_t, int) { throw std::runtime_error("broken"); });
}

}  // namespace

TEST_CASE("submitting does not wait for the work", "[exec]") {
  queue q;
  gate g;
  int x = 0;
  g.close_on(q);
  for (int i = 0; i < 100; ++i) add(q, x, 1);
  CHECK(!q.record().passed());
  CHECK(x == 0);
  g.open();
  q.synchronize();
  CHECK(x == 100);
  CHECK(q.record().passed());
}

TEST_CASE("an event orders two queues without blocking the host", "[exec]") {
  for (int round = 0; round < 50; ++round) {
    queue a, b;
    gate g;
    int x = 0, seen = -1;
    g.close_on(a);
    add(a, x, 7);
    b.wait(a.record());
    b.for_each_tile(1, [p = &x, s = &seen](index_t, int) { *s = *p; });
    a.wait(b.record());
    add(a, x, 1);
    CHECK(!b.record().passed());
    g.open();
    b.synchronize();
    CHECK(seen == 7);
    a.synchronize();
    CHECK(x == 8);
  }
}

TEST_CASE("ping-pong between two queues keeps every step", "[exec]") {
  queue a;
  queued<threads_executor> b(2);
  std::uint64_t x = 1;
  std::uint64_t* const p = &x;
  for (int i = 0; i < 1000; ++i) {
    a.for_each_tile(1, [p](index_t, int) { *p = *p * 3; });
    b.wait(a.record());
    b.for_each_tile(1, [p](index_t, int) { *p = *p + 1; });
    a.wait(b.record());
  }
  a.synchronize();
  std::uint64_t expected = 1;
  for (int i = 0; i < 1000; ++i) expected = expected * 3 + 1;
  CHECK(x == expected);
}

TEST_CASE("an immediate executor waits on the host", "[exec]") {
  queue q;
  serial_executor serial;
  threads_executor threads(2);
  int x = 0;
  for (int i = 0; i < 100; ++i) add(q, x, 1);
  serial.wait(q.record());
  CHECK(x == 100);
  add(q, x, 1);
  threads.wait(q.record());
  CHECK(x == 101);
  q.wait(serial.record());
  fail(q);
  CHECK_THROWS_AS(serial.wait(q.record()), std::runtime_error);
  CHECK_THROWS_AS(q.synchronize(), std::runtime_error);
  CHECK_NOTHROW(serial.wait(q.record()));
}

TEST_CASE("events outlive their queue and can be copied", "[exec]") {
  queue_event e, f;
  CHECK(e.passed());
  e.block();
  {
    queue q;
    int x = 0;
    add(q, x, 1);
    e = q.record();
    f = e;
    queue_event const g(f);
    f = g;
    q.synchronize();
  }
  CHECK(e.passed());
  CHECK(f.passed());
  queue other;
  other.wait(e);
  CHECK_NOTHROW(other.synchronize());
}

TEST_CASE("after a failure work is skipped, cleanups run, and it is reported once", "[exec]") {
  queue q;
  host_space space;
  int x = 0, cleaned = 0;
  {
    tensor<int, 1> t(q, space, dims<1>(10));
    add(q, x, 1);
    fail(q);
    add(q, x, 10);
    q.submit_cleanup([c = &cleaned] { ++*c; });
  }
  CHECK_THROWS_AS(q.synchronize(), std::runtime_error);
  CHECK(x == 1);
  CHECK(cleaned == 1);
  CHECK(space.counts().live == 0);
  CHECK_NOTHROW(q.synchronize());
  add(q, x, 100);
  q.synchronize();
  CHECK(x == 101);
}

TEST_CASE("the first of several failures is the one that is thrown", "[exec]") {
  queue q;
  q.for_each_tile(1, [](index_t, int) { throw std::logic_error("first"); });
  fail(q);
  q.submit_cleanup([] { throw std::runtime_error("cleanup"); });
  CHECK_THROWS_WITH(q.synchronize(), "first");
  q.submit_cleanup([] { throw std::runtime_error("cleanup"); });
  CHECK_THROWS_WITH(q.synchronize(), "cleanup");
}

TEST_CASE("a queue that waits for failed work fails too, and nothing hangs", "[exec]") {
  queue a, b, c;
  int x = 0;
  c.wait(a.record());  // before the failure
  fail(a);
  b.wait(a.record());
  add(b, x, 1);
  c.wait(b.record());
  add(c, x, 10);
  CHECK_THROWS_WITH(c.synchronize(), "broken");
  CHECK_THROWS_WITH(b.synchronize(), "broken");
  CHECK_THROWS_WITH(a.synchronize(), "broken");
  CHECK(x == 0);
  b.wait(a.record());  // after the report
  add(b, x, 100);
  b.synchronize();
  CHECK(x == 100);
}

TEST_CASE("work that was submitted before an unrelated failure is not affected", "[exec]") {
  queue a, b;
  int x = 0;
  queue_event const before = a.record();
  fail(a);
  b.wait(before);
  add(b, x, 1);
  CHECK_NOTHROW(b.synchronize());
  CHECK(x == 1);
  CHECK_THROWS(a.synchronize());
}

TEST_CASE("cancel skips what has not started until the next synchronize", "[exec]") {
  queue q, other;
  gate g;
  host_space space;
  int x = 0, cleaned = 0;
  {
    tensor<float, 1> t(q, space, dims<1>(100));
    g.close_on(q);
    for (int i = 0; i < 50; ++i) add(q, x, 1);
    q.submit_cleanup([c = &cleaned] { ++*c; });
    other.wait(q.record());
    add(other, x, 1000);
    q.cancel();
    g.open();
    q.drain();
    other.synchronize();
    CHECK(x == 1000);
    CHECK(cleaned == 1);
    add(q, x, 1);  // still cancelled
  }
  q.synchronize();
  CHECK(x == 1000);
  CHECK(space.counts().live == 0);
  add(q, x, 1);
  q.synchronize();
  CHECK(x == 1001);
}

TEST_CASE("cancel may come from another queue's thread while work is submitted", "[exec]") {
  queue q, other;
  int x = 0;
  other.for_each_tile(1, [p = &q](index_t, int) { p->cancel(); });
  for (int i = 0; i < 1000; ++i) add(q, x, 1);
  other.synchronize();
  q.drain();
  int const before = x;
  add(q, x, 1);
  q.synchronize();
  CHECK(before <= 1000);
  CHECK(x == before);
}

TEST_CASE("the destructor drains, also after a failure", "[exec]") {
  int x = 0, cleaned = 0;
  {
    queue q;
    for (int i = 0; i < 500; ++i) add(q, x, 1);
  }
  CHECK(x == 500);
  {
    queue q;
    fail(q);
    q.submit_cleanup([c = &cleaned] { ++*c; });
  }
  CHECK(cleaned == 1);
}

TEST_CASE("a full ring holds the host back and loses nothing", "[exec]") {
  queue q;
  gate g;
  index_t x = 0;
  g.close_on(q);
  queue helper;
  helper.for_each_tile(1, [p = &g](index_t, int) {
    for (int i = 0; i < 100; ++i) sched_yield();
    p->open();
  });
  for (index_t i = 0; i < 2000; ++i)
    q.for_each_tile(1, [p = &x, i](index_t, int) { *p += i; });
  q.synchronize();
  CHECK(x == 1999 * 1000);
}

TEST_CASE("queues and teams are counted as live threads and leave nothing behind", "[exec]") {
  int const before = live_threads;
  {
    queued<threads_executor> q(3);
    CHECK(live_threads == before + 3);
    queue other;
    CHECK(live_threads == before + 4);
  }
  CHECK(live_threads == before);
}
