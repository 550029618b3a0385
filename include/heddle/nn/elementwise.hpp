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

/// y(r, c) = f(x(r, c)...), each operand widened, the result rounded once.
template <class F, class Y, class... X>
struct map_program {
  F f;
  view<Y, 2> y;
  operands<X...> x;

  template <class Ctx>
  struct shared {
    char none;
  };

  HEDDLE_FN bool unit_columns() const { return tile::has_unit_columns(y) && x.unit_columns(); }
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
  span s;
  s.operation = operation;
  s.shape[0] = y.extent(0);
  s.shape[1] = y.extent(1);
  s.bytes = y.size() * index_t{sizeof(typename Y::value_type)} +
            ((x.size() * index_t{sizeof(typename X::value_type)}) + ... + 0);
  observed_span scope(exec, s);
  tile::run(exec, map_program<F, typename Y::value_type, typename X::value_type...>{
                      f, canonical(y), operands<typename X::value_type...>{canonical_input(x)...}});
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

}  // namespace nn
}  // namespace heddle
