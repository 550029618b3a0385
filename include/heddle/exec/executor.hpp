// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/exec/arena.hpp>
#include <heddle/exec/backends.hpp>
#include <heddle/exec/memory.hpp>
#include <heddle/exec/observer.hpp>

#include <concepts>
#include <type_traits>

namespace heddle {

/// The event of a queue whose work is over when the submitting call returns: nothing to wait for.
struct done_event {};

/// The largest callable that a queue must be able to copy, in bytes.
inline constexpr std::size_t max_task_bytes = 448;

/// A callable that an executor can queue: at most 448 bytes and trivially copyable.
template <class F>
concept queueable_task = std::is_trivially_copyable_v<F> && (sizeof(F) <= max_task_bytes);

namespace detail {
struct probe_task {
  HEDDLE_FN void operator()(index_t, int) const {}
};
}  // namespace detail

/// An in-order queue of work on one memory space; the first argument of every operation.
///
/// Valid expressions: `e.concurrency()`, `e.for_each_tile(n, f)`, `e.record()`, `e.wait(event)`, `e.synchronize()`,
/// `e.scratch()`, `e.observer()`; types `backend`, `space`, `event`.
/// Meaning: `for_each_tile(n, f)` submits f(tile, worker) for every tile in [0, n), after all work submitted before;
/// tiles of one call run in any order and at once, worker is in [0, concurrency()), and no two running tiles share a
/// worker. f is copied. `wait(event)` orders later work after what the event's queue held at `record()`, without
/// blocking the host where work is queued. `synchronize()` blocks until all work is over and throws the first
/// exception of it. While `scratch().planning()` holds, submitted tiles are dropped. One host thread submits to an
/// executor at a time. f must not submit to the executor that runs it.
/// Models: reference_executor, serial_executor, threads_executor, openmp_executor, sim_executor, cuda_executor,
/// queued<E>, observed<E, Observer>.
template <class E>
concept executor = requires(E& e, typename E::event const& ev, detail::probe_task const& f, index_t n) {
  typename E::backend;
  typename E::space;
  typename E::event;
  { e.concurrency() } -> std::same_as<int>;
  e.for_each_tile(n, f);
  { e.record() } -> std::same_as<typename E::event>;
  e.wait(ev);
  e.synchronize();
  { e.scratch() } -> std::same_as<arena&>;
  e.observer();
};

/// An executor whose work is over when the submitting call returns, so that its event is empty.
template <class E>
concept immediate_executor = executor<E> && std::same_as<typename E::event, done_event>;

/// Blocks until the work of `exec` is over and returns one element. Pre: the view has exactly one element.
template <executor E, class View>
HEDDLE_FN auto read(E& exec, View const& v) {
  HEDDLE_EXPECTS(v.size() == 1, "read takes a view of one element", v.size());
  exec.synchronize();
  return *v.data();
}

}  // namespace heddle
