// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/core/tensor_view.hpp>
#include <heddle/exec/executor.hpp>
#include <heddle/exec/queued.hpp>
#include <heddle/exec/reference_executor.hpp>
#include <heddle/exec/serial_executor.hpp>

namespace {

using namespace heddle;

// The least that an executor is; each case below takes one member away.
struct least {
#if !defined(case_without_backend)
  using backend = reference_tag;
#endif
  using space = host_space;
#if !defined(case_without_event)
  using event = done_event;
#else
  struct event {};
#endif
#if !defined(case_without_concurrency)
  int concurrency() const { return 1; }
#endif
#if !defined(case_without_for_each_tile)
  template <class F>
  void for_each_tile(index_t n, F const& f) {
    for (index_t i = 0; i < n; ++i) f(i, 0);
  }
#endif
  done_event record() { return {}; }
#if !defined(case_without_wait)
  void wait(done_event) {}
#endif
#if !defined(case_without_synchronize)
  void synchronize() {}
#endif
#if !defined(case_without_scratch)
  arena& scratch() { return arena_; }
#endif
#if !defined(case_without_observer)
  null_observer& observer() { return observer_; }
#endif
  arena arena_;
  null_observer observer_;
};

// expect without_backend: typename E::backend|no type named 'backend'
// expect without_event: e\.record\(\)
// expect without_concurrency: e\.concurrency\(\)
// expect without_for_each_tile: e\.for_each_tile\(n, ?f\)
// expect without_wait: e\.wait\(ev\)
// expect without_synchronize: e\.synchronize\(\)
// expect without_scratch: e\.scratch\(\)
// expect without_observer: e\.observer\(\)
[[maybe_unused]] float first(least& exec, view<float const, 1> v) { return heddle::read(exec, v); }

// A tuned form that is declared must be included; the message names the header.
// expect undeclared_header: #include <heddle/backend/reference/matmul\.hpp>
#if defined(case_undeclared_header)
void multiply(reference_executor& exec) { run_kernel<matmul_fn>(exec); }
#endif

// An executor of the user's inherits the grid through its backend tag.
// expect inherited_grid: #include <heddle/backend/reference/matmul\.hpp>
#if defined(case_inherited_grid)
void multiply(least& exec) { run_kernel<matmul_fn>(exec); }
#endif

// What is queued is copied: at most 448 bytes, trivially copyable.
// expect too_large_to_queue: queued work may capture at most 448 bytes
#if defined(case_too_large_to_queue)
void submit(queued<serial_executor>& exec) {
  struct big {
    char bytes[512];
  };
  exec.for_each_tile(1, [b = big{}](index_t, int) { (void)b; });
}
#endif

}  // namespace
