// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/math_weight.hpp>
#include <heddle/nn/detail/row_operands.hpp>
#include <heddle/tile/functions.hpp>
#include <heddle/tile/run.hpp>

namespace heddle {
namespace nn {

namespace detail {

template <class X, class Y>
struct softmax_program : tile::over_rows {
  using value = tile::value_t<X>;

  static constexpr value lowest = -static_cast<value>(__builtin_inff());

  view<X const, 2> x;
  view<Y, 2> y;

  template <class Ctx>
  struct shared {
    typename Ctx::template column_of<value> peak, scale;
  };

  HEDDLE_FN bool unit_columns() const { return tile::has_unit_columns(x, y); }

  HEDDLE_FN span work() const {
    return {.operation = "softmax",
            .shape = {x.extent(0), x.extent(1)},
            .bytes = element_bytes(x, y),
            .flops = 5 * x.size()};
  }

  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    auto& s = ctx.template shared<shared<Ctx>>();
    index_t const row = ctx.tile() * Ctx::rows;
    auto const in = ctx.ref(x, row, 0, x.extent(1));
    auto const out = ctx.ref(y, row, 0, x.extent(1));

    ctx.reduce_of(s.peak, tile::pass, tile::larger<value>{}, in);
    ctx.map(
        s.peak, [](auto const& m) HEDDLE_LAMBDA { return softmax_base(m); }, s.peak);
    auto const weight = [](auto const& v, auto const& m) HEDDLE_LAMBDA { return exp_weight(v - m); };
    // A wide y holds the weights until their sum is known; a narrow one would round them twice.
    constexpr bool keeps = std::is_same_v<Y, value>;
    if constexpr (keeps)
      ctx.map_reduce_to(out, s.scale, weight, plus<value>{}, in, s.peak);
    else
      ctx.reduce_of(s.scale, weight, plus<value>{}, in, s.peak);
    ctx.map(
        s.scale, [](auto const& t) HEDDLE_LAMBDA { return select(t == value(0), value(0), value(1) / t); }, s.scale);
    if constexpr (keeps)
      ctx.map_to(out, multiplies<>{}, out, s.scale);
    else
      ctx.map_to(
          out,
          [](auto const& v, auto const& m, auto const& scale) HEDDLE_LAMBDA { return mul(exp_weight(v - m), scale); },
          in, s.peak, s.scale);
  }
};

template <class Y, class G, class D>
struct softmax_backward_program : tile::over_rows {
  using value = tile::value_t<Y>;

  view<Y const, 2> y;
  view<G const, 2> dy;
  view<D, 2> dx;

  template <class Ctx>
  struct shared {
    typename Ctx::template column_of<value> dot;
  };

  HEDDLE_FN bool unit_columns() const { return tile::has_unit_columns(y, dy, dx); }

  HEDDLE_FN span work() const {
    return {.operation = "softmax_backward",
            .shape = {y.extent(0), y.extent(1)},
            .bytes = element_bytes(y, dy, dx),
            .flops = 4 * y.size()};
  }

  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    auto& s = ctx.template shared<shared<Ctx>>();
    index_t const row = ctx.tile() * Ctx::rows;
    auto const weights = ctx.ref(y, row, 0, y.extent(1));
    auto const gradient = ctx.ref(dy, row, 0, y.extent(1));
    auto const out = ctx.ref(dx, row, 0, y.extent(1));
    // What had no part in the output has none in the gradient, even an infinite one.
    ctx.reduce_of(
        s.dot,
        [](auto const& w, auto const& g) HEDDLE_LAMBDA {
          using V = std::remove_cvref_t<decltype(w)>;
          return select(w == splat<V>(value(0)), splat<V>(value(0)), mul(w, g));
        },
        plus<value>{}, weights, gradient);
    ctx.map_to(
        out,
        [](auto const& w, auto const& g, auto const& dot) HEDDLE_LAMBDA {
          using V = std::remove_cvref_t<decltype(w)>;
          V const d = mul(w, g - dot);
          return select(w == splat<V>(value(0)), select(d == d, d, splat<V>(value(0))), d);
        },
        weights, gradient, s.dot);
  }
};

}  // namespace detail

/// Softmax of every row: y = exp(x - max) / sum.
///
/// Shapes: x, y [rows, columns], strides free (adjacent columns are fast). Types: any float storage; computed in fp32,
/// fp64 for fp64. Pre: equal extents. Complexity: 3 passes over rows that stay in cache.
/// Sync: submits. Determinism: repeatable bits on every backend. Memory: two numbers per row of a tile.
/// Numerics: the canonical sum; a row that is all -inf, or has no columns, gives zeros; NaN or +inf gives a row of NaN.
/// y may be x (in place).
struct softmax_fn {
  template <executor E, matrix_view X, matrix_view Y>
  requires writable_view<Y> HEDDLE_FN void operator()(E& exec, X const& x, Y const& y) const {
    detail::expect_shape("softmax", x, y);
    expect_apart_or_same("softmax", y, x);
    if (x.empty()) return;
    tile::run(exec, detail::softmax_program<typename X::value_type, typename Y::value_type>{
                        {x.extent(0)}, canonical_input(x), canonical(y)});
  }
};

/// Gradient of softmax from its output: dx = y * (dy - sum(y * dy)).
///
/// Shapes: y, dy, dx [rows, columns], strides free. Types, Sync, Determinism: as softmax. Pre: equal extents.
/// Errors: contract_error. Numerics: where y is 0, dx is 0, and dy has no part in the sum, whatever it is. dx may be dy
/// (in place).
struct softmax_backward_fn {
  template <executor E, matrix_view Y, matrix_view G, matrix_view D>
  requires writable_view<D> HEDDLE_FN void operator()(E& exec, Y const& y, G const& dy, D const& dx) const {
    detail::expect_shape("softmax_backward", y, dy, dx);
    expect_apart("softmax_backward", dx, y);
    expect_apart_or_same("softmax_backward", dx, dy);
    if (y.empty()) return;
    using program =
        detail::softmax_backward_program<typename Y::value_type, typename G::value_type, typename D::value_type>;
    tile::run(exec, program{{y.extent(0)}, canonical_input(y), canonical_input(dy), canonical(dx)});
  }
};

inline constexpr softmax_fn softmax{};
inline constexpr softmax_backward_fn softmax_backward{};

}  // namespace nn
}  // namespace heddle
