// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/comm/detail/submit.hpp>

/// @file
/// Collectives with arithmetic, in the order T(p): bits depend on p, the inputs and the operation, and on nothing else.
/// Submission, errors and sync are those of exchanges.hpp. A user's operation that throws ends the call on its rank
/// with its exception and on the others with errc::peer_failed.
///
/// Types: 16-bit floats accumulate in fp32 and round once; integers wrap. Numerics: a NaN result is the canonical
/// quiet NaN where p >= 2; with one rank the input is the result, bit for bit; error bound ceil(log2 p) u of plus.
/// In place where input and output are the same memory.

namespace heddle {
namespace detail {

template <class In, class T, class Op>
HEDDLE_FN auto make_reduce(traffic kind, index_t n, int root, int ranks, Op const& op) {
  static_assert(reduction_for<Op, T>, "the operation must combine accumulators of this element");
  using operation = reduction_operation_t<Op>;
  reduce_work<In, T, reduction_accumulator_t<Op, T>, operation> w(reduction_operation(op), reduce_shape{n, 0, false});
  w.post.call = make_call<T>(kind, n, root);
  set_operation(w.post.call, op);
  if (kind == traffic::reduce_to_root) w.require(root >= 0 && root < ranks, "the root must be a rank", root, ranks);
  return w;
}
}  // namespace detail

/// Reduces over all ranks, the result on every rank.
/// Shapes: in [n], out [n], contiguous. Complexity: over messages recursive doubling up to 4 KiB of accumulators, else
/// direct reduce-scatter and pairwise all-gather: sent w (n - b_r) + w b_r (p - 1).
struct all_reduce_fn {
  template <transport C, executor E, any_view In, writable_view Out, class Op = plus<>>
  HEDDLE_FN void operator()(C& comm, E& exec, In const& in, Out const& out, Op const& op = {},
                            collective_options const& options = {}) const {
    using T = typename Out::value_type;
    static_assert(std::is_same_v<T, typename In::value_type>, "input and output have one element type");
    auto w = detail::make_reduce<T, T>(traffic::all_reduce, in.size(), -1, comm.size(), op);
    detail::set_input(w, in);
    detail::set_output(w, out);
    w.require(in.size() == out.size(), "input and output have one size", in.size(), out.size());
    detail::check_aliasing(w, 0, 0);
    detail::submit_collective(comm, exec, w, options);
  }
};
inline constexpr all_reduce_fn all_reduce{};

/// Reduces over all ranks, the result on the root.
/// Shapes: in [n]; out [n] on the root, not looked at elsewhere. Complexity: binomial: every rank but the root sends
/// n accumulators once.
struct reduce_to_root_fn {
  template <transport C, executor E, any_view In, writable_view Out, class Op = plus<>>
  HEDDLE_FN void operator()(C& comm, E& exec, In const& in, Out const& out, int root, Op const& op = {},
                            collective_options const& options = {}) const {
    using T = typename Out::value_type;
    static_assert(std::is_same_v<T, typename In::value_type>, "input and output have one element type");
    auto w = detail::make_reduce<T, T>(traffic::reduce_to_root, in.size(), root, comm.size(), op);
    detail::set_input(w, in);
    if (comm.rank() == root) {
      detail::set_output(w, out);
      w.require(in.size() == out.size(), "input and output have one size", in.size(), out.size());
      detail::check_aliasing(w, 0, 0);
    }
    detail::submit_collective(comm, exec, w, options);
  }
};
inline constexpr reduce_to_root_fn reduce_to_root{};

/// Reduces over all ranks; each keeps its block of the balanced partition.
/// Shapes: in [n]; out [b_r]. In place where `out` is block r of `in`. Complexity: sent w (n - b_r).
struct reduce_scatter_fn {
  template <transport C, executor E, any_view In, writable_view Out, class Op = plus<>>
  HEDDLE_FN void operator()(C& comm, E& exec, In const& in, Out const& out, Op const& op = {},
                            collective_options const& options = {}) const {
    using T = typename Out::value_type;
    static_assert(std::is_same_v<T, typename In::value_type>, "input and output have one element type");
    auto w = detail::make_reduce<T, T>(traffic::reduce_scatter, in.size(), -1, comm.size(), op);
    detail::set_input(w, in);
    detail::set_output(w, out);
    part const mine = balanced_part(in.size(), comm.size(), comm.rank());
    w.require(out.size() == mine.size, "the output must be this rank's block of the input", out.size(), mine.size);
    detail::check_aliasing(w, 0, mine.offset * static_cast<index_t>(sizeof(T)));
    detail::submit_collective(comm, exec, w, options);
  }
};
inline constexpr reduce_scatter_fn reduce_scatter{};

/// `reduce_scatter` with blocks of any sizes, the same `counts` on all ranks, read when the work runs.
struct reduce_scatter_v_fn {
  template <transport C, executor E, any_view In, writable_view Out, vector_view Counts, class Op = plus<>>
  HEDDLE_FN void operator()(C& comm, E& exec, In const& in, Out const& out, Counts const& counts, Op const& op = {},
                            collective_options const& options = {}) const {
    using T = typename Out::value_type;
    static_assert(std::is_same_v<T, typename In::value_type>, "input and output have one element type");
    auto w = detail::make_reduce<T, T>(traffic::reduce_scatter, in.size(), -1, comm.size(), op);
    detail::set_counts(w, counts, comm.size());
    detail::set_input(w, in);
    detail::set_output(w, out);
    detail::submit_collective(comm, exec, w, options);
  }
};
inline constexpr reduce_scatter_v_fn reduce_scatter_v{};

}  // namespace heddle
