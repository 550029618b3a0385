// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/core/tensor.hpp>
#include <heddle/exec/context.hpp>
#include <heddle/exec/observed.hpp>
#include <heddle/exec/recorder.hpp>

#include <support/catch.hpp>
#include <support/executors.hpp>

using namespace heddle;

namespace {

/// A user's executor with the required members and nothing else.
struct minimal_executor {
  using backend = cpu_tag;
  using space = host_space;
  using event = done_event;
  int concurrency() { return 1; }
  template <class F>
  void for_each_tile(index_t n, F const& f) {
    for (index_t i = n; i-- > 0;) f(i, 0);
  }
  event record() { return {}; }
  void wait(event const&) {}
  void synchronize() {}
  arena& scratch() { return scratch_; }
  null_observer& observer() { return observer_; }
  arena scratch_;
  null_observer observer_;
};

struct no_scratch {
  using backend = cpu_tag;
  using space = host_space;
  using event = done_event;
  int concurrency();
  template <class F>
  void for_each_tile(index_t, F const&);
  event record();
  void wait(event const&);
  void synchronize();
  null_observer& observer();
};
struct no_backend : minimal_executor {
 private:
  using backend = void;
};
struct wrong_record : minimal_executor {
  int record();
};
struct wrong_concurrency : minimal_executor {
  void concurrency();
};
struct no_wait : minimal_executor {
  void wait() {}
};

struct no_end {
  static constexpr bool enabled = true;
  void begin(span const&);
};

/// The members of a memory space and nothing else.
struct minimal_space {
  template <class E>
  void* allocate(E&, std::size_t, std::size_t) {
    return nullptr;
  }
  template <class E>
  void deallocate(E&, void*, std::size_t, std::size_t) {}
  memory_counts counts() { return {}; }
};
struct space_without_counts {
  template <class E>
  void* allocate(E&, std::size_t, std::size_t);
  template <class E>
  void deallocate(E&, void*, std::size_t, std::size_t);
};

struct big_task {
  char bytes[max_task_bytes + 1];
  void operator()(index_t, int) const;
};
struct owning_task {
  ~owning_task() {}
  void operator()(index_t, int) const;
};

}  // namespace

static_assert(immediate_executor<minimal_executor> && immediate_executor<reference_executor>);
static_assert(immediate_executor<serial_executor> && immediate_executor<threads_executor>);
static_assert(executor<queued<minimal_executor>> && !immediate_executor<queued<minimal_executor>>);
static_assert(!executor<no_scratch> && !executor<no_backend> && !executor<wrong_record>);
static_assert(!executor<wrong_concurrency> && !executor<no_wait> && !executor<int>);
static_assert(!observer_type<no_end> && observer_type<counter> && observer_type<null_observer>);
static_assert(memory_space_for<host_space, minimal_executor> && memory_space_for<minimal_space, minimal_executor>);
static_assert(!memory_space_for<space_without_counts, minimal_executor>);
static_assert(!queueable_task<big_task> && !queueable_task<owning_task>);
static_assert(!std::copyable<threads_executor> && !std::copyable<queued<serial_executor>>);
static_assert(!std::is_constructible_v<queued<serial_executor>, char const*>);

TEST_CASE("a user's minimal executor serves everything of exec", "[exec]") {
  minimal_executor exec;
  exec.scratch().poison(true);
  host_space space;
  counter c;
  {
    tensor<int, 1> t(exec, space, dims<1>(4));
    observed watched(exec, c);
    {
      observed_span scope(watched, {.operation = "fill"});
      scratch_frame frame(watched);
      int* const s = frame.take<int>(4);
      watched.for_each_tile(4, [s](index_t i, int) { s[i] = static_cast<int>(i); });
      watched.for_each_tile(4, [s, v = t.view()](index_t i, int) { v(i) = s[i]; });
    }
    CHECK(t.view()(3) == 3);
    context run(exec);
    CHECK(&run.compute() == &exec);
  }
  CHECK(c.operations == 1);
  CHECK(space.counts().live == 0);
}

TEST_CASE("a user's minimal executor can be queued", "[exec]") {
  queued<minimal_executor> exec;
  queued<serial_executor> other;
  int order[4] = {}, next = 0;
  exec.for_each_tile(4, [o = &order[0], n = &next](index_t i, int) { o[i] = (*n)++; });
  other.wait(exec.record());
  other.synchronize();
  CHECK(order[3] == 0);
  CHECK(order[0] == 3);
}
