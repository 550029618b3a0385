// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/extents.hpp>
#include <heddle/exec/detail/chunk.hpp>
#include <heddle/exec/detail/thread.hpp>

#include <exception>
#include <new>

namespace heddle {

/// Where the threads of a team may run.
struct team_options {
  cpu_set_t const* cores = nullptr;  ///< allowed cores; null: those of the creating thread
  bool pin = false;                  ///< worker i only on the i-th allowed core; the caller (worker 0) is left alone
};

/// A team of threads that share loops: the caller is worker 0, the others sleep between loops.
///
/// Every worker first takes chunks of its own part of the range, so that repeated loops find their data in the same
/// core's cache, and then helps where chunks are left. The caller never waits for a thread that has not started:
/// a loop that a late worker missed is finished without it.
/// Sync: one loop at a time. Complexity: about 2 microseconds a loop where cores are free.
class team {
 public:
  HEDDLE_FN explicit team(int threads, team_options const& options = {})
      : size_(threads), members_(nullptr), gate_(closed), epoch_(0), stopping_(0), failed_(0), run_(nullptr),
        task_(nullptr), queue_(nullptr), size_of_loop_(0), chunk_(1) {
    HEDDLE_EXPECTS(threads >= 1 && threads <= max_threads, "a team has 1 to 4096 threads", threads);
    std::size_t const n = static_cast<std::size_t>(threads);
    members_ = static_cast<member*>(::operator new(n * sizeof(member), std::align_val_t(alignof(member))));
    for (std::size_t i = 0; i < n; ++i) ::new (static_cast<void*>(members_ + i)) member(*this, static_cast<int>(i));
    start(options);
  }
  team(team const&) = delete;
  team& operator=(team const&) = delete;
  HEDDLE_FN ~team() { stop(); }

  HEDDLE_FN int size() const noexcept { return size_; }

  /// Runs f(tile, worker) for every tile in [0, n) and returns when all are over.
  /// Errors: the first exception of f; tiles that have not started are then left out.
  template <class F>
  HEDDLE_FN void run(index_t n, F const& f) {
    if (n <= 1 || size_ == 1) {
      for (index_t tile = 0; tile < n; ++tile) f(tile, 0);
      return;
    }
    open(n, &f, [](void const* task, index_t lo, index_t hi, int worker) {
      for (index_t tile = lo; tile < hi; ++tile) (*static_cast<F const*>(task))(tile, worker);
    });
    work(0);
    close();
  }

 private:
  static constexpr int max_threads = 4096;
  // gate_: bit 0 says that the loop is closed, the rest counts the workers inside. One word, so that a worker that
  // enters and a caller that closes can't pass each other.
  static constexpr std::uint32_t closed = 1, inside = 2;

  struct alignas(128) member {
    index_t next;  ///< first tile of this worker's part that nobody has taken
    index_t end;
    team* owner;
    int worker;
    int core;   ///< that the worker ran on last; -1: not known
    int moved;  ///< the thread is kept off a core of `cores` until it wakes
    cpu_set_t cores;
    detail::os_thread thread;

    HEDDLE_FN member(team& t, int i) noexcept
        : next(0), end(0), owner(&t), worker(i), core(-1), moved(0), cores(), thread() {}
    member(member const&) = delete;
    member& operator=(member const&) = delete;
    HEDDLE_FN ~member() {}
  };

  HEDDLE_FN void start(team_options const& options) {
    try {
      for (int i = 1; i < size_; ++i) {
        cpu_set_t one;
        cpu_set_t const* cores = options.cores;
        if (options.pin && core_of(options, i, one)) cores = &one;
        members_[i].thread.start([](void* m) { static_cast<member*>(m)->owner->serve(*static_cast<member*>(m)); },
                                 members_ + i, cores);
      }
    } catch (...) {
      stop();
      throw;
    }
  }

  HEDDLE_FN void stop() noexcept {
    __atomic_store_n(&stopping_, 1, __ATOMIC_RELEASE);
    fork_.notify();
    for (int i = 0; i < size_; ++i) {
      members_[i].thread.join();
      members_[i].~member();
    }
    ::operator delete(members_, std::align_val_t(alignof(member)));
  }

  /// The i-th allowed core, counted around.
  static HEDDLE_FN bool core_of(team_options const& options, int i, cpu_set_t& one) noexcept {
    cpu_set_t allowed;
    if (options.cores)
      allowed = *options.cores;
    else if (pthread_getaffinity_np(pthread_self(), sizeof allowed, &allowed) != 0)
      return false;
    int const count = CPU_COUNT(&allowed);
    if (count == 0) return false;
    int skip = i % count;
    for (int core = 0; core < CPU_SETSIZE; ++core)
      if (CPU_ISSET(static_cast<unsigned>(core), &allowed) && skip-- == 0) {
        CPU_ZERO(&one);
        CPU_SET(static_cast<unsigned>(core), &one);
        return true;
      }
    return false;
  }

  /// Lets a worker wake on another core than `core`, where the caller runs and the worker slept. A system that sees no
  /// cache that the cores share wakes a thread where it slept, behind the caller, and leaves it there.
  HEDDLE_FN void keep_off(member& m, int core) const noexcept {
    cpu_set_t cores;
    if (__atomic_load_n(&m.moved, __ATOMIC_ACQUIRE) != 0 || !m.thread.get_cores(cores)) return;
    if (CPU_COUNT(&cores) < size_) return;
    m.cores = cores;
    CPU_CLR(static_cast<unsigned>(core), &cores);
    if (m.thread.set_cores(cores)) __atomic_store_n(&m.moved, 1, __ATOMIC_RELEASE);
  }
  /// In the worker, once it runs: it may use all of its cores again.
  static HEDDLE_FN void settle(member& m) noexcept {
    if (__atomic_load_n(&m.moved, __ATOMIC_ACQUIRE) != 0) {
      m.thread.set_cores(m.cores);
      __atomic_store_n(&m.moved, 0, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&m.core, sched_getcpu(), __ATOMIC_RELAXED);
  }

  HEDDLE_FN void open(index_t n, void const* task, void (*chunk)(void const*, index_t, index_t, int)) noexcept {
    run_ = chunk;
    task_ = task;
    queue_ = detail::running_queue;
    size_of_loop_ = n;
    int const core = sched_getcpu();
    for (int i = 1; i < size_; ++i)
      if (__atomic_load_n(&members_[i].core, __ATOMIC_RELAXED) == core) keep_off(members_[i], core);
    index_t const parts = n < size_ ? n : size_;
    chunk_ = detail::chunk_of(n, static_cast<int>(parts));
    // The first n mod parts parts are one tile longer.
    index_t const length = n / parts, longer = n % parts;
    for (index_t i = 0, at = 0; i < parts; ++i) {
      index_t const end = at + length + (i < longer ? 1 : 0);
      members_[i].end = end;
      __atomic_store_n(&members_[i].next, at, __ATOMIC_RELAXED);
      at = end;
    }
    // Keeps the count: a worker that missed the loop before may be on its way out.
    __atomic_fetch_and(&gate_, ~closed, __ATOMIC_ACQ_REL);
    __atomic_store_n(&epoch_, epoch_ + 1, __ATOMIC_RELEASE);
    fork_.notify(parts < size_ ? static_cast<int>(parts) - 1 : INT_MAX);
  }

  HEDDLE_FN void close() {
    __atomic_fetch_or(&gate_, closed, __ATOMIC_ACQ_REL);
    join_.wait([this] { return __atomic_load_n(&gate_, __ATOMIC_ACQUIRE) == closed; }, {}, &join_budget_);
    if (failed_ == 0) return;
    failed_ = 0;
    std::exception_ptr const why = static_cast<std::exception_ptr&&>(failure_);
    failure_ = nullptr;
    std::rethrow_exception(why);
  }

  HEDDLE_FN void serve(member& me) noexcept {
    spin_budget budget;
    std::uint32_t seen = 0;
    for (;;) {
      auto const stop = [this] { return __atomic_load_n(&stopping_, __ATOMIC_ACQUIRE) != 0; };
      fork_.wait([&] { return __atomic_load_n(&epoch_, __ATOMIC_ACQUIRE) != seen || stop(); }, {}, &budget);
      if (stop()) return;
      seen = __atomic_load_n(&epoch_, __ATOMIC_ACQUIRE);
      settle(me);
      if ((__atomic_fetch_add(&gate_, inside, __ATOMIC_ACQ_REL) & closed) == 0) {
        detail::running_queue = queue_;
        work(me.worker);
      }
      if (__atomic_sub_fetch(&gate_, inside, __ATOMIC_ACQ_REL) == closed) join_.notify();
    }
  }

  /// Takes chunks of the own part, then of the others', until none is left.
  HEDDLE_FN void work(int worker) noexcept {
    index_t const parts = size_of_loop_ < size_ ? size_of_loop_ : size_;
    try {
      for (index_t k = 0; k < parts; ++k) {
        member& part = members_[(worker + k) % parts];
        while (__atomic_load_n(&part.next, __ATOMIC_RELAXED) < part.end) {
          if (__atomic_load_n(&failed_, __ATOMIC_RELAXED) != 0) return;
          index_t const lo = __atomic_fetch_add(&part.next, chunk_, __ATOMIC_RELAXED);
          index_t const hi = lo + chunk_ < part.end ? lo + chunk_ : part.end;
          if (lo < hi) run_(task_, lo, hi, worker);
        }
      }
    } catch (...) {
      if (__atomic_exchange_n(&failed_, 1, __ATOMIC_ACQ_REL) == 0) failure_ = std::current_exception();
    }
  }

  int size_;
  member* members_;
  alignas(128) std::uint32_t gate_;
  std::uint32_t epoch_;
  int stopping_, failed_;
  void (*run_)(void const*, index_t, index_t, int);
  void const* task_;
  void const* queue_;
  index_t size_of_loop_, chunk_;
  std::exception_ptr failure_;
  alignas(128) park_word fork_;
  alignas(128) park_word join_;
  spin_budget join_budget_;
};

}  // namespace heddle
