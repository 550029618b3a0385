// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/nn/layer_norm.hpp>
#include <heddle/nn/quantise.hpp>
#include <heddle/nn/rms_norm.hpp>

/// @file
/// Norms and quantisation of rows whose statistics are known, for example from the product that made them
/// (linalg/matmul_row_statistics.hpp): x is read once.

namespace heddle {
namespace nn {

namespace detail {

/// An RMS norm that begins with sums of squares.
template <class Norm>
struct rms_norm_from_sums_program {
  Norm norm;
  view<typename Norm::value const, 1> squares;

  template <class Ctx>
  using shared = typename Norm::template shared<Ctx>;
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return norm.template tiles<Ctx>();
  }
  HEDDLE_FN bool unit_columns() const { return norm.unit_columns(); }
  HEDDLE_FN span work() const {
    return {.operation = "rms_norm_from_sums",
            .shape = {norm.x.extent(0), norm.x.extent(1)},
            .bytes = norm.work().bytes + element_bytes(squares),
            .flops = 2 * norm.x.size()};
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    auto& s = ctx.template shared<shared<Ctx>>();
    index_t const row = ctx.tile() * Ctx::rows, width = norm.x.extent(1);
    ctx.load(s.rstd, squares, row);
    reciprocal_root(ctx, s.rstd, static_cast<typename Norm::value>(width), norm.epsilon);
    ctx.store(norm.rstd, row, s.rstd);
    ctx.map_to(ctx.ref(norm.y, row, 0, width), rms_value{}, ctx.ref(norm.x, row, 0, width), s.rstd,
               ctx.ref_row(norm.weight, 0));
  }
};

template <class Norm>
struct layer_norm_from_sums_program {
  using value = typename Norm::value;
  Norm norm;
  view<value const, 1> sum, squares;

  template <class Ctx>
  using shared = typename Norm::template shared<Ctx>;
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return norm.template tiles<Ctx>();
  }
  HEDDLE_FN bool unit_columns() const { return norm.unit_columns(); }
  HEDDLE_FN span work() const {
    return {.operation = "layer_norm_from_sums",
            .shape = {norm.x.extent(0), norm.x.extent(1)},
            .bytes = norm.work().bytes + element_bytes(sum, squares),
            .flops = 4 * norm.x.size()};
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    auto& s = ctx.template shared<shared<Ctx>>();
    index_t const row = ctx.tile() * Ctx::rows, width = norm.x.extent(1);
    value const n = static_cast<value>(width);
    ctx.load(s.mean, sum, row);
    ctx.load(s.rstd, squares, row);
    // The sum of squares about the mean, which rounding may take below zero.
    ctx.map(
        s.rstd,
        [n](auto const& q, auto const& t) HEDDLE_LAMBDA {
          using V = std::remove_cvref_t<decltype(q)>;
          V const left = q - mul(t, t / splat<V>(n));
          return V(select(left < splat<V>(value(0)), splat<V>(value(0)), left));
        },
        s.rstd, s.mean);
    ctx.map(
        s.mean, [n](auto const& t) HEDDLE_LAMBDA { return t / splat<std::remove_cvref_t<decltype(t)>>(n); }, s.mean);
    reciprocal_root(ctx, s.rstd, n, norm.epsilon);
    ctx.store(norm.mean, row, s.mean);
    ctx.store(norm.rstd, row, s.rstd);
    ctx.map_to(ctx.ref(norm.y, row, 0, width), layer_norm_value{}, ctx.ref(norm.x, row, 0, width), s.mean, s.rstd,
               ctx.ref_row(norm.weight, 0), ctx.ref_row(norm.bias, 0));
  }
};

template <class X, class Q>
struct quantise_from_peaks_program : tile::over_rows {
  view<X const, 2> x;
  view<Q, 2> q;
  view<float const, 1> peaks;
  view<float, 1> scale;

  template <class Ctx>
  struct shared {
    typename Ctx::template column_of<float> scale;
  };
  HEDDLE_FN bool unit_columns() const { return tile::has_unit_columns(x, q); }
  HEDDLE_FN span work() const {
    return {.operation = "quantise_rows_from_peaks",
            .shape = {x.extent(0), x.extent(1)},
            .bytes = element_bytes(x, q, peaks, scale),
            .flops = 2 * x.size()};
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    auto& s = ctx.template shared<shared<Ctx>>();
    index_t const row = ctx.tile() * Ctx::rows;
    ctx.load(s.scale, peaks, row);
    quantise_by_peaks(ctx, s, q, scale, tile::pass_fn{}, ctx.ref(x, row, 0, x.extent(1)));
  }
};

}  // namespace detail

/// RMS norm of rows whose sums of squares are known: y = x rstd weight, rstd = 1 / sqrt(sum_squares / width + epsilon).
///
/// Shapes: x, y [rows, width], weight [width], sum_squares, rstd [rows]. Types: as rms_norm. Pre: as rms_norm.
/// Complexity: one pass. Sync: submits. Determinism: the same bits on every backend; those of rms_norm but for the
/// order of the sum. y may be x, rstd may be sum_squares (in place). Memory: one number per row of a tile.
struct rms_norm_from_sums_fn {
  template <executor E, matrix_view X, vector_view W, vector_view T, matrix_view Y, vector_view S>
    requires(writable_view<Y>&& writable_view<S>)
  HEDDLE_FN void operator()(E& exec, X const& x, W const& weight, T const& sum_squares, Y const& y, S const& rstd,
                            double epsilon = 1e-5) const {
    using norm = detail::rms_norm_program<typename X::value_type, typename W::value_type, typename Y::value_type>;
    char const* const name = "rms_norm_from_sums";
    detail::expect_shape(name, x, y);
    detail::expect_per_column(name, x, weight);
    detail::expect_per_row(name, x, sum_squares, rstd);
    detail::expect_elements(name, x);
    auto const eps = detail::norm_epsilon<typename norm::value>(name, epsilon);
    expect_apart_or_same(name, y, x);
    expect_apart(name, y, weight, sum_squares, rstd);
    expect_apart_or_same(name, rstd, sum_squares);
    expect_apart(name, rstd, x, weight);
    if (x.extent(0) == 0) return;
    tile::run(exec, detail::rms_norm_from_sums_program<norm>{{{x.extent(0)},
                                                              canonical_input(x),
                                                              canonical_input(weight),
                                                              canonical(y),
                                                              canonical(rstd),
                                                              eps},
                                                             canonical_input(sum_squares)});
  }
};
inline constexpr rms_norm_from_sums_fn rms_norm_from_sums{};

/// Layer norm of rows whose sums are known: mean = sum / width, variance = (sum_squares - sum mean) / width.
///
/// Shapes: x, y [rows, width], weight, bias [width], sum, sum_squares, mean, rstd [rows]. Types, Pre: as layer_norm.
/// Complexity: one pass. Sync: submits. Determinism: the same bits on every backend. Numerics: the variance carries an
/// error of about u log2(width) (variance + mean^2), where layer_norm has none of mean^2: for rows whose mean is far
/// above their spread, take layer_norm. y may be x, mean sum and rstd sum_squares (in place). Memory: two numbers per
/// row of a tile.
struct layer_norm_from_sums_fn {
  template <executor E, matrix_view X, vector_view W, vector_view T, matrix_view Y, vector_view S>
    requires(writable_view<Y>&& writable_view<S>)
  HEDDLE_FN void operator()(E& exec, X const& x, W const& weight, W const& bias, T const& sum, T const& sum_squares,
                            Y const& y, S const& mean, S const& rstd, double epsilon = 1e-5) const {
    using norm = detail::layer_norm_program<typename X::value_type, typename W::value_type, typename Y::value_type>;
    char const* const name = "layer_norm_from_sums";
    detail::expect_shape(name, x, y);
    detail::expect_per_column(name, x, weight, bias);
    detail::expect_per_row(name, x, sum, sum_squares, mean, rstd);
    detail::expect_elements(name, x);
    auto const eps = detail::norm_epsilon<typename norm::value>(name, epsilon);
    expect_apart_or_same(name, y, x);
    expect_apart(name, y, weight, bias, sum, sum_squares, mean, rstd);
    expect_apart_or_same(name, mean, sum);
    expect_apart_or_same(name, rstd, sum_squares);
    expect_apart(name, mean, x, weight, bias, sum_squares, rstd);
    expect_apart(name, rstd, x, weight, bias, sum);
    if (x.extent(0) == 0) return;
    tile::run(exec, detail::layer_norm_from_sums_program<norm>{{{x.extent(0)},
                                                                canonical_input(x),
                                                                canonical_input(weight),
                                                                canonical_input(bias),
                                                                canonical(y),
                                                                canonical(mean),
                                                                canonical(rstd),
                                                                eps},
                                                               canonical_input(sum),
                                                               canonical_input(sum_squares)});
  }
};
inline constexpr layer_norm_from_sums_fn layer_norm_from_sums{};

/// quantise_rows of rows whose largest sizes are known.
///
/// Shapes: x, q [rows, columns], max_abs, scale [rows]. Types, Sync, Numerics: as quantise_rows. Complexity: one pass.
/// Determinism: the bits of quantise_rows, whatever gave the sizes. Memory: one number per row of a tile.
struct quantise_rows_from_peaks_fn {
  template <executor E, matrix_view X, vector_view P, matrix_view Q, vector_view S>
    requires(quantised<typename Q::value_type>&& writable_view<Q>&& writable_view<S>&&
                 std::same_as<tile::value_t<typename X::value_type>, float>&&
                     std::same_as<typename S::value_type, float>&& std::same_as<typename P::value_type, float>)
  HEDDLE_FN void operator()(E& exec, X const& x, P const& max_abs, Q const& q, S const& scale) const {
    detail::check_quantise(x, q, scale);
    char const* const name = "quantise_rows_from_peaks";
    detail::expect_per_row(name, x, max_abs);
    expect_apart(name, q, x, max_abs, scale);
    expect_apart(name, scale, x, max_abs);
    if (x.extent(0) == 0) return;
    tile::run(exec, detail::quantise_from_peaks_program<typename X::value_type, typename Q::value_type>{
                        {x.extent(0)}, canonical_input(x), canonical(q), canonical_input(max_abs), canonical(scale)});
  }
};
inline constexpr quantise_rows_from_peaks_fn quantise_rows_from_peaks{};

}  // namespace nn
}  // namespace heddle
