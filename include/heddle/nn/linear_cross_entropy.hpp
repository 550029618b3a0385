// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/linalg/matmul.hpp>
#include <heddle/nn/cross_entropy.hpp>

namespace heddle {
namespace nn {

/// What the loss counts, and how much of the logits exists at once.
struct linear_cross_entropy_options {
  cross_entropy_options loss = {};
  index_t logits_bytes =
      index_t{64} << 20;  ///< most scratch for logits; `linear_cross_entropy_rows` says what it gives
};

/// Rows whose logits exist at once: as many as `limit` bytes hold, in multiples of 32, at least 32, at most all.
/// Units: elements of `element_bytes`, bytes.
HEDDLE_FN index_t linear_cross_entropy_rows(index_t rows, index_t vocabulary, index_t element_bytes, index_t limit) {
  index_t const one = checked_product(vocabulary < 1 ? index_t{1} : vocabulary, element_bytes), step = 32;
  index_t const fit = limit / one / step * step, most = fit < step ? step : fit;
  return most < rows ? most : rows;
}

namespace detail {

/// Stands for a result that is not asked for.
struct not_wanted {};

template <class V>
inline constexpr bool is_wanted = !std::is_same_v<V, not_wanted>;

template <class X, class W, class L>
HEDDLE_FN void check_linear_cross_entropy(X const& x, W const& w, view<std::int32_t const, 1> const& targets,
                                          L const& lse) {
  HEDDLE_EXPECTS(x.extent(1) == w.extent(1), "linear_cross_entropy: x and w have the same columns", x.extent(1),
                 w.extent(1));
  HEDDLE_EXPECTS(targets.extent(0) == x.extent(0) && lse.extent(0) == x.extent(0),
                 "linear_cross_entropy: one target and lse per row", x.extent(0), targets.extent(0), lse.extent(0));
}

/// Rows of padding in dw: what a product of no columns gives.
template <class E, class X, class DW>
HEDDLE_FN void clear_padding(E& exec, X const& x, DW const& dw, index_t classes) {
  if (classes == dw.extent(0)) return;
  auto const no_rows = slice(x, 0, 0, 0);
  auto const no_logits = view<typename X::value_type const, 2>(x.data(), dims<2>(dw.extent(0) - classes, 0));
  matmul(exec, no_logits, no_rows, slice(dw, 0, classes, dw.extent(0)));
}

/// All rows, some at a time: logits; loss and lse where a loss is wanted; then their gradient in their place, and from
/// that dx, dw or both.
template <class E, class X, class W, class Loss, class L, class Scale, class DX, class DW>
HEDDLE_FN void linear_cross_entropy_pass(E& exec, char const* operation, X const& x, W const& w,
                                         view<std::int32_t const, 1> const& targets, Loss const& loss, L const& lse,
                                         Scale const& scale, DX const& dx, DW const& dw,
                                         linear_cross_entropy_options const& o) {
  using T = typename X::value_type;
  index_t const rows = x.extent(0), vocabulary = w.extent(0);
  index_t const classes = cross_entropy_fn::classes<typename L::value_type>(transpose(w), o.loss);
  index_t const step = linear_cross_entropy_rows(rows, vocabulary, sizeof(T), o.logits_bytes);
  auto const real = slice(w, 0, 0, classes);
  cross_entropy_options inner = o.loss;
  inner.classes = 0;
  if constexpr (is_wanted<DW>) clear_padding(exec, x, dw, classes);
  scratch_frame<E> frame(exec);
  T* const memory = frame.template take<T>(checked_product(step, vocabulary));
  // The products and losses inside say what they move.
  observed_span<E> const scope(exec, [&] {
    return span{.operation = operation, .shape = {rows, classes, x.extent(1)}};
  });
  for (index_t at = 0; at == 0 || at < rows; at += step) {
    index_t const end = rows - at < step ? rows : at + step;
    auto const some = slice(x, 0, at, end);
    auto const aims = slice(targets, 0, at, end);
    // Rows of the whole vocabulary, so that padding keeps them aligned.
    view<T, 2> const logits(memory, dims<2>(end - at, classes), vocabulary, 1);
    matmul(exec, some, transpose(real), logits);
    if constexpr (is_wanted<Loss>)
      cross_entropy(exec, logits, aims, slice(loss, 0, at, end), slice(lse, 0, at, end), inner);
    if constexpr (is_wanted<DX> || is_wanted<DW>)
      cross_entropy_backward(exec, logits, aims, slice(lse, 0, at, end), scale, logits, inner);
    if constexpr (is_wanted<DX>) matmul(exec, logits, real, slice(dx, 0, at, end));
    if constexpr (is_wanted<DW>)
      matmul(exec, transpose(logits), some, slice(dw, 0, 0, classes), {1, at == 0 ? 0.0 : 1.0});
    if (step == 0) break;
  }
}

}  // namespace detail

/// Cross entropy of logits = x wᵀ, of which only some rows exist at a time.
///
/// Shapes: x [rows, in], w [vocabulary, in], targets, loss, lse [rows]. Types: as matmul and cross_entropy; logits are
/// rounded to x's type, as a linear layer stores them. Pre, Errors: as cross_entropy; of w only the first
/// `options.loss.classes` rows are read. Sync: submits. Determinism, Numerics: loss and lse have the bits of matmul and
/// then cross_entropy. Complexity: one product. Memory: scratch for
/// `linear_cross_entropy_rows(rows, vocabulary, sizeof(T), options.logits_bytes)` rows of the vocabulary, and what
/// matmul takes.
struct linear_cross_entropy_fn {
  template <executor E, matrix_view X, matrix_view W, vector_view S>
  requires writable_view<S> HEDDLE_FN void operator()(E& exec, X const& x, W const& w,
                                                      view<std::int32_t const, 1> const& targets, S const& loss,
                                                      S const& lse, linear_cross_entropy_options const& o = {}) const {
    detail::check_linear_cross_entropy(x, w, targets, lse);
    HEDDLE_EXPECTS(loss.extent(0) == x.extent(0), "linear_cross_entropy: one loss per row", loss.extent(0));
    expect_apart("linear_cross_entropy", loss, x, w, targets, lse);
    expect_apart("linear_cross_entropy", lse, x, w, targets);
    if (x.extent(0) == 0) return;
    constexpr detail::not_wanted none;
    detail::linear_cross_entropy_pass(exec, "linear_cross_entropy", x, w, targets, loss, lse, none, none, none, o);
  }
};
inline constexpr linear_cross_entropy_fn linear_cross_entropy{};

/// The gradient of *scale times the sum of losses, from logits that are made again: for x, for w, or (the last form)
/// for both.
///
/// Shapes: as linear_cross_entropy; lse as it wrote it; scale [1], read when the work runs; dx as x, dw as w. Types: dx
/// x's or the accumulator's type, and so dw. Post: rows of dw beyond the classes are 0. Complexity: two products for
/// one of them, three for both. Sync: submits. Determinism: the same bits everywhere for one number of rows at once;
/// dx has the bits of the three operations, dw where all rows exist at once; else its parts are added in the order of
/// rows. Memory: as linear_cross_entropy.
struct linear_cross_entropy_backward_fn {
  template <executor E, matrix_view X, matrix_view W, vector_view S, vector_view F, matrix_view DX, matrix_view DW>
    requires(writable_view<DX>&& writable_view<DW>)
  HEDDLE_FN void operator()(E& exec, X const& x, W const& w, view<std::int32_t const, 1> const& targets, S const& lse,
                            F const& scale, DX const& dx, DW const& dw,
                            linear_cross_entropy_options const& o = {}) const {
    check(x, w, targets, lse, scale, dx, dw);
    apart(x, w, targets, lse, scale, dx, dw);
    apart(x, w, targets, lse, scale, dw);
    detail::linear_cross_entropy_pass(exec, "linear_cross_entropy_backward", x, w, targets, detail::not_wanted{}, lse,
                                      scale, dx, dw, o);
  }
  /// Only dx.
  template <executor E, matrix_view X, matrix_view W, vector_view S, vector_view F, matrix_view DX>
  requires writable_view<DX> HEDDLE_FN void input(E& exec, X const& x, W const& w,
                                                  view<std::int32_t const, 1> const& targets, S const& lse,
                                                  F const& scale, DX const& dx,
                                                  linear_cross_entropy_options const& o = {}) const {
    check(x, w, targets, lse, scale, dx, w);
    apart(x, w, targets, lse, scale, dx);
    if (x.extent(0) == 0) return;
    detail::linear_cross_entropy_pass(exec, "linear_cross_entropy_backward.input", x, w, targets, detail::not_wanted{},
                                      lse, scale, dx, detail::not_wanted{}, o);
  }
  /// Only dw.
  template <executor E, matrix_view X, matrix_view W, vector_view S, vector_view F, matrix_view DW>
  requires writable_view<DW> HEDDLE_FN void weight(E& exec, X const& x, W const& w,
                                                   view<std::int32_t const, 1> const& targets, S const& lse,
                                                   F const& scale, DW const& dw,
                                                   linear_cross_entropy_options const& o = {}) const {
    check(x, w, targets, lse, scale, x, dw);
    apart(x, w, targets, lse, scale, dw);
    detail::linear_cross_entropy_pass(exec, "linear_cross_entropy_backward.weight", x, w, targets, detail::not_wanted{},
                                      lse, scale, detail::not_wanted{}, dw, o);
  }

  template <class X, class W, class S, class F, class DX, class DW>
  static HEDDLE_FN void check(X const& x, W const& w, view<std::int32_t const, 1> const& targets, S const& lse,
                              F const& scale, DX const& dx, DW const& dw) {
    detail::check_linear_cross_entropy(x, w, targets, lse);
    HEDDLE_EXPECTS(scale.extent(0) == 1 && dx.extents() == x.extents() && dw.extents() == w.extents(),
                   "linear_cross_entropy: one scale, dx as x, dw as w", scale.extent(0), dx.extent(0), dw.extent(0));
  }
  /// One output that overlaps neither an input nor another output.
  template <class X, class W, class S, class F, class Out, class... Others>
  static HEDDLE_FN void apart(X const& x, W const& w, view<std::int32_t const, 1> const& targets, S const& lse,
                              F const& scale, Out const& out, Others const&... others) {
    expect_apart("linear_cross_entropy_backward", out, x, w, targets, lse, scale, others...);
  }
};
inline constexpr linear_cross_entropy_backward_fn linear_cross_entropy_backward{};

/// Loss and gradients at once: each row's logits are made once. Shapes, Types, Post, Sync, Determinism, Memory: as the
/// two above. Complexity: three products.
struct linear_cross_entropy_with_gradient_fn {
  template <executor E, matrix_view X, matrix_view W, vector_view S, vector_view F, matrix_view DX, matrix_view DW>
    requires(writable_view<S>&& writable_view<DX>&& writable_view<DW>)
  HEDDLE_FN void operator()(E& exec, X const& x, W const& w, view<std::int32_t const, 1> const& targets, F const& scale,
                            S const& loss, S const& lse, DX const& dx, DW const& dw,
                            linear_cross_entropy_options const& o = {}) const {
    linear_cross_entropy_backward_fn::check(x, w, targets, lse, scale, dx, dw);
    HEDDLE_EXPECTS(loss.extent(0) == x.extent(0), "linear_cross_entropy: one loss per row", loss.extent(0));
    linear_cross_entropy_backward_fn::apart(x, w, targets, lse, scale, dx, dw, loss);
    linear_cross_entropy_backward_fn::apart(x, w, targets, lse, scale, dw, loss);
    linear_cross_entropy_backward_fn::apart(x, w, targets, lse, scale, loss);
    expect_apart("linear_cross_entropy", lse, x, w, targets, scale);
    detail::linear_cross_entropy_pass(exec, "linear_cross_entropy_with_gradient", x, w, targets, loss, lse, scale, dx,
                                      dw, o);
  }
};
inline constexpr linear_cross_entropy_with_gradient_fn linear_cross_entropy_with_gradient{};

}  // namespace nn
}  // namespace heddle
