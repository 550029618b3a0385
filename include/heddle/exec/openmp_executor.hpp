// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/exec/detail/immediate.hpp>
#include <heddle/exec/detail/thread.hpp>

#if defined(_OPENMP)

#include <exception>

#include <omp.h>

namespace heddle {

/// The tuned CPU kernels in a parallel region of OpenMP. Exists in files that are compiled with OpenMP.
///
/// The team size comes from the constructor; process-wide OpenMP settings are neither read nor changed. Inside
/// another parallel region without nesting all tiles run in the calling thread.
/// Errors: the first exception of a tile, at the call. Determinism: which worker runs a tile varies.
class openmp_executor : public detail::immediate_base<cpu_tag> {
  using base = detail::immediate_base<cpu_tag>;

 public:
  /// Pre: threads >= 1.
  HEDDLE_FN explicit openmp_executor(int threads, host_space& memory = default_host_space)
      : base(memory), threads_(threads) {
    HEDDLE_EXPECTS(threads >= 1, "an executor needs a thread", threads);
  }
  HEDDLE_FN ~openmp_executor() {}

  HEDDLE_FN int concurrency() const noexcept { return threads_; }

  template <class F>
  HEDDLE_FN void for_each_tile(index_t n, F const& f) {
    if (this->scratch().planning()) return;
    busy_scope const busy(*this);
    if (n <= 1 || threads_ == 1) {
      for (index_t tile = 0; tile < n; ++tile) f(tile, 0);
      return;
    }
    index_t const chunk = detail::chunk_of(n, threads_);
    void const* const queue = detail::running_queue;
    int failed = 0;
    std::exception_ptr failure;
#pragma omp parallel for schedule(dynamic, chunk) num_threads(threads_)
    for (index_t tile = 0; tile < n; ++tile) {
      if (__atomic_load_n(&failed, __ATOMIC_RELAXED) != 0) continue;
      void const* const before = detail::running_queue;
      detail::running_queue = queue;
      try {
        f(tile, omp_get_thread_num());
      } catch (...) {
        if (__atomic_exchange_n(&failed, 1, __ATOMIC_RELAXED) == 0) failure = std::current_exception();
      }
      detail::running_queue = before;
    }
    if (failed != 0) std::rethrow_exception(failure);
  }

 private:
  int threads_;
};

static_assert(immediate_executor<openmp_executor>);

}  // namespace heddle

#endif
