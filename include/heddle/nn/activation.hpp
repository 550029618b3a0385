// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/transform.hpp>
#include <heddle/core/math.hpp>
#include <heddle/core/math_activation.hpp>

namespace heddle {
namespace nn {

/// Which GELU: the exact one x Φ(x) by erf, or the approximation by tanh that GPT-2 uses.
enum class gelu_form { tanh, erf };

namespace detail {

using heddle::detail::constant;
using heddle::detail::gelu_cubic;
using heddle::detail::gelu_cubic_slope;
using heddle::detail::gelu_inner_slope;
using heddle::detail::root_of_half;

struct gelu_tanh_gradient {
  static constexpr index_t flops = 18;
  HEDDLE_DEVICE_PASS_QUIET
  template <class V>
  HEDDLE_TILE V operator()(V const& x, V const& dy) const {
    V const square = mul(x, x);
    V const inner = constant<V>(gelu_inner_slope);
    V const t = tanh(mul(inner, fma(mul(constant<V>(gelu_cubic), square), x, x)));
    V const slope = mul(inner, fma(constant<V>(gelu_cubic_slope), square, constant<V>(1)));
    V const left = mul(constant<V>(0.5), constant<V>(1) + t);
    V const right = mul(mul(mul(constant<V>(0.5), x), constant<V>(1) - mul(t, t)), slope);
    return mul(dy, left + right);
  }
};
struct gelu_erf_gradient {
  static constexpr index_t flops = 11;
  HEDDLE_DEVICE_PASS_QUIET
  template <class V>
  HEDDLE_TILE V operator()(V const& x, V const& dy) const {
    V const phi = mul(constant<V>(0.5), constant<V>(1) + erf(mul(x, constant<V>(root_of_half))));
    V const density = mul(constant<V>(0.39894228040143267794), exp(mul(constant<V>(-0.5), mul(x, x))));
    return mul(dy, fma(x, density, phi));
  }
};

template <class V>
HEDDLE_TILE V sigmoid(V const& x) {
  return constant<V>(1) / (constant<V>(1) + exp(-x));
}
struct silu_gradient {
  static constexpr index_t flops = 8;
  HEDDLE_DEVICE_PASS_QUIET
  template <class V>
  HEDDLE_TILE V operator()(V const& x, V const& dy) const {
    V const s = sigmoid(x);
    return mul(dy, mul(s, fma(x, constant<V>(1) - s, constant<V>(1))));
  }
};
struct swiglu_gate_gradient {
  static constexpr index_t flops = 9;
  HEDDLE_DEVICE_PASS_QUIET
  template <class V>
  HEDDLE_TILE V operator()(V const& gate, V const& up, V const& dy) const {
    return silu_gradient{}(gate, mul(dy, up));
  }
};

/// The cotangents of both halves, a run of columns of some rows at a time, so that memory is read once.
template <class X, class G, class D>
struct swiglu_backward_program : tile::over_rows {
  static constexpr index_t run = 1024;

  view<X const, 2> x;
  view<G const, 2> dy;
  view<D, 2> dx;
  bool stream;

  template <class Ctx>
  struct shared {};
  HEDDLE_FN bool unit_columns() const { return tile::has_unit_columns(x, dy, dx); }
  HEDDLE_FN span work() const {
    return {.operation = "swiglu_backward",
            .shape = {dy.extent(0), dy.extent(1)},
            .bytes = element_bytes(x, dy, dx),
            .flops = (swiglu_gate_gradient::flops + swiglu_value::flops) * dy.size()};
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const row = ctx.tile() * Ctx::rows, width = dy.extent(1);
    for (index_t j = 0; j < width; j += run) {
      index_t const n = width - j < run ? width - j : run;
      auto const gate = ctx.ref(x, row, j, n), up = ctx.ref(x, row, width + j, n);
      auto const gradient = ctx.ref(dy, row, j, n);
      tile::streamed_ref<D> const d_gate{ctx.ref(dx, row, j, n), stream}, d_up{ctx.ref(dx, row, width + j, n), stream};
      ctx.map_to(d_gate, swiglu_gate_gradient{}, gate, up, gradient);
      ctx.map_to(d_up, swiglu_value{}, gate, gradient);
    }
  }
};

}  // namespace detail

/// y = GELU(x), element by element.
///
/// Shapes: x, y [rows, columns], strides free. Types: any float storage, computed in fp32 (fp64). Pre: equal extents.
/// Sync: submits. Determinism: the same bits everywhere. Numerics: finite for every finite x. GELU(-inf) is NaN as the
/// product -inf * 0 is, not its limit, so that an infinite activation is seen; GELU(+inf) = +inf. y may be x (in
/// place). Source: Hendrycks, Gimpel 2016.
struct gelu_fn {
  template <executor E, matrix_view X, matrix_view Y>
    requires writable_view<Y>
  HEDDLE_FN void operator()(E& exec, X const& x, Y const& y, gelu_form form = gelu_form::tanh) const {
    if (form == gelu_form::tanh)
      heddle::detail::transform_as(exec, "gelu", y, gelu_tanh_value{}, x);
    else
      heddle::detail::transform_as(exec, "gelu", y, gelu_erf_value{}, x);
  }
};
inline constexpr gelu_fn gelu{};

/// dx = dy GELU'(x). Shapes, Types, Sync, Determinism: as gelu. Numerics: NaN where x is infinite, and by tanh where
/// x^2 is. dx may be dy or x (in place).
struct gelu_backward_fn {
  template <executor E, matrix_view X, matrix_view G, matrix_view D>
    requires writable_view<D>
  HEDDLE_FN void operator()(E& exec, X const& x, G const& dy, D const& dx, gelu_form form = gelu_form::tanh) const {
    if (form == gelu_form::tanh)
      heddle::detail::transform_as(exec, "gelu_backward", dx, detail::gelu_tanh_gradient{}, x, dy);
    else
      heddle::detail::transform_as(exec, "gelu_backward", dx, detail::gelu_erf_gradient{}, x, dy);
  }
};
inline constexpr gelu_backward_fn gelu_backward{};

/// y = x sigmoid(x), element by element. Shapes, Types, Sync, Determinism, Numerics: as gelu. y may be x (in place).
struct silu_fn {
  template <executor E, matrix_view X, matrix_view Y>
    requires writable_view<Y>
  HEDDLE_FN void operator()(E& exec, X const& x, Y const& y) const {
    heddle::detail::transform_as(exec, "silu", y, silu_value{}, x);
  }
};
inline constexpr silu_fn silu{};

/// dx = dy SiLU'(x). Shapes, Types, Sync, Determinism: as gelu. Numerics: NaN where x is infinite. dx may be dy
/// or x (in place).
struct silu_backward_fn {
  template <executor E, matrix_view X, matrix_view G, matrix_view D>
    requires writable_view<D>
  HEDDLE_FN void operator()(E& exec, X const& x, G const& dy, D const& dx) const {
    heddle::detail::transform_as(exec, "silu_backward", dx, detail::silu_gradient{}, x, dy);
  }
};
inline constexpr silu_backward_fn silu_backward{};

/// y = SiLU(gate) up, where x holds gate and up side by side.
///
/// Shapes: x [rows, 2 width], y [rows, width]. Types, Sync, Determinism: as gelu. Pre: y does not overlap x. Source:
/// Shazeer 2020.
struct swiglu_fn {
  template <executor E, matrix_view X, matrix_view Y>
    requires writable_view<Y>
  HEDDLE_FN void operator()(E& exec, X const& x, Y const& y) const {
    index_t const width = y.extent(1);
    HEDDLE_EXPECTS(x.extent(1) == 2 * width, "swiglu: x holds a gate and an up half", x.extent(1), width);
    expect_apart("swiglu", y, x);
    heddle::detail::transform_as(exec, "swiglu", y, swiglu_value{}, slice(x, 1, 0, width),
                                 slice(x, 1, width, 2 * width));
  }
};
inline constexpr swiglu_fn swiglu{};

/// The cotangent of both halves of swiglu's input.
/// Shapes: x, dx [rows, 2 width], dy [rows, width]. Types, Sync, Determinism: as swiglu. Pre: dx overlaps neither.
/// Complexity: one pass over memory.
struct swiglu_backward_fn {
  template <executor E, matrix_view X, matrix_view G, matrix_view D>
    requires writable_view<D>
  HEDDLE_FN void operator()(E& exec, X const& x, G const& dy, D const& dx) const {
    index_t const width = dy.extent(1);
    HEDDLE_EXPECTS(x.extent(1) == 2 * width && dx.extents() == x.extents(), "swiglu: x holds a gate and an up half",
                   x.extent(1), dx.extent(1), width);
    HEDDLE_EXPECTS(dx.extent(0) == dy.extent(0), "swiglu: dy has the rows of x", dx.extent(0), dy.extent(0));
    expect_apart("swiglu_backward", dx, x, dy);
    if (dx.empty()) return;
    using program =
        detail::swiglu_backward_program<typename X::value_type, typename G::value_type, typename D::value_type>;
    tile::run(exec, program{{x.extent(0)},
                            canonical_input(x),
                            canonical_input(dy),
                            canonical(dx),
                            element_bytes(dx) >= heddle::detail::streamed_bytes});
  }
};
inline constexpr swiglu_backward_fn swiglu_backward{};

}  // namespace nn
}  // namespace heddle
