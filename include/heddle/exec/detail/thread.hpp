// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/error.hpp>
#include <heddle/exec/wait.hpp>

#include <cerrno>

#include <pthread.h>
#include <signal.h>

namespace heddle::detail {

/// The queue whose work the calling thread is running, or null. Threads that help with a loop take it over from
/// the thread that shares it.
constinit inline thread_local void const* running_queue = nullptr;

/// What the system's refusal of a thread is reported as; `what` was to be started.
HEDDLE_FN error thread_refused(text const& what, int code) {
  char const* const advice = code == EINVAL || code == EPERM
                                 ? ": choose cores that this process may use"
                                 : ": give fewer ranks or threads, or raise the limit (ulimit -u)";
  return error(errc::unsupported, make_text("the system did not start ", what.c_str(), ", code ", code, advice));
}

/// A thread that is joined by hand, counted in `live_threads`. Signals are left to the program's own threads.
class os_thread {
 public:
  HEDDLE_FN os_thread() noexcept : run_(nullptr), argument_(nullptr), handle_(), started_(0) {}
  os_thread(os_thread const&) = delete;
  os_thread& operator=(os_thread const&) = delete;
  HEDDLE_FN ~os_thread() {}

  /// Calls run(argument) in a new thread that may use the cores of `cores`, or the creator's where it is null.
  /// Errors: unsupported, where the system refuses a thread.
  HEDDLE_FN void start(void (*run)(void*), void* argument, cpu_set_t const* cores = nullptr) {
    run_ = run;
    argument_ = argument;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (cores) pthread_attr_setaffinity_np(&attributes, sizeof *cores, cores);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    add_live_threads(1);
    int const refused = pthread_create(&handle_, &attributes, &enter, this);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_attr_destroy(&attributes);
    if (refused != 0) {
      add_live_threads(-1);
      throw thread_refused(text("another thread"), refused);
    }
    started_ = 1;
  }

  /// The cores that a started thread may use. False where the system does not say, or refuses.
  HEDDLE_FN bool get_cores(cpu_set_t& cores) const noexcept {
    return pthread_getaffinity_np(handle_, sizeof cores, &cores) == 0;
  }
  HEDDLE_FN bool set_cores(cpu_set_t const& cores) const noexcept {
    return pthread_setaffinity_np(handle_, sizeof cores, &cores) == 0;
  }

  HEDDLE_FN void join() noexcept {
    if (started_ == 0) return;
    pthread_join(handle_, nullptr);
    started_ = 0;
    add_live_threads(-1);
  }

 private:
  static HEDDLE_FN void* enter(void* self) {
    os_thread const* const thread = static_cast<os_thread const*>(self);
    thread->run_(thread->argument_);
    return nullptr;
  }

  void (*run_)(void*);
  void* argument_;
  pthread_t handle_;
  int started_;
};

}  // namespace heddle::detail
