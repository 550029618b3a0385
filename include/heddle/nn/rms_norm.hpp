// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/nn/detail/row_operands.hpp>
#include <heddle/tile/functions.hpp>
#include <heddle/tile/run.hpp>

namespace heddle {
namespace nn {

namespace detail {

/// 1 / sqrt(t / n + epsilon) of every sum t, in its place.
HEDDLE_DEVICE_PASS_QUIET
template <class Ctx, class Column, class T>
HEDDLE_TILE void reciprocal_root(Ctx& ctx, Column& sums, T n, T eps) {
  ctx.map(
      sums,
      [n, eps](auto const& t) HEDDLE_LAMBDA {
        using V = std::remove_cvref_t<decltype(t)>;
        return splat<V>(T(1)) / sqrt(t / splat<V>(n) + splat<V>(eps));
      },
      sums);
}

/// rstd = 1 / sqrt(mean of the squares + epsilon) of every row, of n columns.
HEDDLE_DEVICE_PASS_QUIET
template <class Ctx, class Column, class Ref, class T>
HEDDLE_TILE void reciprocal_rms(Ctx& ctx, Column& rstd, Ref const& in, T n, T eps) {
  ctx.reduce_of(
      rstd, [](auto const& v) HEDDLE_LAMBDA { return mul(v, v); }, plus<T>{}, in);
  reciprocal_root(ctx, rstd, n, eps);
}

/// An element of the result.
struct rms_value {
  HEDDLE_DEVICE_PASS_QUIET
  template <class V, class R, class W>
  HEDDLE_TILE auto operator()(V const& v, R const& r, W const& w) const {
    return mul(mul(v, r), w);
  }
};

template <class X, class W, class Y>
struct rms_norm_program : tile::over_rows {
  using value = tile::value_t<X>;
  view<X const, 2> x;
  view<W const, 1> weight;
  view<Y, 2> y;
  view<value, 1> rstd;
  value epsilon;

  template <class Ctx>
  struct shared {
    typename Ctx::template column_of<value> rstd;
  };
  HEDDLE_FN bool unit_columns() const { return tile::has_unit_columns(x, y, weight); }
  HEDDLE_FN span work() const {
    return {.operation = "rms_norm",
            .shape = {x.extent(0), x.extent(1)},
            .bytes = element_bytes(x, weight, y, rstd),
            .flops = 4 * x.size()};
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
    reciprocal_rms(ctx, s.rstd, in, static_cast<value>(x.extent(1)), epsilon);
    ctx.store(rstd, row, s.rstd);
    use(rms_value{}, in, s.rstd, ctx.ref_row(weight, 0));
  }
};

template <class X, class W, class G, class D>
struct rms_norm_backward_program : tile::over_rows {
  using value = tile::value_t<X>;
  view<X const, 2> x;
  view<W const, 1> weight;
  view<value const, 1> rstd;
  view<G const, 2> dy;
  view<D, 2> dx;

  template <class Ctx>
  struct shared {
    typename Ctx::template column_of<value> gx;
  };
  HEDDLE_FN bool unit_columns() const { return tile::has_unit_columns(x, dy, dx, weight); }
  HEDDLE_FN span work() const {
    return {.operation = "rms_norm_backward_input",
            .shape = {x.extent(0), x.extent(1)},
            .bytes = element_bytes(x, weight, rstd, dy, dx),
            .flops = 9 * x.size()};
  }
  // dx = rstd (g - xhat mean(g xhat)) with g = dy weight and xhat = x rstd.
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    auto& s = ctx.template shared<shared<Ctx>>();
    index_t const row = ctx.tile() * Ctx::rows;
    auto const in = ctx.ref(x, row, 0, x.extent(1));
    auto const gradient = ctx.ref(dy, row, 0, x.extent(1));
    auto const w = ctx.ref_row(weight, 0);
    auto const r = ctx.ref_column(rstd, row);
    value const n = static_cast<value>(x.extent(1));
    ctx.reduce_of(
        s.gx,
        [](auto const& v, auto const& g, auto const& w_, auto const& r_)
            HEDDLE_LAMBDA { return mul(mul(g, w_), mul(v, r_)); },
        plus<value>{}, in, gradient, w, r);
    ctx.map(
        s.gx, [n](auto const& t) HEDDLE_LAMBDA { return t / splat<std::remove_cvref_t<decltype(t)>>(n); }, s.gx);
    ctx.map_to(
        ctx.ref(dx, row, 0, dx.extent(1)),
        [](auto const& v, auto const& g, auto const& w_, auto const& r_, auto const& b)
            HEDDLE_LAMBDA { return mul(r_, mul(g, w_) - mul(mul(v, r_), b)); },
        in, gradient, w, r, s.gx);
  }
};

template <class X, class G, class D>
struct rms_norm_weight_program : tile::over_strips {
  using value = tile::value_t<X>;
  view<X const, 2> x;
  view<value const, 1> rstd;
  view<G const, 2> dy;
  view<D, 1> dweight;

  HEDDLE_FN bool unit_columns() const { return tile::has_unit_columns(x, dy); }
  HEDDLE_FN span work() const {
    return {.operation = "rms_norm_backward_weight",
            .shape = {x.extent(0), x.extent(1)},
            .bytes = element_bytes(x, rstd, dy, dweight),
            .flops = 3 * x.size()};
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const column = ctx.tile() * Ctx::strip;
    ctx.reduce_strip(
        dweight, column, [](auto const& g, auto const& v, auto const& r) HEDDLE_LAMBDA { return mul(g, mul(v, r)); },
        plus<value>{}, ctx.ref_strip(dy, column), ctx.ref_strip(x, column), ctx.ref_column(rstd, 0));
  }
};

}  // namespace detail

/// RMS norm of every row: y = x rstd weight, rstd = 1 / sqrt(mean of squares + epsilon).
///
/// Shapes: x, y [rows, width], weight [width], rstd [rows]. Types: any float storage; statistics fp32, fp64 for fp64.
/// Pre: extents agree, width >= 1 where there are rows; epsilon is finite and >= 0; outputs overlap nothing. Errors:
/// contract_error. Complexity: 2 passes over rows in cache. Sync: submits.
/// Determinism: the same bits on every backend. Memory: one number per row of a tile.
/// Numerics: the canonical sum of squares. y may be x (in place). Source: Zhang, Sennrich 2019.
struct rms_norm_fn {
  template <executor E, matrix_view X, vector_view W, matrix_view Y, vector_view S>
    requires(writable_view<Y> && writable_view<S>)
  HEDDLE_FN void operator()(E& exec, X const& x, W const& weight, Y const& y, S const& rstd,
                            double epsilon = 1e-5) const {
    using program = detail::rms_norm_program<typename X::value_type, typename W::value_type, typename Y::value_type>;
    char const* const name = "rms_norm";
    detail::expect_shape(name, x, y);
    detail::expect_per_column(name, x, weight);
    detail::expect_per_row(name, x, rstd);
    detail::expect_elements(name, x);
    auto const eps = detail::norm_epsilon<typename program::value>(name, epsilon);
    expect_apart_or_same(name, y, x);
    expect_apart(name, y, weight, rstd);
    expect_apart(name, rstd, x, weight);
    if (x.extent(0) == 0) return;
    tile::run(exec,
              program{{x.extent(0)}, canonical_input(x), canonical_input(weight), canonical(y), canonical(rstd), eps});
  }
};
inline constexpr rms_norm_fn rms_norm{};

/// The cotangent of the input of rms_norm.
/// Shapes, Types, Pre, Errors, Sync, Determinism: as rms_norm; dy, dx as x. dx may be dy or x (in place).
struct rms_norm_backward_input_fn {
  template <executor E, matrix_view X, vector_view W, vector_view S, matrix_view G, matrix_view D>
    requires writable_view<D>
  HEDDLE_FN void operator()(E& exec, X const& x, W const& weight, S const& rstd, G const& dy, D const& dx) const {
    char const* const name = "rms_norm_backward_input";
    detail::expect_shape(name, x, dy, dx);
    detail::expect_per_column(name, x, weight);
    detail::expect_per_row(name, x, rstd);
    expect_apart(name, dx, weight, rstd);
    expect_apart_or_same(name, dx, dy, x);
    if (x.empty()) return;
    using program = detail::rms_norm_backward_program<typename X::value_type, typename W::value_type,
                                                      typename G::value_type, typename D::value_type>;
    tile::run(exec, program{{x.extent(0)},
                            canonical_input(x),
                            canonical_input(weight),
                            canonical_input(rstd),
                            canonical_input(dy),
                            canonical(dx)});
  }
};
inline constexpr rms_norm_backward_input_fn rms_norm_backward_input{};

/// The gradient of the weight of rms_norm, summed over rows in the canonical order; overwrites.
///
/// Shapes: x, dy [rows, width], rstd [rows], dweight [width]. Types: as rms_norm; dweight the type of the statistics or
/// narrower. Pre: extents agree; dweight overlaps nothing. Post: no rows give zeros. Errors: contract_error.
/// Complexity: one pass over x and dy. Sync: submits. Determinism: the same bits on every backend. Memory: none.
struct rms_norm_backward_weight_fn {
  template <executor E, matrix_view X, vector_view S, matrix_view G, vector_view D>
    requires writable_view<D>
  HEDDLE_FN void operator()(E& exec, X const& x, S const& rstd, G const& dy, D const& dweight) const {
    char const* const name = "rms_norm_backward_weight";
    detail::expect_shape(name, x, dy);
    detail::expect_per_column(name, x, dweight);
    detail::expect_per_row(name, x, rstd);
    expect_apart(name, dweight, x, rstd, dy);
    if (dweight.empty()) return;
    using program =
        detail::rms_norm_weight_program<typename X::value_type, typename G::value_type, typename D::value_type>;
    tile::run(
        exec,
        program{{x.extent(1)}, canonical_input(x), canonical_input(rstd), canonical_input(dy), canonical(dweight)});
  }
};
inline constexpr rms_norm_backward_weight_fn rms_norm_backward_weight{};

}  // namespace nn
}  // namespace heddle
