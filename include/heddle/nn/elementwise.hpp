// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/tile/functions.hpp>
#include <heddle/tile/run.hpp>

namespace heddle {
namespace nn {

namespace detail {

/// A list of input matrices, without std::tuple: it stays trivially copyable and cheap to compile.
template <class... X>
struct operands;
template <class A>
struct operands<A> {
  view<A const, 2> a;
  HEDDLE_FN bool unit_columns() const { return tile::has_unit_columns(a); }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx, class F, class Out>
  HEDDLE_TILE void map(Ctx& ctx, F const& f, Out const& out, index_t row) const {
    ctx.map_to(out, f, ctx.ref(a, row, 0, a.extent(1)));
  }
};
template <class A, class B>
struct operands<A, B> {
  view<A const, 2> a;
  view<B const, 2> b;
  HEDDLE_FN bool unit_columns() const { return tile::has_unit_columns(a) && tile::has_unit_columns(b); }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx, class F, class Out>
  HEDDLE_TILE void map(Ctx& ctx, F const& f, Out const& out, index_t row) const {
    ctx.map_to(out, f, ctx.ref(a, row, 0, a.extent(1)), ctx.ref(b, row, 0, b.extent(1)));
  }
};
template <class A, class B, class C>
struct operands<A, B, C> {
  view<A const, 2> a;
  view<B const, 2> b;
  view<C const, 2> c;
  HEDDLE_FN bool unit_columns() const {
    return tile::has_unit_columns(a) && tile::has_unit_columns(b) && tile::has_unit_columns(c);
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx, class F, class Out>
  HEDDLE_TILE void map(Ctx& ctx, F const& f, Out const& out, index_t row) const {
    ctx.map_to(out, f, ctx.ref(a, row, 0, a.extent(1)), ctx.ref(b, row, 0, b.extent(1)),
               ctx.ref(c, row, 0, c.extent(1)));
  }
};

/// y(r, c) = f(x(r, c)...), each operand widened, the result rounded once.
template <class F, class Y, class... X>
struct map_program {
  F f;
  view<Y, 2> y;
  operands<X...> x;
  char const* operation;

  template <class Ctx>
  struct shared {
    char none;
  };

  HEDDLE_FN bool unit_columns() const { return tile::has_unit_columns(y) && x.unit_columns(); }
  HEDDLE_FN span work() const {
    constexpr index_t bytes = static_cast<index_t>(sizeof(Y) + (sizeof(X) + ... + 0));
    return {.operation = operation,
            .shape = {y.extent(0), y.extent(1)},
            .bytes = y.size() * bytes,
            .flops = y.size() * tile::flops_of<F>};
  }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return tile::ceil_div(y.extent(0), Ctx::rows);
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const row = ctx.tile() * Ctx::rows;
    x.map(ctx, f, ctx.ref(y, row, 0, y.extent(1)), row);
  }
};

/// Submits y = f(x...) after checking that all extents agree.
template <class E, class F, class Y, class... X>
HEDDLE_FN void map_elements(E& exec, char const* operation, F const& f, Y const& y, X const&... x) {
  ((HEDDLE_EXPECTS(x.extents() == y.extents(), "all operands must have the same extents", operation, x.extent(0),
                   x.extent(1), y.extent(0), y.extent(1))),
   ...);
  if (y.empty()) return;
  tile::run(exec, map_program<F, typename Y::value_type, typename X::value_type...>{
                      f, canonical(y), operands<typename X::value_type...>{canonical_input(x)...}, operation});
}

}  // namespace detail

/// y = a + b, element by element.
///
/// Shapes: a, b, y [rows, columns], strides free. Types: any float storage; added in fp32 (fp64), rounded once.
/// Pre: equal extents. Sync: submits. Determinism: the same bits everywhere. y may be a or b (in place).
struct add_fn {
  template <executor E, matrix_view A, matrix_view B, matrix_view Y>
    requires writable_view<Y>
  HEDDLE_FN void operator()(E& exec, A const& a, B const& b, Y const& y) const {
    detail::map_elements(exec, "add", tile::plus, y, a, b);
  }
};
inline constexpr add_fn add{};

/// y = x, with conversion between float storage types, rounded to nearest even.
///
/// Shapes: x, y [rows, columns], strides free. Pre: equal extents. Sync: submits.
struct copy_fn {
  template <executor E, matrix_view X, matrix_view Y>
    requires writable_view<Y>
  HEDDLE_FN void operator()(E& exec, X const& x, Y const& y) const {
    detail::map_elements(exec, "copy", tile::pass, y, x);
  }
};
inline constexpr copy_fn copy{};

namespace detail {
/// Calls f(first, rows, columns) for rows of 1024 elements and for the rest, so that a long span has many tiles.
template <class F>
HEDDLE_FN void cut_flat(index_t n, F const& f) {
  constexpr index_t columns = 1024;
  if (n >= columns) f(index_t{0}, n / columns, columns);
  if (n % columns != 0) f(n - n % columns, index_t{1}, n % columns);
}
}  // namespace detail

/// y[i] = a[i] + b[i] over a flat span. y may be a or b. Sync: submits. Determinism: the same bits everywhere.
struct add_flat_fn {
  template <executor E, class T>
  HEDDLE_FN void operator()(E& exec, T const* a, T const* b, T* y, index_t n) const {
    detail::cut_flat(n, [&](index_t at, index_t rows, index_t columns) {
      dims<2> const e(rows, columns);
      add(exec, view<T const, 2>(a + at, e), view<T const, 2>(b + at, e), view<T, 2>(y + at, e));
    });
  }
};
inline constexpr add_flat_fn add_flat{};

/// y[i] = x[i] over a flat span, converted between float storage types. Sync: submits.
struct copy_flat_fn {
  template <executor E, class X, class Y>
  HEDDLE_FN void operator()(E& exec, X const* x, Y* y, index_t n) const {
    detail::cut_flat(n, [&](index_t at, index_t rows, index_t columns) {
      dims<2> const e(rows, columns);
      copy(exec, view<X const, 2>(x + at, e), view<Y, 2>(y + at, e));
    });
  }
};
inline constexpr copy_flat_fn copy_flat{};

}  // namespace nn
}  // namespace heddle
