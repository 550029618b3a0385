// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/nn/detail/row_operands.hpp>
#include <heddle/nn/layer_norm.hpp>
#include <heddle/nn/rms_norm.hpp>
#include <heddle/tile/run.hpp>

/// @file
/// Rows as small numbers and one scale each: of a matrix, or of what a norm makes of it.

namespace heddle {
namespace nn {

/// What a row can be stored as: 8-bit integers or floats.
template <class Q>
concept quantised = std::same_as<Q, std::int8_t> || std::same_as<Q, fp8_e4m3> || std::same_as<Q, fp8_e5m2>;

/// The largest number of a row that was scaled.
template <quantised Q>
inline constexpr float quantised_limit = std::same_as<Q, std::int8_t> ? 127.0f
                                         : std::same_as<Q, fp8_e4m3>  ? 448.0f
                                                                      : 57344.0f;

namespace detail {

/// f(x...) times the row's factor, in steps of one for integers; storing rounds floats. NaN becomes 0.
template <class Q, class F>
struct scaled_value {
  F f;
  HEDDLE_DEVICE_PASS_QUIET
  template <class R, class... V>
  HEDDLE_TILE auto operator()(R const& factor, V const&... v) const {
    auto const y = mul(f(v...), factor);
    using T = std::remove_cvref_t<decltype(y)>;
    T const known = select(y == y, y, splat<T>(0.0f));
    if constexpr (std::same_as<Q, std::int8_t>)
      return T((known + splat<T>(12582912.0f)) - splat<T>(12582912.0f));  // 1.5 2^23: the last place is 1
    else
      return known;
  }
};
template <class F>
struct size_of_value {
  F f;
  HEDDLE_DEVICE_PASS_QUIET
  template <class... V>
  HEDDLE_TILE auto operator()(V const&... v) const {
    return abs(f(v...));
  }
};

/// Rows of f(in...) as numbers of Q, where s.scale holds the largest sizes: the scale and its inverse, then the
/// numbers.
HEDDLE_DEVICE_PASS_QUIET
template <class Q, class Ctx, class Columns, class F, class... In>
HEDDLE_TILE void quantise_by_peaks(Ctx& ctx, Columns& s, view<Q, 2> const& q, view<float, 1> const& scale, F const& f,
                                   In const&... in) {
  index_t const row = ctx.tile() * Ctx::rows;
  // At least the least normal number, so that the inverse is finite.
  ctx.map(
      s.scale,
      [](auto const& peak) HEDDLE_LAMBDA {
        using V = std::remove_cvref_t<decltype(peak)>;
        V const r = peak / splat<V>(quantised_limit<Q>);
        return select(r < splat<V>(0x1p-126f), splat<V>(0x1p-126f), r);
      },
      s.scale);
  ctx.store(scale, row, s.scale);
  ctx.map(
      s.scale, [](auto const& r) HEDDLE_LAMBDA { return splat<std::remove_cvref_t<decltype(r)>>(1.0f) / r; }, s.scale);
  ctx.map_to(ctx.ref(q, row, 0, q.extent(1)), scaled_value<Q, F>{f}, s.scale, in...);
}
/// The same from the largest size on.
HEDDLE_DEVICE_PASS_QUIET
template <class Q, class Ctx, class Columns, class F, class... In>
HEDDLE_TILE void quantise_tile(Ctx& ctx, Columns& s, view<Q, 2> const& q, view<float, 1> const& scale, F const& f,
                               In const&... in) {
  ctx.reduce_of(s.scale, size_of_value<F>{f}, maximum<float>{}, in...);
  quantise_by_peaks(ctx, s, q, scale, f, in...);
}

template <class X, class Q>
struct quantise_rows_program : tile::over_rows {
  view<X const, 2> x;
  view<Q, 2> q;
  view<float, 1> scale;

  template <class Ctx>
  struct shared {
    typename Ctx::template column_of<float> scale;
  };
  HEDDLE_FN bool unit_columns() const { return tile::has_unit_columns(x, q); }
  HEDDLE_FN span work() const {
    return {.operation = "quantise_rows",
            .shape = {x.extent(0), x.extent(1)},
            .bytes = element_bytes(x, q, scale),
            .flops = 3 * x.size()};
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    auto& s = ctx.template shared<shared<Ctx>>();
    quantise_tile(ctx, s, q, scale, tile::pass_fn{}, ctx.ref(x, ctx.tile() * Ctx::rows, 0, x.extent(1)));
  }
};

template <class Q, class Y>
struct dequantise_rows_program : tile::over_rows {
  view<Q const, 2> q;
  view<float const, 1> scale;
  view<Y, 2> y;

  HEDDLE_FN bool unit_columns() const { return tile::has_unit_columns(q, y); }
  HEDDLE_FN span work() const {
    return {.operation = "dequantise_rows",
            .shape = {q.extent(0), q.extent(1)},
            .bytes = element_bytes(q, scale, y),
            .flops = q.size()};
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const row = ctx.tile() * Ctx::rows;
    ctx.map_to(
        ctx.ref(y, row, 0, y.extent(1)),
        [](auto const& v, auto const& r) HEDDLE_LAMBDA { return mul(convert<float>(v), r); },
        ctx.ref(q, row, 0, q.extent(1)), ctx.ref_column(scale, row));
  }
};

/// A norm whose y is stored as small numbers.
template <class Norm>
struct norm_quantise_program {
  char const* operation;
  Norm norm;
  view<float, 1> scale;

  template <class Ctx>
  struct shared {
    typename Norm::template shared<Ctx> norm;
    typename Ctx::template column_of<float> scale;
  };
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return norm.template tiles<Ctx>();
  }
  HEDDLE_FN bool unit_columns() const { return norm.unit_columns(); }
  HEDDLE_FN span work() const {
    span w = norm.work();
    w.operation = operation;
    w.bytes += element_bytes(scale);
    w.flops += 5 * norm.x.size();
    return w;
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    auto& s = ctx.template shared<shared<Ctx>>();
    auto const& q = norm.y;
    auto const& scales = scale;
    norm.with_result(ctx, s.norm, [&](auto const& f, auto const&... in)
                                      HEDDLE_LAMBDA { quantise_tile(ctx, s, q, scales, f, in...); });
  }
};

template <class X, class Q, class S>
HEDDLE_FN void check_quantise(X const& x, Q const& q, S const& scale) {
  HEDDLE_EXPECTS(x.extents() == q.extents() && scale.extent(0) == x.extent(0),
                 "quantise_rows keeps the extents, with one scale per row", x.extent(0), x.extent(1), q.extent(0),
                 q.extent(1), scale.extent(0));
}

}  // namespace detail

/// q[r, c] = x[r, c] / scale[r], rounded to nearest even; scale[r] = the row's largest size / the largest number of Q.
///
/// Shapes: x, q [rows, columns], scale [rows]. Types: x float or narrower; q int8 (limit 127), fp8_e4m3 (448) or
/// fp8_e5m2 (57344). Sync: submits. Determinism: the same bits on every backend. Numerics: |x - q scale| <= scale / 2
/// (1 + 2^-14) for int8; the scale is at least 2^-126, that of a row of zeros. A row with an infinity or a NaN has that
/// as its scale and zeros, so that its numbers are NaN. Memory: one number per row of a tile.
struct quantise_rows_fn {
  template <executor E, matrix_view X, matrix_view Q, vector_view S>
    requires(quantised<typename Q::value_type>&& writable_view<Q>&& writable_view<S>&& std::same_as<
             tile::value_t<typename X::value_type>, float>&& std::same_as<typename S::value_type, float>)
  HEDDLE_FN void operator()(E& exec, X const& x, Q const& q, S const& scale) const {
    detail::check_quantise(x, q, scale);
    expect_apart("quantise_rows", q, x, scale);
    expect_apart("quantise_rows", scale, x);
    if (x.extent(0) == 0) return;
    tile::run(exec, detail::quantise_rows_program<typename X::value_type, typename Q::value_type>{
                        {x.extent(0)}, canonical_input(x), canonical(q), canonical(scale)});
  }
};
inline constexpr quantise_rows_fn quantise_rows{};

/// y = q scale, row by row. Shapes, Sync, Determinism: as quantise_rows. Types: y float or narrower, rounded once more.
struct dequantise_rows_fn {
  template <executor E, matrix_view Q, vector_view S, matrix_view Y>
    requires(quantised<typename Q::value_type>&& writable_view<Y>&& std::same_as<typename S::value_type, float>)
  HEDDLE_FN void operator()(E& exec, Q const& q, S const& scale, Y const& y) const {
    detail::check_quantise(y, q, scale);
    expect_apart("dequantise_rows", y, q, scale);
    if (q.extent(0) == 0) return;
    tile::run(exec, detail::dequantise_rows_program<typename Q::value_type, typename Y::value_type>{
                        {q.extent(0)}, canonical_input(q), canonical_input(scale), canonical(y)});
  }
};
inline constexpr dequantise_rows_fn dequantise_rows{};

/// RMS norm whose result is stored as small numbers alone: rms_norm in fp32, then quantise_rows, in one pass.
///
/// Shapes: x, q [rows, width], weight [width], scale, rstd [rows]. Types: as quantise_rows. Pre: width >= 1 where there
/// are rows; epsilon is finite and >= 0; outputs overlap nothing. Complexity: 3 passes over rows in cache. Sync:
/// submits. Determinism: the bits of the two operations, where the first stores fp32. Memory: two numbers per row of a
/// tile.
struct rms_norm_quantise_fn {
  template <executor E, matrix_view X, vector_view W, matrix_view Q, vector_view S>
    requires(quantised<typename Q::value_type>&& writable_view<Q>&& writable_view<S>&& std::same_as<
             tile::value_t<typename X::value_type>, float>&& std::same_as<typename S::value_type, float>)
  HEDDLE_FN void operator()(E& exec, X const& x, W const& weight, Q const& q, S const& scale, S const& rstd,
                            double epsilon = 1e-5) const {
    detail::check_quantise(x, q, scale);
    char const* const name = "rms_norm_quantise";
    detail::expect_per_column(name, x, weight);
    detail::expect_per_row(name, x, rstd);
    detail::expect_elements(name, x);
    float const eps = detail::norm_epsilon<float>(name, epsilon);
    expect_apart(name, q, x, weight, scale, rstd);
    expect_apart(name, scale, x, weight, rstd);
    expect_apart(name, rstd, x, weight);
    if (x.extent(0) == 0) return;
    using norm = detail::rms_norm_program<typename X::value_type, typename W::value_type, typename Q::value_type>;
    tile::run(exec, detail::norm_quantise_program<norm>{name,
                                                        {{x.extent(0)},
                                                         canonical_input(x),
                                                         canonical_input(weight),
                                                         canonical(q),
                                                         canonical(rstd),
                                                         eps},
                                                        canonical(scale)});
  }
};
inline constexpr rms_norm_quantise_fn rms_norm_quantise{};

/// Layer norm whose result is stored as small numbers alone: layer_norm in fp32, then quantise_rows, in one pass.
///
/// Shapes: x, q [rows, width], weight, bias [width], scale, mean, rstd [rows]. Types: as quantise_rows. Pre: width >= 1
/// where there are rows. Complexity: 4 passes over rows in cache. Sync: submits. Determinism: the bits of the two
/// operations, where the first stores fp32. Memory: three numbers per row of a tile.
struct layer_norm_quantise_fn {
  template <executor E, matrix_view X, vector_view W, matrix_view Q, vector_view S>
    requires(quantised<typename Q::value_type>&& writable_view<Q>&& writable_view<S>&& std::same_as<
             tile::value_t<typename X::value_type>, float>&& std::same_as<typename S::value_type, float>)
  HEDDLE_FN void operator()(E& exec, X const& x, W const& weight, W const& bias, Q const& q, S const& scale,
                            S const& mean, S const& rstd, double epsilon = 1e-5) const {
    detail::check_quantise(x, q, scale);
    char const* const name = "layer_norm_quantise";
    detail::expect_per_column(name, x, weight, bias);
    detail::expect_per_row(name, x, mean, rstd);
    detail::expect_elements(name, x);
    float const eps = detail::norm_epsilon<float>(name, epsilon);
    expect_apart(name, q, x, weight, bias, scale, mean, rstd);
    expect_apart(name, scale, x, weight, bias, mean, rstd);
    expect_apart(name, mean, x, weight, bias, rstd);
    expect_apart(name, rstd, x, weight, bias);
    if (x.extent(0) == 0) return;
    using norm = detail::layer_norm_program<typename X::value_type, typename W::value_type, typename Q::value_type>;
    tile::run(exec, detail::norm_quantise_program<norm>{name,
                                                        {{x.extent(0)},
                                                         canonical_input(x),
                                                         canonical_input(weight),
                                                         canonical_input(bias),
                                                         canonical(q),
                                                         canonical(mean),
                                                         canonical(rstd),
                                                         eps},
                                                        canonical(scale)});
  }
};
inline constexpr layer_norm_quantise_fn layer_norm_quantise{};

}  // namespace nn
}  // namespace heddle
