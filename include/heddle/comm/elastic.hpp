// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/comm/detail/submit.hpp>

/// @file
/// Reductions whose bits do not depend on the number of ranks: V leaves stand in fixed places (global microbatches),
/// rank r holds the leaves of the balanced partition of V in p, and hands in the maximal nodes of T(V) inside its
/// range, as `tree_pieces` lists them and `tree_accumulate` leaves them. The result is T(V), whatever p is.
///
/// Submission, errors and sync are those of exchanges.hpp. More ranks than leaves are legal: some hold none.

namespace heddle {

/// How many pieces a rank hands in.
/// Pre: leaves >= 1, 0 <= rank < ranks.
HEDDLE_FN constexpr index_t elastic_pieces(index_t leaves, int ranks, int rank) {
  part const own = balanced_part(leaves, ranks, rank);
  return tree_piece_count(leaves, own.offset, own.end());
}

namespace detail {

template <class In, class T, class C, class V, class Op>
HEDDLE_FN auto make_elastic(traffic kind, C& comm, V const& pieces, index_t leaves, Op const& op) {
  using accumulator = reduction_accumulator_t<Op, T>;
  static_assert(reduction_for<Op, T>, "the operation must combine accumulators of this element");
  static_assert(std::is_same_v<In, accumulator>, "pieces are partial results: they have the type of the accumulator");
  reduce_work<In, T, accumulator, reduction_operation_t<Op>> w(reduction_operation(op),
                                                               reduce_shape{pieces.extent(1), leaves, false});
  w.post.call = make_call<T>(kind, pieces.extent(1));
  set_operation(w.post.call, op);
  w.post.call.leaves = leaves;
  if (leaves < 1 || leaves > max_leaves) {
    w.fail("an elastic reduction has 1 to 2^20 leaves", leaves);
    return w;
  }
  index_t const count = elastic_pieces(leaves, comm.size(), comm.rank());
  w.require(pieces.extent(0) == count, "the rows must be the pieces of this rank's leaves", pieces.extent(0), count);
  w.require(pieces.extent(1) <= 1 || pieces.stride(1) == 1, "the elements of a piece must be contiguous");
  index_t const stride = pieces.stride(0), n = pieces.extent(1);
  w.require(count <= 1 || stride >= n, "pieces must not overlap", stride, n);
  w.post.in = pieces.data();
  w.post.in_stride = stride * static_cast<index_t>(sizeof(In));
  if (count > 0) w.post.in_bytes = static_cast<std::size_t>((count - 1) * stride + n) * sizeof(In);
  return w;
}

/// In place: the output may be the same elements of the first piece.
template <class T, class Work>
HEDDLE_FN void check_elastic_aliasing(Work& w, index_t offset) noexcept {
  posting const& p = w.post;
  if (!overlap(p.in, p.in_bytes, p.out, p.out_bytes)) return;
  bool const same = static_cast<T const*>(p.in) + offset == static_cast<T const*>(p.out);
  bool const one_type = requires { requires std::is_same_v<Work, reduce_work<T, T, T, decltype(w.op)>>; };
  w.require(same && one_type, "input and output may coincide only exactly in place");
}
}  // namespace detail

/// Reduces pieces over all ranks along T(V), the result on every rank.
///
/// Shapes: pieces [c_r, n], rows with free stride, c_r = elastic_pieces(V, p, r); out [n], which may be the first
/// piece where this rank has one. Types: pieces have the type of the accumulator (fp32 for 16-bit floats); the result
/// is rounded once; `mean` divides by V. Determinism: bits depend on V, the leaves and the operation, not on p.
/// Complexity: over messages sent c_r w_acc (n - b_r) + w b_r (p - 1).
struct elastic_all_reduce_fn {
  template <transport C, executor E, matrix_view In, writable_view Out, class Op = plus<>>
  HEDDLE_FN void operator()(C& comm, E& exec, In const& pieces, Out const& out, index_t leaves, Op const& op = {},
                            collective_options const& options = {}) const {
    using T = typename Out::value_type;
    auto w = detail::make_elastic<typename In::value_type, T>(traffic::all_reduce, comm, pieces, leaves, op);
    detail::set_output(w, out);
    w.require(out.size() == pieces.extent(1), "the output has the size of a piece", out.size(), pieces.extent(1));
    detail::check_elastic_aliasing<T>(w, 0);
    detail::submit_collective(comm, exec, w, options);
  }
};
inline constexpr elastic_all_reduce_fn elastic_all_reduce{};

/// `elastic_all_reduce` that leaves each rank its block of the balanced partition of n in p.
/// Shapes: out [b_r]; it may be that block of the first piece. Complexity: over messages sent c_r w_acc (n - b_r).
struct elastic_reduce_scatter_fn {
  template <transport C, executor E, matrix_view In, writable_view Out, class Op = plus<>>
  HEDDLE_FN void operator()(C& comm, E& exec, In const& pieces, Out const& out, index_t leaves, Op const& op = {},
                            collective_options const& options = {}) const {
    using T = typename Out::value_type;
    auto w = detail::make_elastic<typename In::value_type, T>(traffic::reduce_scatter, comm, pieces, leaves, op);
    detail::set_output(w, out);
    part const mine = balanced_part(pieces.extent(1), comm.size(), comm.rank());
    w.require(out.size() == mine.size, "the output must be this rank's block of a piece", out.size(), mine.size);
    detail::check_elastic_aliasing<T>(w, mine.offset);
    detail::submit_collective(comm, exec, w, options);
  }
};
inline constexpr elastic_reduce_scatter_fn elastic_reduce_scatter{};

}  // namespace heddle
