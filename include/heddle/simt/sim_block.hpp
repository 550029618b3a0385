// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/owned.hpp>
#include <heddle/simt/block_context.hpp>
#include <heddle/simt/fiber.hpp>

#include <exception>
#include <vector>

namespace heddle {
namespace simt {

/// When an asynchronous copy arrives: at the last moment the kernel allows, or at once. A missing wait shows under
/// `late`, a slot that is overwritten too soon under `early`; late copies also poison their target when they start.
enum class landing { late, early };

/// In which order the threads of a block, and the blocks, take their turns. A missing barrier makes results differ.
enum class turn { forward, reverse };

/// How the simulator runs a block.
struct sim_options {
  landing copies = landing::late;
  turn threads = turn::forward;
};

namespace detail {

struct sim_copy {
  std::byte* to;
  std::byte const* from;
  std::uint8_t bytes;
};

enum class sim_state { ready, at_block_barrier, at_warp_barrier, done };

class sim_block;

struct sim_thread {
  fiber run;
  sim_block* block = nullptr;
  int id = 0;
  sim_state state = sim_state::done;
  bool started = false;
  bool cancelled = false;
  alignas(16) std::byte slot[16];   // what this thread publishes to its warp
  std::vector<sim_copy> copies;     // in flight, oldest first
  std::vector<std::size_t> groups;  // copies per closed group
  std::size_t open = 0;             // copies that no commit has closed yet

  HEDDLE_FN sim_thread() {}
  sim_thread(sim_thread const&) = delete;
  sim_thread& operator=(sim_thread const&) = delete;
  HEDDLE_FN ~sim_thread() {}
};

struct sim_cancelled {};

/// One thread block: the threads as fibers, their barriers, the shared memory.
class sim_block {
 public:
  using entry = void (*)(void const* kernel, sim_thread& thread);

  HEDDLE_FN explicit sim_block(sim_options const& how) noexcept
      : options(how), index(0), shared(nullptr), count_(0), kernel_(nullptr), entry_(nullptr), failure_() {}
  sim_block(sim_block const&) = delete;
  sim_block& operator=(sim_block const&) = delete;
  HEDDLE_FN ~sim_block() {}

  /// Runs one block to its end; throws what a thread threw, or contract_error for a barrier that not all reach.
  HEDDLE_FN void run(index_t block, int threads, void const* kernel, entry e) {
    index = block;
    count_ = threads;
    kernel_ = kernel;
    entry_ = e;
    failure_ = nullptr;
    while (static_cast<int>(threads_.size()) < threads) threads_.push_back(make_owned<sim_thread>());
    for (int t = 0; t < threads; ++t) prepare(*threads_[static_cast<std::size_t>(t)], t);
    try {
      while (!finished()) drive();
    } catch (...) {
      cancel();
      throw;
    }
    if (failure_) {
      cancel();
      std::rethrow_exception(failure_);
    }
  }

  HEDDLE_FN int threads() const noexcept { return count_; }
  HEDDLE_FN sim_thread& thread(int id) const { return *threads_[static_cast<std::size_t>(id)]; }

  /// Stops the calling thread until the others are there too.
  HEDDLE_FN void wait_at(sim_thread& t, sim_state barrier) {
    t.state = barrier;
    t.run.suspend();
    if (t.cancelled) throw sim_cancelled{};
  }

  sim_options options;
  index_t index;
  std::byte* shared;

 private:
  HEDDLE_FN void prepare(sim_thread& t, int id) {
    t.block = this;
    t.id = id;
    t.state = sim_state::ready;
    t.started = t.cancelled = false;
    t.copies.clear();
    t.groups.clear();
    t.open = 0;
    t.run.start(&begin, &t);
  }
  static HEDDLE_FN void begin(void* argument) {
    sim_thread& t = *static_cast<sim_thread*>(argument);
    t.started = true;
    try {
      t.block->entry_(t.block->kernel_, t);
      HEDDLE_EXPECTS(t.cancelled || t.copies.empty(), "a thread must wait for its asynchronous copies before it ends",
                     t.id, t.copies.size());
    } catch (sim_cancelled const&) {
    } catch (...) {
      if (!t.block->failure_) t.block->failure_ = std::current_exception();
    }
    t.state = sim_state::done;
  }

  HEDDLE_FN bool finished() const {
    if (failure_) return true;
    for (int t = 0; t < count_; ++t)
      if (thread(t).state != sim_state::done) return false;
    return true;
  }

  // Every warp runs as far as it can, then the block barrier opens.
  HEDDLE_FN void drive() {
    int const warps = (count_ + warp_size - 1) / warp_size;
    for (int i = 0; i < warps && !failure_; ++i) drive_warp(options.threads == turn::forward ? i : warps - 1 - i);
    if (failure_) return;
    int waiting = 0;
    for (int t = 0; t < count_; ++t) waiting += thread(t).state == sim_state::at_block_barrier;
    if (waiting == 0) return;
    HEDDLE_EXPECTS(waiting == count_, "a block barrier must be reached by every thread", waiting, count_);
    for (int t = 0; t < count_; ++t) thread(t).state = sim_state::ready;
  }
  HEDDLE_FN void drive_warp(int warp) {
    int const first = warp * warp_size, end = first + warp_size < count_ ? first + warp_size : count_;
    for (;;) {
      for (int i = first; i < end && !failure_; ++i) {
        sim_thread& t = thread(options.threads == turn::forward ? i : end - 1 - (i - first));
        if (t.state == sim_state::ready) t.run.resume();
      }
      if (failure_) return;
      int waiting = 0;
      for (int i = first; i < end; ++i) waiting += thread(i).state == sim_state::at_warp_barrier;
      if (waiting == 0) return;
      HEDDLE_EXPECTS(waiting == end - first, "a warp operation must be reached by every thread of the warp", waiting,
                     end - first, warp);
      for (int i = first; i < end; ++i) thread(i).state = sim_state::ready;
    }
  }
  // Threads that have begun stand in wait_at and unwind from there.
  HEDDLE_FN void cancel() {
    for (int t = 0; t < count_; ++t) {
      sim_thread& it = thread(t);
      it.cancelled = true;
      if (it.started && it.state != sim_state::done) it.run.resume();
      it.state = sim_state::done;
    }
  }

  std::vector<owned<sim_thread>> threads_;
  int count_;
  void const* kernel_;
  entry entry_;
  std::exception_ptr failure_;
};

}  // namespace detail

/// The block context of the simulator.
class sim_block_context {
 public:
  HEDDLE_FN explicit sim_block_context(detail::sim_thread& self) noexcept : self_(&self) {}

  HEDDLE_FN int thread() const noexcept { return self_->id; }
  HEDDLE_FN int threads() const noexcept { return self_->block->threads(); }
  HEDDLE_FN int warp() const noexcept { return self_->id / warp_size; }
  HEDDLE_FN int lane() const noexcept { return self_->id % warp_size; }
  HEDDLE_FN index_t block() const noexcept { return self_->block->index; }
  HEDDLE_FN std::byte* shared() const noexcept { return self_->block->shared; }

  HEDDLE_FN void sync() const { self_->block->wait_at(*self_, detail::sim_state::at_block_barrier); }
  HEDDLE_FN void sync_warp() const { self_->block->wait_at(*self_, detail::sim_state::at_warp_barrier); }

  template <class T>
  HEDDLE_FN T shuffle_xor(T const& value, int mask) const {
    static_assert(sizeof(T) <= sizeof self_->slot && std::is_trivially_copyable_v<T>);
    std::memcpy(self_->slot, &value, sizeof(T));
    sync_warp();
    T other;
    std::memcpy(&other, self_->block->thread(self_->id ^ mask).slot, sizeof(T));
    sync_warp();
    return other;
  }

  template <class T>
  HEDDLE_FN void copy_async(T* to, T const* from) const {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16, "an asynchronous copy has 4, 8 or 16 bytes");
    if (self_->block->options.copies == landing::early) {
      std::memcpy(to, from, sizeof(T));
      return;
    }
    std::memset(static_cast<void*>(to), 0xFF, sizeof(T));
    self_->copies.push_back({reinterpret_cast<std::byte*>(to), reinterpret_cast<std::byte const*>(from), sizeof(T)});
    ++self_->open;
  }
  HEDDLE_FN void commit() const {
    self_->groups.push_back(self_->open);
    self_->open = 0;
  }
  template <int N>
  HEDDLE_FN void wait() const {
    std::size_t landed = 0, groups = 0;
    while (self_->groups.size() - groups > static_cast<std::size_t>(N)) landed += self_->groups[groups++];
    for (std::size_t i = 0; i < landed; ++i)
      std::memcpy(self_->copies[i].to, self_->copies[i].from, self_->copies[i].bytes);
    self_->copies.erase(self_->copies.begin(), self_->copies.begin() + static_cast<std::ptrdiff_t>(landed));
    self_->groups.erase(self_->groups.begin(), self_->groups.begin() + static_cast<std::ptrdiff_t>(groups));
  }

 private:
  detail::sim_thread* self_;
};

static_assert(block_context<sim_block_context>);

}  // namespace simt
}  // namespace heddle
