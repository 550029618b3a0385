// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/nn/detail/row_operands.hpp>
#include <heddle/nn/rms_norm.hpp>
#include <heddle/tile/functions.hpp>
#include <heddle/tile/run.hpp>

namespace heddle {
namespace nn {

namespace detail {

/// An element of the result.
struct layer_norm_value {
  HEDDLE_DEVICE_PASS_QUIET
  template <class V, class M, class R, class W, class B>
  HEDDLE_TILE auto operator()(V const& v, M const& m, R const& r, W const& w, B const& b) const {
    return fma(mul(v - m, r), w, b);
  }
};

template <class X, class W, class Y>
struct layer_norm_program : tile::over_rows {
  using value = tile::value_t<X>;
  view<X const, 2> x;
  view<W const, 1> weight, bias;
  view<Y, 2> y;
  view<value, 1> mean, rstd;
  value epsilon;

  template <class Ctx>
  struct shared {
    typename Ctx::template column_of<value> mean, rstd;
  };
  HEDDLE_FN bool unit_columns() const { return tile::has_unit_columns(x, y, weight, bias); }
  HEDDLE_FN span work() const {
    return {.operation = "layer_norm",
            .shape = {x.extent(0), x.extent(1)},
            .bytes = element_bytes(x, weight, bias, y, mean, rstd),
            .flops = 8 * x.size()};
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    auto const out = ctx.ref(y, ctx.tile() * Ctx::rows, 0, y.extent(1));
    with_result(ctx, ctx.template shared<shared<Ctx>>(), [&](auto const& f, auto const&... in)
                                                             HEDDLE_LAMBDA { ctx.map_to(out, f, in...); });
  }
  /// The statistics of the rows, and then use(f, in...), where f(in...) are the elements of y.
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx, class Use>
  HEDDLE_TILE void with_result(Ctx& ctx, shared<Ctx>& s, Use const& use) const {
    index_t const row = ctx.tile() * Ctx::rows;
    auto const in = ctx.ref(x, row, 0, x.extent(1));
    value const n = static_cast<value>(x.extent(1));
    // Two passes: E[x^2] - E[x]^2 would cancel where the mean is large.
    ctx.reduce_of(s.mean, tile::pass, plus<value>{}, in);
    ctx.map(
        s.mean, [n](auto const& t) HEDDLE_LAMBDA { return t / splat<std::remove_cvref_t<decltype(t)>>(n); }, s.mean);
    ctx.reduce_of(
        s.rstd, [](auto const& v, auto const& m) HEDDLE_LAMBDA { return mul(v - m, v - m); }, plus<value>{}, in,
        s.mean);
    reciprocal_root(ctx, s.rstd, n, epsilon);
    ctx.store(mean, row, s.mean);
    ctx.store(rstd, row, s.rstd);
    use(layer_norm_value{}, in, s.mean, s.rstd, ctx.ref_row(weight, 0), ctx.ref_row(bias, 0));
  }
};

template <class X, class W, class G, class D>
struct layer_norm_backward_program : tile::over_rows {
  using value = tile::value_t<X>;
  view<X const, 2> x;
  view<W const, 1> weight;
  view<value const, 1> mean, rstd;
  view<G const, 2> dy;
  view<D, 2> dx;

  template <class Ctx>
  struct shared {
    typename Ctx::template column_of<value> g, gx;
  };
  HEDDLE_FN bool unit_columns() const { return tile::has_unit_columns(x, dy, dx, weight); }
  HEDDLE_FN span work() const {
    return {.operation = "layer_norm_backward_input",
            .shape = {x.extent(0), x.extent(1)},
            .bytes = element_bytes(x, weight, mean, rstd, dy, dx),
            .flops = 14 * x.size()};
  }
  // dx = rstd (g - mean(g) - xhat mean(g xhat)) with g = dy weight.
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    auto& s = ctx.template shared<shared<Ctx>>();
    index_t const row = ctx.tile() * Ctx::rows;
    auto const in = ctx.ref(x, row, 0, x.extent(1));
    auto const gradient = ctx.ref(dy, row, 0, x.extent(1));
    auto const w = ctx.ref_row(weight, 0);
    auto const m = ctx.ref_column(mean, row), r = ctx.ref_column(rstd, row);
    value const n = static_cast<value>(x.extent(1));
    auto const by_n = [n](auto const& t) HEDDLE_LAMBDA { return t / splat<std::remove_cvref_t<decltype(t)>>(n); };
    ctx.reduce_of(s.g, multiplies<>{}, plus<value>{}, gradient, w);
    ctx.map(s.g, by_n, s.g);
    ctx.reduce_of(
        s.gx,
        [](auto const& v, auto const& g, auto const& w_, auto const& m_, auto const& r_)
            HEDDLE_LAMBDA { return mul(mul(g, w_), mul(v - m_, r_)); },
        plus<value>{}, in, gradient, w, m, r);
    ctx.map(s.gx, by_n, s.gx);
    ctx.map_to(
        ctx.ref(dx, row, 0, dx.extent(1)),
        [](auto const& v, auto const& g, auto const& w_, auto const& m_, auto const& r_, auto const& a, auto const& b)
            HEDDLE_LAMBDA { return mul(r_, (mul(g, w_) - a) - mul(mul(v - m_, r_), b)); },
        in, gradient, w, m, r, s.g, s.gx);
  }
};

template <class X, class G, class D>
struct layer_norm_weight_program : tile::over_strips {
  using value = tile::value_t<X>;
  view<X const, 2> x;
  view<value const, 1> mean, rstd;
  view<G const, 2> dy;
  view<D, 1> dweight, dbias;

  HEDDLE_FN bool unit_columns() const { return tile::has_unit_columns(x, dy); }
  HEDDLE_FN span work() const {
    return {.operation = "layer_norm_backward_weight",
            .shape = {x.extent(0), x.extent(1)},
            .bytes = element_bytes(x, mean, rstd, dy, dweight, dbias),
            .flops = 5 * x.size()};
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const column = ctx.tile() * Ctx::strip;
    auto const gradient = ctx.ref_strip(dy, column);
    ctx.reduce_strip(
        dweight, column,
        [](auto const& g, auto const& v, auto const& m, auto const& r) HEDDLE_LAMBDA { return mul(g, mul(v - m, r)); },
        plus<value>{}, gradient, ctx.ref_strip(x, column), ctx.ref_column(mean, 0), ctx.ref_column(rstd, 0));
    ctx.reduce_strip(dbias, column, tile::pass, plus<value>{}, gradient);
  }
};

}  // namespace detail

/// Layer norm of every row: y = (x - mean) rstd weight + bias, rstd = 1 / sqrt(variance + epsilon).
///
/// Shapes: x, y [rows, width], weight, bias [width], mean, rstd [rows]. Types: any float storage; statistics fp32,
/// fp64 for fp64. Pre: extents agree, width >= 1 where there are rows; epsilon is finite and >= 0; outputs overlap
/// nothing. Errors: contract_error. Complexity: 3 passes over rows in cache. Sync: submits. Determinism: the same bits
/// on every backend. Memory: two numbers per row of a tile. Numerics: two-pass variance, divided by width. y may be x
/// (in place). Source: Ba, Kiros, Hinton 2016.
struct layer_norm_fn {
  template <executor E, matrix_view X, vector_view W, matrix_view Y, vector_view S>
    requires(writable_view<Y> && writable_view<S>)
  HEDDLE_FN void operator()(E& exec, X const& x, W const& weight, W const& bias, Y const& y, S const& mean,
                            S const& rstd, double epsilon = 1e-5) const {
    using program = detail::layer_norm_program<typename X::value_type, typename W::value_type, typename Y::value_type>;
    char const* const name = "layer_norm";
    detail::expect_shape(name, x, y);
    detail::expect_per_column(name, x, weight, bias);
    detail::expect_per_row(name, x, mean, rstd);
    detail::expect_elements(name, x);
    auto const eps = detail::norm_epsilon<typename program::value>(name, epsilon);
    expect_apart_or_same(name, y, x);
    expect_apart(name, y, weight, bias, mean, rstd);
    expect_apart(name, mean, x, weight, bias, rstd);
    expect_apart(name, rstd, x, weight, bias);
    if (x.extent(0) == 0) return;
    tile::run(exec, program{{x.extent(0)},
                            canonical_input(x),
                            canonical_input(weight),
                            canonical_input(bias),
                            canonical(y),
                            canonical(mean),
                            canonical(rstd),
                            eps});
  }
};
inline constexpr layer_norm_fn layer_norm{};

/// The cotangent of the input of layer_norm.
/// Shapes, Types, Pre, Errors, Sync, Determinism: as layer_norm; dy, dx as x. dx may be dy or x (in
/// place).
struct layer_norm_backward_input_fn {
  template <executor E, matrix_view X, vector_view W, vector_view S, matrix_view G, matrix_view D>
    requires writable_view<D>
  HEDDLE_FN void operator()(E& exec, X const& x, W const& weight, S const& mean, S const& rstd, G const& dy,
                            D const& dx) const {
    char const* const name = "layer_norm_backward_input";
    detail::expect_shape(name, x, dy, dx);
    detail::expect_per_column(name, x, weight);
    detail::expect_per_row(name, x, mean, rstd);
    expect_apart(name, dx, weight, mean, rstd);
    expect_apart_or_same(name, dx, dy, x);
    if (x.empty()) return;
    using program = detail::layer_norm_backward_program<typename X::value_type, typename W::value_type,
                                                        typename G::value_type, typename D::value_type>;
    tile::run(exec, program{{x.extent(0)},
                            canonical_input(x),
                            canonical_input(weight),
                            canonical_input(mean),
                            canonical_input(rstd),
                            canonical_input(dy),
                            canonical(dx)});
  }
};
inline constexpr layer_norm_backward_input_fn layer_norm_backward_input{};

/// The gradients of weight and bias of layer_norm, summed over rows in the canonical order; overwrites.
///
/// Shapes: x, dy [rows, width], mean, rstd [rows], dweight, dbias [width]. Types: as layer_norm; gradients the type of
/// the statistics or narrower. Pre: extents agree; outputs overlap nothing. Post: no rows give zeros. Errors:
/// contract_error. Complexity: one pass over x and dy each. Sync: submits. Determinism: the same bits on every backend.
/// Memory: none.
struct layer_norm_backward_weight_fn {
  template <executor E, matrix_view X, vector_view S, matrix_view G, vector_view D>
    requires writable_view<D>
  HEDDLE_FN void operator()(E& exec, X const& x, S const& mean, S const& rstd, G const& dy, D const& dweight,
                            D const& dbias) const {
    char const* const name = "layer_norm_backward_weight";
    detail::expect_shape(name, x, dy);
    detail::expect_per_column(name, x, dweight, dbias);
    detail::expect_per_row(name, x, mean, rstd);
    expect_apart(name, dweight, x, mean, rstd, dy, dbias);
    expect_apart(name, dbias, x, mean, rstd, dy);
    if (dweight.empty()) return;
    using program =
        detail::layer_norm_weight_program<typename X::value_type, typename G::value_type, typename D::value_type>;
    tile::run(exec, program{{x.extent(1)},
                            canonical_input(x),
                            canonical_input(mean),
                            canonical_input(rstd),
                            canonical_input(dy),
                            canonical(dweight),
                            canonical(dbias)});
  }
};
inline constexpr layer_norm_backward_weight_fn layer_norm_backward_weight{};

}  // namespace nn
}  // namespace heddle
