// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/overlap.hpp>
#include <heddle/tile/functions.hpp>
#include <heddle/tile/run.hpp>

namespace heddle {
namespace nn {

namespace detail {

template <class X, class Y>
struct column_sum_program : tile::over_strips {
  using value = tile::value_t<X>;
  view<X const, 2> x;
  view<Y, 1> y;

  HEDDLE_FN bool unit_columns() const { return tile::has_unit_columns(x); }
  HEDDLE_FN span work() const {
    return {.operation = "column_sum",
            .shape = {x.extent(0), x.extent(1)},
            .bytes = element_bytes(x, y),
            .flops = x.size()};
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const column = ctx.tile() * Ctx::strip;
    ctx.reduce_strip(y, column, tile::pass, plus<value>{}, ctx.ref_strip(x, column));
  }
};

}  // namespace detail

/// y[c] = sum over rows of x[r, c]: the gradient of a bias.
///
/// Shapes: x [rows, columns], y [columns]. Types: any float storage in, the accumulator's type or narrower out.
/// Pre: one sum per column; y overlaps nothing. Post: no rows give zeros. Errors: contract_error. Complexity: one pass.
/// Sync: submits. Determinism: the canonical order over rows, the same bits everywhere.
struct column_sum_fn {
  template <executor E, matrix_view X, vector_view Y>
    requires writable_view<Y>
  HEDDLE_FN void operator()(E& exec, X const& x, Y const& y) const {
    HEDDLE_EXPECTS(x.extent(1) == y.extent(0), "column_sum: one sum per column", x.extent(1), y.extent(0));
    expect_apart("column_sum", y, x);
    if (y.empty()) return;
    tile::run(exec, detail::column_sum_program<typename X::value_type, typename Y::value_type>{
                        {x.extent(1)}, canonical_input(x), canonical(y)});
  }
};
inline constexpr column_sum_fn column_sum{};

}  // namespace nn
}  // namespace heddle
