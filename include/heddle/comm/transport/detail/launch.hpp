// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/comm/transport/thread.hpp>
#include <heddle/exec/threads_executor.hpp>

#include <pthread.h>

namespace heddle {

/// How ranks are started.
struct rank_options {
  int threads_per_rank = 0;  ///< of the executor that each rank is handed; 0: its share of the cores, at least 1
  bool pin = false;          ///< binds each rank to its set of cores
  double deadline = 300;     ///< seconds that any blocking call may take
  host_space* memory = &default_host_space;  ///< of communicators; must outlive the run
};

namespace detail {

struct group_access {
  static HEDDLE_FN thread_communicator make(thread_group* g, int rank, double seconds) noexcept {
    return thread_communicator(g, rank, seconds);
  }
  static HEDDLE_FN void leave(thread_communicator& c, text const& how) noexcept { c.leave(how); }
};

/// Cores of the caller, cut in sets: set r of n, shared where there are more sets than cores.
HEDDLE_FN cpu_set_t core_set(cpu_set_t const& all, int n, int r) noexcept {
  int const cores = CPU_COUNT(&all) > 0 ? CPU_COUNT(&all) : 1;
  part const mine = n <= cores ? balanced_part(cores, n, r) : part{index_t{r} * cores / n, 1};
  cpu_set_t set;
  CPU_ZERO(&set);
  index_t seen = 0;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &all)) {
      if (seen >= mine.offset && seen < mine.end()) CPU_SET(core, &set);
      ++seen;
    }
  return set;
}

/// What the threads of one run share.
template <class F>
struct rank_run {
  F* f;
  thread_group* group;
  rank_options options;
  cpu_set_t cores;
  int size;
  std::uint32_t failures = 0;  ///< atomic; orders the exceptions
  int refusal = 0;             ///< what the system said to the first rank that it did not start
};

template <class F>
HEDDLE_FN void call_rank(rank_run<F> const& run, int rank, thread_communicator& comm) {
  if constexpr (std::is_invocable_v<F&, thread_communicator&, threads_executor&>) {
    cpu_set_t const cores = core_set(run.cores, run.size, rank);
    int const threads = run.options.threads_per_rank > 0 ? run.options.threads_per_rank : CPU_COUNT(&cores);
    threads_executor exec(threads > 0 ? threads : 1, team_options{run.options.pin ? &cores : nullptr, false});
    (*run.f)(comm, exec);
  } else {
    static_assert(std::is_invocable_v<F&, thread_communicator&>, "a rank is f(comm) or f(comm, threads_executor&)");
    (*run.f)(comm);
  }
}

template <class F>
struct rank_thread {
  rank_run<F>* run = nullptr;
  int rank = 0;
  pthread_t thread = {};
  std::exception_ptr thrown;
  std::uint32_t when = 0;
  bool secondary = false;  ///< another rank's failure that was passed on

  HEDDLE_FN rank_thread() noexcept {}
  rank_thread(rank_thread const&) = delete;
  rank_thread& operator=(rank_thread const&) = delete;
  HEDDLE_FN ~rank_thread() {}

  HEDDLE_FN void failed(std::exception_ptr e, bool passed_on) noexcept {
    when = __atomic_add_fetch(&run->failures, 1u, __ATOMIC_RELAXED);
    thrown = static_cast<std::exception_ptr&&>(e);
    secondary = passed_on;
  }

  HEDDLE_FN void work() noexcept {
    if (run->options.pin) {
      cpu_set_t const set = core_set(run->cores, run->size, rank);
      pthread_setaffinity_np(pthread_self(), sizeof set, &set);
    }
    thread_communicator comm = group_access::make(run->group, rank, run->options.deadline);
    text how("it returned");
    try {
      call_rank(*run, rank, comm);
    } catch (error const& e) {
      bool const passed =
          e.code() == errc::peer_failed || e.code() == errc::revoked || e.code() == errc::invalid_argument;
      failed(std::current_exception(), passed);
      how = text(e.what());
    } catch (std::exception const& e) {
      failed(std::current_exception(), false);
      how = text(e.what());
    } catch (...) {
      failed(std::current_exception(), false);
      how = text("an unknown exception");
    }
    group_access::leave(comm, how);
  }
  static HEDDLE_FN void* start(void* self) noexcept {
    static_cast<rank_thread*>(self)->work();
    return nullptr;
  }
};

/// Starts every rank; those that the system refuses count as ended.
template <class F>
HEDDLE_FN int start_ranks(rank_thread<F>* ranks, rank_run<F>& run) noexcept {
  int started = 0;
  for (; started < run.size; ++started) {
    ranks[started].run = &run;
    ranks[started].rank = started;
    run.refusal = pthread_create(&ranks[started].thread, nullptr, &rank_thread<F>::start, &ranks[started]);
    if (run.refusal != 0) break;
  }
  for (int r = started; r < run.size; ++r) {
    exit_group(*run.group, r, make_text("rank ", r, " could not be started"));
    release_group(run.group);
  }
  return started;
}

/// The first exception that is not another rank's failure passed on, else the first.
template <class F>
HEDDLE_FN std::exception_ptr first_failure(rank_thread<F> const* ranks, int n) noexcept {
  rank_thread<F> const* first = nullptr;
  for (int r = 0; r < n; ++r)
    if (ranks[r].thrown && (!first || (first->secondary && !ranks[r].secondary) ||
                            (first->secondary == ranks[r].secondary && ranks[r].when < first->when)))
      first = &ranks[r];
  return first ? first->thrown : nullptr;
}

}  // namespace detail

/// Runs `f(comm)` or `f(comm, executor)` on n ranks, each a thread of its own, and waits for all of them.
///
/// Pre: 1 <= n <= 4095. Post: all ranks have ended. Errors: rethrows the first exception of a rank that was not
/// caused by another rank's. A rank that throws or returns early ends the collectives of the others with
/// errc::peer_failed; nothing hangs. errc::unsupported where the system refuses threads.
/// Memory: `thread_communicator::reserved_bytes(n)` from `options.memory`.
template <class F>
HEDDLE_FN void run_ranks(int n, F&& f, rank_options const& options = {}) {
  HEDDLE_EXPECTS(n >= 1 && n <= detail::max_thread_ranks, "ranks must be 1 to 4095", n);
  HEDDLE_EXPECTS(options.threads_per_rank >= 0, "threads can't be negative", options.threads_per_rank);
  HEDDLE_EXPECTS(options.deadline > 0, "a deadline lies in the future", options.deadline);
  using body = std::remove_reference_t<F>;
  (void)usable_cores();  // read before any thread is bound to some of them
  detail::rank_run<body> run{&f, nullptr, options, {}, n};
  CPU_ZERO(&run.cores);
  sched_getaffinity(0, sizeof run.cores, &run.cores);
  auto* const ranks = new detail::rank_thread<body>[static_cast<std::size_t>(n)];
  struct cleanup {
    detail::rank_thread<body>* ranks;
    ~cleanup() { delete[] ranks; }
  } const guard{ranks};
  run.group = detail::make_group(n, *options.memory, nullptr);
  add_live_threads(n - 1);  // the caller only waits
  int const started = detail::start_ranks(ranks, run);
  for (int r = 0; r < started; ++r) pthread_join(ranks[r].thread, nullptr);
  add_live_threads(1 - n);
  // First: what the others threw is that the missing ranks are gone.
  if (started < n) throw detail::thread_refused(make_text(n - started, " of ", n, " ranks"), run.refusal);
  if (std::exception_ptr const e = detail::first_failure(ranks, n)) std::rethrow_exception(e);
}

}  // namespace heddle
