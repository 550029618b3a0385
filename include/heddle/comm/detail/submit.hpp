// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/comm/detail/copy_work.hpp>
#include <heddle/comm/detail/message_copy.hpp>
#include <heddle/comm/detail/message_reduce.hpp>

/// @file
/// From a call to work in the executor's queue.

namespace heddle::detail {

/// A communicator whose ranks reach each other's memory: collectives run in one pass over it.
template <class C>
concept shares_memory = requires(C& c, copy_work const& w, collective_options const& o) { c.collective(w, o); };

template <class C, class Work, bool Counts>
struct collective_task {
  C* comm;
  Work work;
  collective_options options;
  message_scratch scratch{};

  HEDDLE_FN void operator()(index_t, int) const {
    Work w = work;
    w.prepare(comm->size(), comm->rank());
    if constexpr (Counts) comm->note_submission();
    if constexpr (shares_memory<C>)
      comm->collective(w, options);
    else
      run_over_messages(*comm, w, options, scratch);
  }
};

/// What this rank reads, writes and combines; what it sends is counted by transports.
template <class C, class Work>
HEDDLE_FN span span_of(C& comm, Work const& work) {
  posting const& p = work.post;
  bool const one_buffer = work.kind() == traffic::broadcast;  // read on the root, written elsewhere
  return {.operation = name(work.kind()),
          .shape = {p.call.count},
          .bytes = static_cast<index_t>(one_buffer ? p.out_bytes : p.in_bytes + p.out_bytes),
          .flops = work.combinations(comm.size(), comm.rank()),
          .rank = comm.rank()};
}

/// Submits a collective: after earlier and before later work of the queue.
template <class C, executor E, class Work>
HEDDLE_FN void submit_collective(C& comm, E& exec, Work const& work, collective_options const& options) {
  // An executor that finishes in the call may refuse the tile, so its task counts; a queue's number is the host's.
  constexpr bool queues = shares_memory<C> && !immediate_executor<E>;
  using task = collective_task<C, Work, shares_memory<C> && !queues>;
  static_assert(queueable_task<task>, "the operation of a reduction must be trivially copyable and small");
  observed_span<E> const scope(exec, [&] { return span_of(comm, work); });
  scratch_frame<E> frame(exec);
  message_scratch scratch{};
  if constexpr (!shares_memory<C>) {
    std::size_t const bytes = work.post.fault ? 0 : scratch_bytes(work, comm.size(), comm.rank());
    scratch = {frame.template take<std::byte>(static_cast<index_t>(bytes)), bytes};
  }
  if (exec.scratch().planning()) return;  // a transport that numbers what is submitted must not count this call
  exec.for_each_tile(1, task{&comm, work, options, scratch});
  if constexpr (queues)
    submit_cleanup(exec, [c = &comm, number = comm.note_submission()] { c->after_collective(number); });
}

template <class V>
HEDDLE_FN void set_input(work_base& w, V const& v) noexcept {
  w.require(v.is_contiguous(), "the input must be contiguous");
  w.post.in = v.data();
  w.post.in_bytes = static_cast<std::size_t>(v.size()) * sizeof(typename V::value_type);
}
template <class V>
HEDDLE_FN void set_output(work_base& w, V const& v) noexcept {
  w.require(v.is_contiguous(), "the output must be contiguous");
  w.post.out = v.data();
  w.post.out_bytes = static_cast<std::size_t>(v.size()) * sizeof(typename V::value_type);
}
/// Counts are read when the work runs.
template <class Work, class V>
HEDDLE_FN void set_counts(Work& w, V const& counts, int ranks) noexcept {
  static_assert(std::is_same_v<typename V::value_type, index_t>, "counts are index_t");
  w.require(counts.is_contiguous() && counts.size() == ranks, "one count per rank", counts.size(), ranks);
  w.post.counts = counts.data();
  w.use_counts();
}

template <class T>
HEDDLE_FN copy_work make_copy(traffic kind, index_t n, int root, int ranks) noexcept {
  copy_work w{};
  w.post.call = make_call<T>(kind, n, root);
  w.element = sizeof(T);
  w.total = n;
  bool const rooted = kind == traffic::broadcast || kind == traffic::gather || kind == traffic::scatter;
  if (rooted) w.require(root >= 0 && root < ranks, "the root must be a rank", root, ranks);
  return w;
}

}  // namespace heddle::detail
