// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/nn/layer_norm.hpp>
#include <heddle/nn/rms_norm.hpp>
#include <heddle/tile/run.hpp>

/// @file
/// A residual sum and the norm after it in one pass over memory, and the cotangent of both.

namespace heddle {
namespace nn {

namespace detail {

/// A matrix whose extents another one has: programs are small.
template <class T>
struct same_extents {
  T* data;
  index_t strides[2];

  HEDDLE_FN explicit same_extents(view<T, 2> const& v) : data(v.data()), strides{v.stride(0), v.stride(1)} {}
  template <class V>
  HEDDLE_HD_FN view<T, 2> as(V const& other) const {
    return view<T, 2>(data, dims<2>(other.extent(0), other.extent(1)), strides[0], strides[1]);
  }
};

/// sum = a + b, then a norm that reads it while its rows are in cache.
template <class Norm, class A, class B, class X>
struct add_norm_program {
  char const* operation;
  Norm norm;
  same_extents<A const> a;
  same_extents<B const> b;
  same_extents<X> sum;  // what the norm reads

  template <class Ctx>
  using shared = typename Norm::template shared<Ctx>;
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return norm.template tiles<Ctx>();
  }
  HEDDLE_FN bool unit_columns() const {
    return norm.unit_columns() && tile::has_unit_columns(a.as(norm.x), b.as(norm.x));
  }
  HEDDLE_FN span work() const {
    span s = norm.work();
    s.operation = operation;
    s.bytes += element_bytes(a.as(norm.x), b.as(norm.x));  // the sum is written in place of being read
    s.flops += norm.x.size();
    return s;
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const row = ctx.tile() * Ctx::rows, width = norm.x.extent(1);
    ctx.map_to(ctx.ref(sum.as(norm.x), row, 0, width), plus<>{}, ctx.ref(a.as(norm.x), row, 0, width),
               ctx.ref(b.as(norm.x), row, 0, width));
    ctx.sync();
    norm(ctx);
  }
};

/// A norm's dx, and then the cotangent that came past the norm added to it.
template <class Norm, class G>
struct add_norm_backward_program {
  char const* operation;
  Norm norm;
  same_extents<G const> dsum;

  template <class Ctx>
  using shared = typename Norm::template shared<Ctx>;
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return norm.template tiles<Ctx>();
  }
  HEDDLE_FN bool unit_columns() const { return norm.unit_columns() && tile::has_unit_columns(dsum.as(norm.dx)); }
  HEDDLE_FN span work() const {
    span s = norm.work();
    s.operation = operation;
    s.bytes += element_bytes(dsum.as(norm.dx));
    s.flops += norm.dx.size();
    return s;
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    norm(ctx);
    ctx.sync();
    index_t const row = ctx.tile() * Ctx::rows, width = norm.dx.extent(1);
    auto const out = ctx.ref(norm.dx, row, 0, width);
    ctx.map_to(out, plus<>{}, ctx.ref(dsum.as(norm.dx), row, 0, width), out);
  }
};

template <class A, class B, class X>
HEDDLE_FN void check_add_norm(A const& a, B const& b, X const& sum) {
  HEDDLE_EXPECTS(a.extents() == sum.extents() && b.extents() == sum.extents(),
                 "a sum and what is added have the same extents", a.extent(0), a.extent(1), b.extent(0), b.extent(1),
                 sum.extent(0), sum.extent(1));
  expect_elements("add_norm", sum);
  expect_apart_or_same("add_norm", sum, a, b);
}

/// Runs the programs of one kind of norm with what stands around them.
template <class E, class Norm, class A, class B, class X>
HEDDLE_FN void run_add_norm(E& exec, char const* operation, Norm const& norm, A const& a, B const& b, X const& sum) {
  tile::run(exec, add_norm_program<Norm, typename A::value_type, typename B::value_type, typename X::value_type>{
                      operation, norm, same_extents<typename A::value_type const>(canonical_input(a)),
                      same_extents<typename B::value_type const>(canonical_input(b)),
                      same_extents<typename X::value_type>(canonical(sum))});
}
template <class E, class Norm, class G, class D>
HEDDLE_FN void run_add_norm_backward(E& exec, char const* operation, Norm const& norm, G const& dsum, D const& dx) {
  HEDDLE_EXPECTS(dsum.extents() == dx.extents(), "dx has the extents of the sum's cotangent", dsum.extent(0),
                 dsum.extent(1), dx.extent(0), dx.extent(1));
  expect_apart(operation, dx, dsum);  // which is read after dx is written
  if (dx.empty()) return;
  tile::run(exec, add_norm_backward_program<Norm, typename G::value_type>{
                      operation, norm, same_extents<typename G::value_type const>(canonical_input(dsum))});
}

}  // namespace detail

/// sum = a + b; y = RMS norm of sum, with rstd.
///
/// Shapes: a, b, sum, y [rows, width], weight [width], rstd [rows]. Types: any float storage; statistics fp32, fp64 for
/// fp64. Pre, Errors: as add and rms_norm. Complexity: one pass over memory. Sync: submits. Determinism: the bits of
/// `add` and then `rms_norm`: the norm sees the sum as it is stored. sum may be a or b, y may be sum (in place).
struct add_rms_norm_fn {
  template <executor E, matrix_view A, matrix_view B, vector_view W, matrix_view X, matrix_view Y, vector_view S>
    requires(writable_view<X>&& writable_view<Y>&& writable_view<S>)
  HEDDLE_FN void operator()(E& exec, A const& a, B const& b, W const& weight, X const& sum, Y const& y, S const& rstd,
                            double epsilon = 1e-5) const {
    using norm = detail::rms_norm_program<typename X::value_type, typename W::value_type, typename Y::value_type>;
    detail::check_add_norm(a, b, sum);
    char const* const name = "add_rms_norm";
    detail::expect_shape(name, sum, y);
    detail::expect_per_column(name, sum, weight);
    detail::expect_per_row(name, sum, rstd);
    auto const eps = detail::norm_epsilon<typename norm::value>(name, epsilon);
    expect_apart_or_same(name, y, sum, a, b);
    expect_apart(name, sum, weight, rstd);
    expect_apart(name, y, weight, rstd);
    expect_apart(name, rstd, a, b, weight);
    if (sum.extent(0) == 0) return;
    detail::run_add_norm(
        exec, "add_rms_norm",
        norm{{sum.extent(0)}, canonical_input(sum), canonical_input(weight), canonical(y), canonical(rstd), eps}, a, b,
        sum);
  }
};
inline constexpr add_rms_norm_fn add_rms_norm{};

/// dx = dsum + the cotangent that rms_norm sends back: that of a, and of b, of add_rms_norm.
///
/// Shapes: sum, dy, dsum, dx [rows, width], weight [width], rstd [rows]. Types, Sync: as add_rms_norm. Determinism: the
/// bits of `rms_norm_backward_input` and then `add`. dx may be dy (in place), not dsum. The gradient of the weight is
/// that of `rms_norm_backward_weight` on the sum.
struct add_rms_norm_backward_input_fn {
  template <executor E, matrix_view X, vector_view W, vector_view S, matrix_view G, matrix_view R, matrix_view D>
  requires writable_view<D> HEDDLE_FN void operator()(E& exec, X const& sum, W const& weight, S const& rstd,
                                                      G const& dy, R const& dsum, D const& dx) const {
    using norm = detail::rms_norm_backward_program<typename X::value_type, typename W::value_type,
                                                   typename G::value_type, typename D::value_type>;
    char const* const name = "add_rms_norm_backward_input";
    detail::expect_shape(name, sum, dy, dx);
    detail::expect_per_column(name, sum, weight);
    detail::expect_per_row(name, sum, rstd);
    expect_apart(name, dx, sum, weight, rstd);
    expect_apart_or_same(name, dx, dy);
    detail::run_add_norm_backward(exec, "add_rms_norm_backward_input",
                                  norm{{sum.extent(0)},
                                       canonical_input(sum),
                                       canonical_input(weight),
                                       canonical_input(rstd),
                                       canonical_input(dy),
                                       canonical(dx)},
                                  dsum, dx);
  }
};
inline constexpr add_rms_norm_backward_input_fn add_rms_norm_backward_input{};

/// sum = a + b; y = layer norm of sum, with mean and rstd.
///
/// Shapes: a, b, sum, y [rows, width], weight, bias [width], mean, rstd [rows]. Types, Pre, Complexity, Sync: as
/// add_rms_norm. Determinism: the bits of `add` and then `layer_norm`. sum may be a or b, y may be sum (in place).
struct add_layer_norm_fn {
  template <executor E, matrix_view A, matrix_view B, vector_view W, matrix_view X, matrix_view Y, vector_view S>
    requires(writable_view<X>&& writable_view<Y>&& writable_view<S>)
  HEDDLE_FN void operator()(E& exec, A const& a, B const& b, W const& weight, W const& bias, X const& sum, Y const& y,
                            S const& mean, S const& rstd, double epsilon = 1e-5) const {
    using norm = detail::layer_norm_program<typename X::value_type, typename W::value_type, typename Y::value_type>;
    detail::check_add_norm(a, b, sum);
    char const* const name = "add_layer_norm";
    detail::expect_shape(name, sum, y);
    detail::expect_per_column(name, sum, weight, bias);
    detail::expect_per_row(name, sum, mean, rstd);
    auto const eps = detail::norm_epsilon<typename norm::value>(name, epsilon);
    expect_apart_or_same(name, y, sum, a, b);
    expect_apart(name, sum, weight, bias, mean, rstd);
    expect_apart(name, y, weight, bias, mean, rstd);
    expect_apart(name, mean, a, b, weight, bias, rstd);
    expect_apart(name, rstd, a, b, weight, bias);
    if (sum.extent(0) == 0) return;
    detail::run_add_norm(exec, "add_layer_norm",
                         norm{{sum.extent(0)},
                              canonical_input(sum),
                              canonical_input(weight),
                              canonical_input(bias),
                              canonical(y),
                              canonical(mean),
                              canonical(rstd),
                              eps},
                         a, b, sum);
  }
};
inline constexpr add_layer_norm_fn add_layer_norm{};

/// dx = dsum + the cotangent that layer_norm sends back. Shapes, Types, Sync, Determinism: as the form for RMS norm,
/// with the mean. dx may be dy (in place), not dsum.
struct add_layer_norm_backward_input_fn {
  template <executor E, matrix_view X, vector_view W, vector_view S, matrix_view G, matrix_view R, matrix_view D>
  requires writable_view<D> HEDDLE_FN void operator()(E& exec, X const& sum, W const& weight, S const& mean,
                                                      S const& rstd, G const& dy, R const& dsum, D const& dx) const {
    using norm = detail::layer_norm_backward_program<typename X::value_type, typename W::value_type,
                                                     typename G::value_type, typename D::value_type>;
    char const* const name = "add_layer_norm_backward_input";
    detail::expect_shape(name, sum, dy, dx);
    detail::expect_per_column(name, sum, weight);
    detail::expect_per_row(name, sum, mean, rstd);
    expect_apart(name, dx, sum, weight, mean, rstd);
    expect_apart_or_same(name, dx, dy);
    detail::run_add_norm_backward(exec, "add_layer_norm_backward_input",
                                  norm{{sum.extent(0)},
                                       canonical_input(sum),
                                       canonical_input(weight),
                                       canonical_input(mean),
                                       canonical_input(rstd),
                                       canonical_input(dy),
                                       canonical(dx)},
                                  dsum, dx);
  }
};
inline constexpr add_layer_norm_backward_input_fn add_layer_norm_backward_input{};

}  // namespace nn
}  // namespace heddle
