// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/scalar.hpp>
#include <heddle/core/tensor_view.hpp>
#include <heddle/exec/executor.hpp>
#include <heddle/linalg/detail/overlap.hpp>
#include <heddle/linalg/epilogue.hpp>

namespace heddle {

/// Factors of a matrix product: c = alpha a b + beta c.
struct matmul_options {
  double alpha = 1;
  double beta = 0;  ///< 0: c is never read
};

/// Element types that a product accepts: equal inputs; the output has the accumulator's type or the inputs'.
template <class A, class B, class C>
concept matmul_elements = std::same_as<typename A::value_type, typename B::value_type> && writable_view<C> &&
    std::floating_point<accumulator_t<typename A::value_type>> &&
    (std::same_as<typename C::value_type, accumulator_t<typename A::value_type>> ||
     std::same_as<typename C::value_type, typename A::value_type>);

/// Matrix product c = epilogue(alpha a b + beta c), one matrix or a batch.
///
/// Shapes: a [m, k], b [k, n], c [m, n], or with a leading batch extent on all three; all strides are free, so a
/// transposed operand is a transposed view, and a batch stride of 0 repeats a matrix. Zero sizes are legal: k = 0
/// gives epilogue(beta c).
/// Types: float, double, or bf16 and fp16 inputs accumulated in float; c has the inputs' or the accumulator's type.
/// Pre: extents agree; c overlaps neither a nor b nor itself (refused where extents and strides show it).
/// Errors: contract_error.
/// Complexity: 2 m n k flops.
/// Sync: submits to `exec`; does not block where work is queued.
/// Determinism: each element is one chain of fused multiply-adds, k ascending from +0, cut at multiples of 4096;
/// the pieces are combined along the canonical tree. Same bits for any executor of a backend family.
/// Memory: scratch as the tuned form needs; nothing is allocated once the arena has grown.
/// Numerics: |error| <= g(k) (|a| |b|), g(k) = k u / (1 - k u); alpha and beta are rounded to the accumulator type.
struct matmul_fn {
  template <executor E, any_view A, any_view B, any_view C, class Epilogue = no_epilogue>
    requires((A::rank() == 2 || A::rank() == 3) && B::rank() == A::rank() && C::rank() == A::rank() &&
             matmul_elements<A, B, C>)
  HEDDLE_FN void operator()(E& exec, A const& a, B const& b, C const& c, matmul_options const& options = {},
                            Epilogue const& epilogue = {}) const {
    constexpr std::size_t rows = A::rank() - 2, columns = A::rank() - 1;
    static_assert(can_agree<A, C>(rows, rows), "matmul: a and c must have the same rows");
    static_assert(can_agree<B, C>(columns, columns), "matmul: b and c must have the same columns");
    static_assert(can_agree<A, B>(columns, rows), "matmul: the columns of a must be the rows of b");
    constexpr bool fits = matmul_epilogue<Epilogue, accumulator_t<typename A::value_type>>;
    static_assert(fits,
                  "an epilogue takes numbers and vectors: write "
                  "[](auto const& v, index_t row, index_t col, index_t n) HEDDLE_LAMBDA");
    if constexpr (!fits) {
      return;
    } else if constexpr (A::rank() == 2) {
      (*this)(exec, as_batch(a), as_batch(b), as_batch(c), options, epilogue);
    } else {
      HEDDLE_EXPECTS(a.extent(0) == c.extent(0) && b.extent(0) == c.extent(0), "matmul: batch extents must agree",
                     a.extent(0), b.extent(0), c.extent(0));
      HEDDLE_EXPECTS(a.extent(1) == c.extent(1), "matmul: a and c must have the same rows", a.extent(1), c.extent(1));
      HEDDLE_EXPECTS(b.extent(2) == c.extent(2), "matmul: b and c must have the same columns", b.extent(2),
                     c.extent(2));
      HEDDLE_EXPECTS(a.extent(2) == b.extent(1), "matmul: the columns of a must be the rows of b", a.extent(2),
                     b.extent(1));
      check_overlap(a, b, c);
      observed_span<E> const scope(exec, [&] { return span_of(a, b, c); });
      if (c.size() != 0)
        run_kernel<matmul_fn>(exec, canonical_input(a), canonical_input(b), canonical(c), options, epilogue);
    }
  }

 private:
  template <matrix_view V>
  static HEDDLE_FN auto as_batch(V const& v) {
    return view<typename V::element_type, 3, typename V::space>(v.data(), dims<3>(1, v.extent(0), v.extent(1)), 0,
                                                                v.stride(0), v.stride(1));
  }
  template <class A, class B, class C>
  static HEDDLE_FN void check_overlap(A const& a, B const& b, C const& c) {
    HEDDLE_EXPECTS(!linalg::detail::surely_overlap(a, c) && !linalg::detail::surely_overlap(b, c),
                   "matmul: c must not overlap a or b");
    HEDDLE_EXPECTS(c.has_distinct_elements(), "matmul: no element of c may stand twice", c.stride(0), c.stride(1),
                   c.stride(2));
  }
  template <class A, class B, class C>
  static HEDDLE_FN span span_of(A const& a, B const& b, C const& c) {
    return {.operation = "matmul",
            .shape = {c.extent(0), c.extent(1), c.extent(2), a.extent(2)},
            .bytes = element_bytes(a, b, c),
            .flops = 2 * c.size() * a.extent(2)};
  }
};
inline constexpr matmul_fn matmul{};

}  // namespace heddle
