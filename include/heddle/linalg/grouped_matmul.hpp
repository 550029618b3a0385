// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/linalg/detail/grouped_programs.hpp>
#include <heddle/linalg/matmul.hpp>

/// @file
/// Matrix products of many groups of rows at once, each with a matrix of its own: experts, adapters, sequences. The
/// groups lie one after the other and are cut by offsets that stay on the device: they are read when the work runs.
///
/// The three roles of a layer y = x w: forward `grouped_matmul(exec, x, w, offsets, y)`, gradient of the input
/// `grouped_matmul(exec, dy, transpose(w), offsets, dx)`, gradient of the weights
/// `grouped_matmul_weight(exec, x, dy, offsets, dw)`.

namespace heddle {

/// Offsets of groups: a vector of index_t.
template <class V>
concept group_offsets = vector_view<V> && std::same_as<typename V::value_type, index_t>;

/// Views whose elements grouped products take: one floating type in, it or its accumulator's out.
template <class A, class B, class C>
concept grouped_elements =
    matmul_elements<A, B, C> && std::same_as<typename A::value_type, typename B::value_type> &&
    floating_scalar<typename A::value_type> && sizeof(typename A::value_type) > 1;

namespace linalg::detail {
/// What both operations want of offsets and of where c lies.
template <class A, class B, class C>
HEDDLE_FN void check_grouped(index_t offsets, index_t groups, A const& a, B const& b, C const& c) {
  HEDDLE_EXPECTS(offsets == groups + 1, "grouped_matmul: n groups have n + 1 offsets", offsets, groups);
  HEDDLE_EXPECTS(!surely_overlap(a, c) && !surely_overlap(b, c),
                 "grouped_matmul: c must not overlap an input");
  HEDDLE_EXPECTS(c.has_distinct_elements(), "grouped_matmul: no element of c may stand twice");
}
}  // namespace linalg::detail

/// Rows of a times the matrix of their group: c[r] = epilogue(alpha a[r] b[e] + beta c[r]) for r in group e.
///
/// Shapes: a [rows, k], b [groups, k, n], offsets [groups + 1], c [rows, n]; all strides free. Group e has the rows
/// [offsets[e], offsets[e + 1]), which may be none.
/// Types: float, double, or bf16 and fp16 accumulated in float; c has the inputs' or the accumulator's type; offsets
/// are index_t.
/// Pre: extents agree; offsets start at 0, ascend and stay within the rows; c overlaps neither a nor b nor itself.
/// Post: rows behind the last offset are 0, whatever beta and the epilogue; of a and b nothing is read for them, nor
/// the matrix of a group without rows.
/// Errors: contract_error; for offsets where the work runs.
/// Complexity: 2 offsets[groups] k n flops; tiles of all groups are dealt out evenly, in one list.
/// Sync: submits to `exec`; does not block where work is queued.
/// Determinism: the bits of `matmul` on each group, with the row of c in the epilogue; of bf16 the bits of
/// `matmul_options{.strict = true}`: there are no groups by pairs.
/// Memory: scratch by shapes, whatever the offsets. Numerics: as matmul.
struct grouped_matmul_fn {
  template <executor E, matrix_view A, any_view B, group_offsets O, matrix_view C, class Epilogue = no_epilogue>
    requires(B::rank() == 3 && grouped_elements<A, B, C> &&
             matmul_epilogue<Epilogue, accumulator_t<typename A::value_type>>)
  HEDDLE_FN void operator()(E& exec, A const& a, B const& b, O const& offsets, C const& c,
                            matmul_options const& options = {}, Epilogue const& epilogue = {}) const {
    HEDDLE_EXPECTS(a.extent(0) == c.extent(0), "grouped_matmul: a and c must have the same rows", a.extent(0),
                   c.extent(0));
    HEDDLE_EXPECTS(b.extent(2) == c.extent(1), "grouped_matmul: b and c must have the same columns", b.extent(2),
                   c.extent(1));
    HEDDLE_EXPECTS(a.extent(1) == b.extent(1), "grouped_matmul: the columns of a must be the rows of b", a.extent(1),
                   b.extent(1));
    linalg::detail::check_grouped(offsets.extent(0), b.extent(0), a, b, c);
    linalg::detail::check_epilogue(epilogue, c.extent(0), c.extent(1));
    observed_span<E> const scope(exec, [&]() -> span {
      return {.operation = "grouped_matmul",
              .shape = {b.extent(0), c.extent(0), c.extent(1), a.extent(1)},
              .bytes = element_bytes(a, b, c, offsets),
              .flops = 2 * c.size() * a.extent(1)};
    });
    if (c.size() != 0)
      run_kernel<grouped_matmul_fn>(exec, canonical_input(a), canonical_input(b), canonical_input(offsets),
                                    canonical(c), options, epilogue);
  }

  /// For run_kernel: on a backend without a form of its own.
  template <class E, class A, class B, class O, class C, class Epilogue>
  static HEDDLE_FN void generic(E& exec, A const& a, B const& b, O const& offsets, C const& c,
                                matmul_options const& options, Epilogue const& epilogue) {
    namespace d = linalg::detail;
    using x = typename A::value_type;
    using number = accumulator_t<x>;
    d::product_factors<number> const factors{static_cast<number>(options.alpha), static_cast<number>(options.beta)};
    d::row_groups const groups(offsets, c.extent(0));
    scratch_frame<E> frame(exec);
    // With alpha 0 nothing of a and b may be read: the product of no columns.
    d::grouped_sums_program<x, x, number> sums{groups, a, b, nullptr,
                                               options.cuts(factors.alpha == number(0) ? 0 : a.extent(1))};
    sums.sums = frame.template take<number>(checked_product(sums.cuts.count(), c.size()));
    tile::run(exec, sums);
    tile::run(exec, d::grouped_store_program<number, typename C::element_type, Epilogue>{
                        groups, sums.sums, sums.cuts.count(), c, factors, epilogue});
  }
};

/// The gradient of the matrices: c[e] = alpha a[rows of e]^T b[rows of e] + beta c[e].
///
/// Shapes: a [rows, k], b [rows, n], offsets [groups + 1], c [groups, k, n]; all strides free.
/// Types: float, double, or bf16 and fp16 accumulated in float; c has the inputs' or the accumulator's type; offsets
/// are index_t.
/// Pre: extents agree; offsets start at 0, ascend and stay within the rows; c overlaps neither a nor b nor itself.
/// Post: a group without rows has beta c[e], which is 0 for beta = 0. Rows behind the last offset are not read.
/// Errors: contract_error; for offsets where the work runs.
/// Complexity: 2 offsets[groups] k n flops and groups k n elements written, dealt out evenly, in one list.
/// Sync: submits to `exec`; does not block where work is queued.
/// Determinism: the bits of `matmul` on each group, of bf16 those of its strict form.
/// Memory: scratch by shapes, whatever the offsets. Numerics: as matmul, with the rows of a group for k.
struct grouped_matmul_weight_fn {
  template <executor E, matrix_view A, matrix_view B, group_offsets O, any_view C>
    requires(C::rank() == 3 && grouped_elements<A, B, C>)
  HEDDLE_FN void operator()(E& exec, A const& a, B const& b, O const& offsets, C const& c,
                            matmul_options const& options = {}) const {
    HEDDLE_EXPECTS(a.extent(0) == b.extent(0), "grouped_matmul_weight: a and b must have the same rows", a.extent(0),
                   b.extent(0));
    HEDDLE_EXPECTS(a.extent(1) == c.extent(1) && b.extent(1) == c.extent(2),
                   "grouped_matmul_weight: c has the columns of a and of b", a.extent(1), b.extent(1), c.extent(1),
                   c.extent(2));
    linalg::detail::check_grouped(offsets.extent(0), c.extent(0), a, b, c);
    observed_span<E> const scope(exec, [&]() -> span {
      return {.operation = "grouped_matmul_weight",
              .shape = {c.extent(0), c.extent(1), c.extent(2), a.extent(0)},
              .bytes = element_bytes(a, b, c, offsets),
              .flops = 2 * a.extent(0) * c.extent(1) * c.extent(2)};
    });
    if (c.size() != 0)
      run_kernel<grouped_matmul_weight_fn>(exec, canonical_input(a), canonical_input(b), canonical_input(offsets),
                                           canonical(c), options);
  }

  /// For run_kernel: on a backend without a form of its own.
  template <class E, class A, class B, class O, class C>
  static HEDDLE_FN void generic(E& exec, A const& a, B const& b, O const& offsets, C const& c,
                                matmul_options const& options) {
    namespace d = linalg::detail;
    using x = typename A::value_type;
    using number = accumulator_t<x>;
    d::product_factors<number> const factors{static_cast<number>(options.alpha), static_cast<number>(options.beta)};
    d::group_pieces const pieces{d::row_groups(offsets, a.extent(0)), options.cuts(a.extent(0)).leaves};
    scratch_frame<E> frame(exec);
    number* const sums =
        frame.template take<number>(checked_product(pieces.slots(), checked_product(c.extent(1), c.extent(2))));
    if (factors.alpha != number(0)) tile::run(exec, d::grouped_weight_sums_program<x, x, number>{pieces, a, b, sums});
    tile::run(exec, d::grouped_weight_store_program<number, typename C::element_type>{pieces, sums, c, factors});
  }
};

inline constexpr grouped_matmul_fn grouped_matmul{};
inline constexpr grouped_matmul_weight_fn grouped_matmul_weight{};

}  // namespace heddle
