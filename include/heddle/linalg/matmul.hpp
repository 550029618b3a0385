// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/exec/context.hpp>
#include <heddle/exec/executor.hpp>
#include <heddle/linalg/detail/chains.hpp>
#include <heddle/linalg/detail/overlap.hpp>
#include <heddle/linalg/epilogue.hpp>
#include <heddle/linalg/product_types.hpp>

namespace heddle {

/// Factors of a matrix product, c = alpha a b + beta c, and the order of its sums.
struct matmul_options {
  double alpha = 1;
  double beta = 0;      ///< 0: c is never read
  bool strict = false;  ///< bf16: widened, one fused multiply-add per step, subnormals kept; at the speed of float
  order_policy order = order_policy::repeatable;
  /// For order_policy::elastic: chains of one element, a power of two. A product over a share of k takes its share of
  /// the leaves: with d ranks leaves / d each, and the ranks' results added along T(d) have the bits of the whole.
  index_t leaves = 8;

  /// The chains of a sum over k. Errors: contract_error where `leaves` is no power of two up to 64.
  HEDDLE_FN linalg::detail::chain_cuts cuts(index_t k) const {
    if (order != order_policy::elastic) return {k, order == order_policy::relaxed ? 1 : 0};
    HEDDLE_EXPECTS(leaves >= 1 && leaves <= 64 && (leaves & (leaves - 1)) == 0,
                   "the leaves of an elastic product are a power of two up to 64", leaves);
    return {k, leaves};
  }
};

/// Views whose element types multiply.
template <class A, class B, class C>
concept matmul_elements = product_types<typename A::value_type, typename B::value_type, typename C::value_type> &&
                          writable_view<C>;

/// The same with narrow results too.
template <class A, class B, class C>
concept matmul_results = product_results<typename A::value_type, typename B::value_type, typename C::value_type> &&
                         writable_view<C>;

/// A b [k, n] that is no view: packed (packed_operand.hpp), or in codes with scales (block_int4.hpp).
/// Valid: `B::operand_type`, `b.extent(d)`, `b.bytes()`.
template <class B>
concept encoded_matrix = !any_view<B> && requires(B const& b) {
  typename B::operand_type;
  { b.extent(0) } -> std::convertible_to<index_t>;
  { b.bytes() } -> std::convertible_to<index_t>;
};

/// Matrix product c = epilogue(alpha a b + beta c), one matrix or a batch.
///
/// Shapes: a [m, k], b [k, n], c [m, n], or with a leading batch extent on all three; all strides are free, so a
/// transposed operand is a transposed view, and a batch stride of 0 repeats a matrix. Zero sizes are legal: k = 0
/// gives epilogue(beta c).
/// Types: float, double, or bf16 and fp16 inputs accumulated in float; c has the inputs' or the accumulator's type.
/// Bytes, a signed or unsigned and b signed: std::int32_t sums, which c has or, as float, the epilogue sees
/// (`epilogue::dequantize`). Float or bf16 times fp8 codes: the product with codes as numbers of a's type. Where sums
/// are float, c may also be bf16, fp16, fp8 or std::int8_t: what the epilogue gives is rounded once, to nearest even;
/// fp8 saturates, bytes do at -127 and 127 and are 0 for NaN (`epilogue::quantise`).
/// Pre: extents agree; alpha and beta are whole where c is of integers; c overlaps neither a nor b nor itself (refused
/// where extents and strides show it).
/// Errors: contract_error.
/// Complexity: 2 m n k flops.
/// Sync: submits to `exec`; does not block where work is queued.
/// Determinism: each element is one chain of fused multiply-adds, k ascending from +0, cut at multiples of 4096;
/// the pieces are combined along the canonical tree. A chain of bf16 goes by pairs of steps, each as `dot_pair` says
/// (zero behind an odd k), unless `options.strict`. Same bits for any executor of a backend family. `options.order`
/// elastic: cut into `leaves` balanced parts instead, so that ranks that share k get the same bits; relaxed: not cut
/// where that is faster.
/// Memory: scratch as the tuned form needs; nothing is allocated once the arena has grown.
/// Numerics: |error| <= g(k) (|a| |b|), g(k) = k u / (1 - k u), and for bf16 k 2^-126 max(1, |a|, |b|) more where
/// subnormal numbers are met; alpha and beta are rounded to the accumulator type.
struct matmul_fn {
  template <executor E, any_view A, any_view B, any_view C, class Epilogue = no_epilogue>
    requires((A::rank() == 2 || A::rank() == 3) && B::rank() == A::rank() && C::rank() == A::rank() &&
             matmul_results<A, B, C>)
  HEDDLE_FN void operator()(E& exec, A const& a, B const& b, C const& c, matmul_options const& options = {},
                            Epilogue const& epilogue = {}) const {
    constexpr std::size_t rows = A::rank() - 2, columns = A::rank() - 1;
    static_assert(can_agree<A, C>(rows, rows), "matmul: a and c must have the same rows");
    static_assert(can_agree<B, C>(columns, columns), "matmul: b and c must have the same columns");
    static_assert(can_agree<A, B>(columns, rows), "matmul: the columns of a must be the rows of b");
    constexpr bool fits = matmul_epilogue<Epilogue, product_number_t<typename A::value_type, typename C::value_type>>;
    static_assert(fits, "an epilogue takes numbers and vectors: write "
                        "[](auto const& v, index_t row, index_t col, index_t n) HEDDLE_LAMBDA");
    if constexpr (!fits) {
      return;
    } else if constexpr (A::rank() == 2) {
      submit(exec, as_batch<typename A::value_type const>(a), as_batch<typename B::value_type const>(b),
             as_batch<typename C::element_type>(c), options, epilogue);
    } else {
      submit(exec, canonical_input(a), canonical_input(b), canonical(c), options, epilogue);
    }
  }

  /// The same with a b that is no view. Errors: also contract_error for a b packed in another form.
  template <executor E, matrix_view A, encoded_matrix B, matrix_view C, class Epilogue = no_epilogue>
    requires(product_results<typename A::value_type, typename B::operand_type, typename C::value_type> &&
             writable_view<C> &&
             matmul_epilogue<Epilogue, product_number_t<typename A::value_type, typename C::value_type>>)
  HEDDLE_FN void operator()(E& exec, A const& a, B const& b, C const& c, matmul_options const& options = {},
                            Epilogue const& epilogue = {}) const {
    HEDDLE_EXPECTS(a.extent(0) == c.extent(0) && b.extent(1) == c.extent(1) && a.extent(1) == b.extent(0),
                   "matmul: a [m, k] times b [k, n] gives c [m, n]", a.extent(0), a.extent(1), b.extent(0), b.extent(1),
                   c.extent(0), c.extent(1));
    auto const rows = as_batch<typename A::value_type const>(a);
    auto const to = as_batch<typename C::element_type>(c);
    HEDDLE_EXPECTS(
        !linalg::detail::surely_overlap(rows, to) && !linalg::detail::surely_overlap(linalg::detail::memory_of(b), to),
        "matmul: c must not overlap a or b");
    HEDDLE_EXPECTS(c.has_distinct_elements(), "matmul: no element of c may stand twice", c.stride(0), c.stride(1));
    check_factors<C>(options);
    linalg::detail::check_epilogue(epilogue, c.extent(0), c.extent(1));
    observed_span<E> const scope(exec, [&] {
      return span{.operation = "matmul",
                  .shape = {1, c.extent(0), c.extent(1), a.extent(1)},
                  .bytes = element_bytes(a, c) + b.bytes(),
                  .flops = saturating_product(saturating_product(2, c.size()), a.extent(1))};
    });
    if (c.size() != 0) run_kernel<matmul_fn>(exec, rows, b, to, options, epilogue);
  }

 private:
  /// A batch, in the views that kernels are instantiated with. They are made once and not copied: a copy of numbers
  /// that were just written waits for them, as long as a register tile of a small product takes.
  template <class E, class A, class B, class C, class Epilogue>
  static HEDDLE_FN void submit(E& exec, A const& a, B const& b, C const& c, matmul_options const& options,
                               Epilogue const& epilogue) {
    HEDDLE_EXPECTS(a.extent(0) == c.extent(0) && b.extent(0) == c.extent(0), "matmul: batch extents must agree",
                   a.extent(0), b.extent(0), c.extent(0));
    HEDDLE_EXPECTS(a.extent(1) == c.extent(1), "matmul: a and c must have the same rows", a.extent(1), c.extent(1));
    HEDDLE_EXPECTS(b.extent(2) == c.extent(2), "matmul: b and c must have the same columns", b.extent(2), c.extent(2));
    HEDDLE_EXPECTS(a.extent(2) == b.extent(1), "matmul: the columns of a must be the rows of b", a.extent(2),
                   b.extent(1));
    check_overlap(a, b, c);
    check_factors<C>(options);
    linalg::detail::check_epilogue(epilogue, c.extent(1), c.extent(2));
    observed_span<E> const scope(exec, [&] { return span_of(a, b, c); });
    if (c.size() != 0) run_kernel<matmul_fn>(exec, a, b, c, options, epilogue);
  }
  template <class C>
  static HEDDLE_FN void check_factors(matmul_options const& options) {
    if constexpr (std::is_same_v<typename C::value_type, std::int32_t>) {
      auto const whole = [](double x) { return x >= -0x1p31 && x < 0x1p31 && x == static_cast<std::int32_t>(x); };
      HEDDLE_EXPECTS(whole(options.alpha) && whole(options.beta),
                     "matmul: alpha and beta of a product in integers are whole numbers of 32 bits");
    } else if constexpr (floating_scalar<typename C::value_type>) {
      using number = accumulator_t<typename C::value_type>;
      auto const kept = [](double x) {
        return is_finite(static_cast<number>(x)) && (x == 0) == (static_cast<number>(x) == number(0));
      };
      HEDDLE_EXPECTS(kept(options.alpha) && kept(options.beta),
                     "matmul: alpha and beta are finite in the type of the sums, and 0 there only where they are 0",
                     options.alpha, options.beta);
    }
  }
  template <class T, matrix_view V>
  static HEDDLE_FN auto as_batch(V const& v) {
    return view<T, 3, typename V::space>(v.data(), dims<3>(1, v.extent(0), v.extent(1)), 0, v.stride(0), v.stride(1));
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
            .flops = saturating_product(saturating_product(2, c.size()), a.extent(2))};
  }
};
inline constexpr matmul_fn matmul{};

}  // namespace heddle
