// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/comm/detail/submit.hpp>

/// @file
/// Collectives that move data. All are submitted to the executor's queue: after its earlier and before its later
/// work; with an immediate executor they block the caller. All ranks call them in the same order.
///
/// Errors, at the call where the executor is immediate, else at its next `synchronize`: contract_error on the rank
/// whose own argument is wrong and errc::invalid_argument on its peers; errc::mismatch on all ranks where calls
/// differ; errc::timeout, peer_failed, revoked.
/// Sync: blocks the queue until this rank's part is done. Where a block has no elements nothing moves.

namespace heddle {

/// Waits until every rank has come.
/// Complexity: over messages ceil(log2 p) messages of no bytes per rank.
struct barrier_fn {
  template <transport C, executor E>
  HEDDLE_FN void operator()(C& comm, E& exec, collective_options const& options = {}) const {
    detail::copy_work w{};
    w.post.call.kind = static_cast<int>(traffic::barrier);
    detail::submit_collective(comm, exec, w, options);
  }
};
inline constexpr barrier_fn barrier{};

/// Copies the data of `root` to all ranks.
/// Shapes: data [n], contiguous, the same n everywhere. Complexity: binomial tree over messages: w n children sent.
struct broadcast_fn {
  template <transport C, executor E, writable_view V>
  HEDDLE_FN void operator()(C& comm, E& exec, V const& data, int root, collective_options const& options = {}) const {
    detail::copy_work w = detail::make_copy<typename V::value_type>(traffic::broadcast, data.size(), root, comm.size());
    detail::set_output(w, data);
    if (comm.rank() == root) {
      w.post.in = w.post.out;
      w.post.in_bytes = w.post.out_bytes;
    }
    detail::submit_collective(comm, exec, w, options);
  }
};
inline constexpr broadcast_fn broadcast{};

/// Concatenates the blocks of all ranks on every rank.
/// Shapes: out [n]; in is block r of the balanced partition of n; contiguous. In place where `in` is that block of
/// `out`. Complexity: sent w b_r (p - 1).
struct all_gather_fn {
  template <transport C, executor E, any_view In, writable_view Out>
  HEDDLE_FN void operator()(C& comm, E& exec, In const& in, Out const& out,
                            collective_options const& options = {}) const {
    using T = typename Out::value_type;
    static_assert(std::is_same_v<T, typename In::value_type>, "input and output have one element type");
    detail::copy_work w = detail::make_copy<T>(traffic::all_gather, out.size(), -1, comm.size());
    detail::set_input(w, in);
    detail::set_output(w, out);
    part const mine = balanced_part(out.size(), comm.size(), comm.rank());
    w.require(in.size() == mine.size, "the input must be this rank's block of the output", in.size(), mine.size);
    detail::check_aliasing(w, mine.offset * w.element, 0);
    detail::submit_collective(comm, exec, w, options);
  }
};
inline constexpr all_gather_fn all_gather{};

/// `all_gather` with blocks of any sizes, the same `counts` on all ranks, read when the work runs.
/// Shapes: counts [p]; in [counts[r]]; out [sum of counts].
struct all_gather_v_fn {
  template <transport C, executor E, any_view In, writable_view Out, vector_view Counts>
  HEDDLE_FN void operator()(C& comm, E& exec, In const& in, Out const& out, Counts const& counts,
                            collective_options const& options = {}) const {
    using T = typename Out::value_type;
    static_assert(std::is_same_v<T, typename In::value_type>, "input and output have one element type");
    detail::copy_work w = detail::make_copy<T>(traffic::all_gather, out.size(), -1, comm.size());
    detail::set_counts(w, counts, comm.size());
    detail::set_input(w, in);
    detail::set_output(w, out);
    detail::submit_collective(comm, exec, w, options);
  }
};
inline constexpr all_gather_v_fn all_gather_v{};

/// Concatenates equal blocks of all ranks on the root.
/// Shapes: in [m] everywhere; out [m p] on the root, not looked at elsewhere. In place where `in` is the root's block.
struct gather_fn {
  template <transport C, executor E, any_view In, writable_view Out>
  HEDDLE_FN void operator()(C& comm, E& exec, In const& in, Out const& out, int root,
                            collective_options const& options = {}) const {
    using T = typename Out::value_type;
    static_assert(std::is_same_v<T, typename In::value_type>, "input and output have one element type");
    index_t const n = in.size() * comm.size();
    detail::copy_work w = detail::make_copy<T>(traffic::gather, n, root, comm.size());
    detail::set_input(w, in);
    if (comm.rank() == root) {
      detail::set_output(w, out);
      w.require(out.size() == n, "the root's output holds the blocks of all ranks", out.size(), n);
      detail::check_aliasing(w, root * in.size() * w.element, 0);
    }
    detail::submit_collective(comm, exec, w, options);
  }
};
inline constexpr gather_fn gather{};

/// `gather` with blocks of any sizes, the same `counts` on all ranks.
struct gather_v_fn {
  template <transport C, executor E, any_view In, writable_view Out, vector_view Counts>
  HEDDLE_FN void operator()(C& comm, E& exec, In const& in, Out const& out, Counts const& counts, int root,
                            collective_options const& options = {}) const {
    using T = typename Out::value_type;
    static_assert(std::is_same_v<T, typename In::value_type>, "input and output have one element type");
    detail::copy_work w = detail::make_copy<T>(traffic::gather, 0, root, comm.size());
    detail::set_counts(w, counts, comm.size());
    detail::set_input(w, in);
    if (comm.rank() == root) detail::set_output(w, out);
    detail::submit_collective(comm, exec, w, options);
  }
};
inline constexpr gather_v_fn gather_v{};

/// Hands equal blocks of the root's data to all ranks.
/// Shapes: in [m p] on the root, not looked at elsewhere; out [m]. In place where `out` is the root's block.
struct scatter_fn {
  template <transport C, executor E, any_view In, writable_view Out>
  HEDDLE_FN void operator()(C& comm, E& exec, In const& in, Out const& out, int root,
                            collective_options const& options = {}) const {
    using T = typename Out::value_type;
    static_assert(std::is_same_v<T, typename In::value_type>, "input and output have one element type");
    index_t const n = out.size() * comm.size();
    detail::copy_work w = detail::make_copy<T>(traffic::scatter, n, root, comm.size());
    detail::set_output(w, out);
    if (comm.rank() == root) {
      detail::set_input(w, in);
      w.require(in.size() == n, "the root's input holds the blocks of all ranks", in.size(), n);
      detail::check_aliasing(w, 0, root * out.size() * w.element);
    }
    detail::submit_collective(comm, exec, w, options);
  }
};
inline constexpr scatter_fn scatter{};

/// `scatter` with blocks of any sizes, the same `counts` on all ranks.
struct scatter_v_fn {
  template <transport C, executor E, any_view In, writable_view Out, vector_view Counts>
  HEDDLE_FN void operator()(C& comm, E& exec, In const& in, Out const& out, Counts const& counts, int root,
                            collective_options const& options = {}) const {
    using T = typename Out::value_type;
    static_assert(std::is_same_v<T, typename In::value_type>, "input and output have one element type");
    detail::copy_work w = detail::make_copy<T>(traffic::scatter, 0, root, comm.size());
    detail::set_counts(w, counts, comm.size());
    detail::set_output(w, out);
    if (comm.rank() == root) detail::set_input(w, in);
    detail::submit_collective(comm, exec, w, options);
  }
};
inline constexpr scatter_v_fn scatter_v{};

/// Sends block d to rank d and receives one block from every rank, in rank order.
/// Shapes: in [n], out [n], n divisible by p, the same on all ranks; they must not overlap.
struct all_to_all_fn {
  template <transport C, executor E, any_view In, writable_view Out>
  HEDDLE_FN void operator()(C& comm, E& exec, In const& in, Out const& out,
                            collective_options const& options = {}) const {
    using T = typename Out::value_type;
    static_assert(std::is_same_v<T, typename In::value_type>, "input and output have one element type");
    detail::copy_work w = detail::make_copy<T>(traffic::all_to_all, in.size(), -1, comm.size());
    detail::set_input(w, in);
    detail::set_output(w, out);
    w.require(in.size() == out.size(), "input and output have one size", in.size(), out.size());
    w.require(in.size() % comm.size() == 0, "the size must be divisible by the ranks", in.size(), comm.size());
    w.require(!detail::overlap(w.post.in, w.post.in_bytes, w.post.out, w.post.out_bytes), "there is no form in place");
    detail::submit_collective(comm, exec, w, options);
  }
};
inline constexpr all_to_all_fn all_to_all{};

/// `all_to_all` with blocks of any sizes: what this rank sends to and receives from each rank, read when it runs.
/// Shapes: send_counts [p], receive_counts [p]; in [sum], out [sum]. Errors: mismatch on all ranks where what one
/// rank sends is not what the other expects.
struct all_to_all_v_fn {
  template <transport C, executor E, any_view In, vector_view Sent, writable_view Out, vector_view Received>
  HEDDLE_FN void operator()(C& comm, E& exec, In const& in, Sent const& send_counts, Out const& out,
                            Received const& receive_counts, collective_options const& options = {}) const {
    using T = typename Out::value_type;
    static_assert(std::is_same_v<T, typename In::value_type>, "input and output have one element type");
    detail::copy_work w = detail::make_copy<T>(traffic::all_to_all, 0, -1, comm.size());
    detail::set_counts(w, send_counts, comm.size());
    w.post.receive_counts = receive_counts.data();
    w.require(receive_counts.is_contiguous() && receive_counts.size() == comm.size(), "one count per rank",
              receive_counts.size(), comm.size());
    detail::set_input(w, in);
    detail::set_output(w, out);
    w.require(!detail::overlap(w.post.in, w.post.in_bytes, w.post.out, w.post.out_bytes), "there is no form in place");
    detail::submit_collective(comm, exec, w, options);
  }
};
inline constexpr all_to_all_v_fn all_to_all_v{};

}  // namespace heddle
