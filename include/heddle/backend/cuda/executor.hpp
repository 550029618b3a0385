// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/backend/cuda/block_context.hpp>
#include <heddle/exec/executor.hpp>

namespace heddle {
namespace cuda {

/// Throws error(errc::backend) unless a call of the CUDA runtime succeeded.
HEDDLE_FN void check(cudaError_t status, char const* call) {
  if (status != cudaSuccess) throw error(errc::backend, make_text(call, ": ", cudaGetErrorString(status)));
}

namespace detail {
template <class Kernel>
__global__ void run_kernel(Kernel const kernel) {
  block_context block;
  kernel(block);
}
template <class F>
__global__ void run_tiles(index_t n, F const f) {
  for (index_t i = blockIdx.x; i < n; i += gridDim.x) f(i, static_cast<int>(blockIdx.x));
}
}  // namespace detail

/// A point in a CUDA stream.
class event {
 public:
  HEDDLE_FN event() noexcept : event_(nullptr) {}
  HEDDLE_FN explicit event(cudaStream_t stream) : event_(nullptr) {
    check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    check(cudaEventRecord(event_, stream), "cudaEventRecord");
  }
  HEDDLE_FN event(event&& o) noexcept : event_(o.event_) { o.event_ = nullptr; }
  HEDDLE_FN event& operator=(event&& o) noexcept {
    cudaEvent_t const mine = event_;
    event_ = o.event_;
    o.event_ = mine;
    return *this;
  }
  event(event const&) = delete;
  event& operator=(event const&) = delete;
  HEDDLE_FN ~event() {
    if (event_) static_cast<void>(cudaEventDestroy(event_));
  }

  HEDDLE_FN cudaEvent_t native() const noexcept { return event_; }
  HEDDLE_FN void block() const {
    if (event_) check(cudaEventSynchronize(event_), "cudaEventSynchronize");
  }

 private:
  cudaEvent_t event_;
};

}  // namespace cuda

/// A queue of work on a CUDA stream of the current device.
///
/// Host callables (`for_each_tile`) must be callable on the device; one block runs one tile in one thread.
/// Errors: errc::backend. Sync: submits; `synchronize` blocks. Memory: operands lie in memory that the device reaches.
class cuda_executor {
 public:
  using backend = cuda_tag;
  using space = host_space;
  using event = cuda::event;

  HEDDLE_FN explicit cuda_executor(cudaStream_t stream = nullptr, host_space& memory = default_host_space) noexcept
      : stream_(stream), scratch_(memory) {}
  cuda_executor(cuda_executor const&) = delete;
  cuda_executor& operator=(cuda_executor const&) = delete;
  HEDDLE_FN ~cuda_executor() {}

  HEDDLE_FN int concurrency() const noexcept { return 1024; }

  template <class F>
  HEDDLE_FN void for_each_tile(index_t n, F const& f) {
    static_assert(queueable_task<F>);
    if (n <= 0 || scratch_.planning()) return;
    cuda::detail::run_tiles<<<static_cast<unsigned>(n < 1024 ? n : 1024), 1, 0, stream_>>>(n, f);
    cuda::check(cudaGetLastError(), "launch");
  }

  /// Runs kernel(block context) in every thread of every block. Pre: blocks < 2^31.
  template <class Kernel>
  HEDDLE_FN void launch(index_t blocks, int threads, index_t shared_bytes, Kernel const& kernel) {
    static_assert(std::is_trivially_copyable_v<Kernel> && sizeof(Kernel) <= 4000);
    HEDDLE_EXPECTS(blocks < (index_t{1} << 31), "a grid has fewer than 2^31 blocks", blocks);
    if (blocks <= 0 || scratch_.planning()) return;
    auto* const run = &cuda::detail::run_kernel<Kernel>;
    if (shared_bytes > 48 * 1024)
      cuda::check(
          cudaFuncSetAttribute(run, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes)),
          "cudaFuncSetAttribute");
    run<<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads), static_cast<std::size_t>(shared_bytes),
          stream_>>>(kernel);
    cuda::check(cudaGetLastError(), "launch");
  }

  /// Runs a host task behind the work submitted so far, while planning too: it frees what exists and touches no
  /// operand. The task calls nothing of CUDA.
  template <class Task>
  HEDDLE_FN void submit_cleanup(Task const& task) {
    auto* const copy = new Task(task);
    cuda::check(cudaLaunchHostFunc(stream_, &run_cleanup<Task>, copy), "cudaLaunchHostFunc");
  }

  /// Runs a host task, such as the mark of an observer, in its turn. The task calls nothing of CUDA.
  template <class Task>
  HEDDLE_FN void submit_host(Task const& task) {
    if (!scratch_.planning()) submit_cleanup(task);
  }

  HEDDLE_FN event record() { return event(stream_); }
  HEDDLE_FN void wait(event const& e) {
    if (e.native()) cuda::check(cudaStreamWaitEvent(stream_, e.native(), 0), "cudaStreamWaitEvent");
  }
  HEDDLE_FN void synchronize() { cuda::check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }
  HEDDLE_FN arena& scratch() noexcept { return scratch_; }
  HEDDLE_FN null_observer& observer() noexcept { return observer_; }
  HEDDLE_FN cudaStream_t stream() const noexcept { return stream_; }

 private:
  template <class Task>
  static HEDDLE_FN void run_cleanup(void* copy) {
    auto* const task = static_cast<Task*>(copy);
    (*task)();
    delete task;
  }

  cudaStream_t stream_;
  arena scratch_;
  [[no_unique_address]] null_observer observer_;
};

}  // namespace heddle
