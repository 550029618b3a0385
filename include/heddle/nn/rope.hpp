// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/math.hpp>
#include <heddle/nn/detail/row_operands.hpp>
#include <heddle/tile/functions.hpp>
#include <heddle/tile/run.hpp>

namespace heddle {
namespace nn {

/// What rope needs to know beside its operands. Units: heads, elements, tokens.
struct rope_options {
  index_t heads = 0;           ///< heads that rotate, from the first column on; later columns pass unchanged
  index_t head_size = 0;       ///< even
  index_t tokens = 0;          ///< of each sequence: row r has position first_position + r mod tokens
  index_t first_position = 0;
  double base = 10000;
  bool inverse = false;        ///< turns back: the backward pass
};

namespace detail {

/// table(p, i) = angle of pair i at position p, as cosine and sine side by side.
template <class T>
struct rope_table_program {
  view<T, 2> table;  // [tokens, 2 half]
  double base;
  index_t first_position, half;
  bool inverse;

  template <class Ctx>
  struct shared {
    char none;
  };
  HEDDLE_FN span work() const {
    return {.operation = "rope.table",
            .shape = {table.extent(0), table.extent(1)},
            .bytes = element_bytes(table),
            .flops = 5 * table.extent(0) * half};
  }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return tile::ceil_div(table.extent(0), Ctx::rows);
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    auto const self = *this;
    index_t const begin = ctx.tile() * Ctx::rows, left = table.extent(0) - begin;
    ctx.for_each((left < Ctx::rows ? left : index_t{Ctx::rows}) * half, [self, begin](index_t e) HEDDLE_LAMBDA {
      index_t const p = begin + e / self.half, i = e % self.half;
      double const power = -static_cast<double>(i) / static_cast<double>(self.half);
      double const angle = mul(static_cast<double>(self.first_position + p), pow(self.base, power));
      double sine, cosine;
      sincos(angle, sine, cosine);
      self.table(p, i) = static_cast<T>(cosine);
      self.table(p, self.half + i) = static_cast<T>(self.inverse ? -sine : sine);
    });
  }
};

template <class X, class Y>
struct rope_program {
  using value = tile::value_t<X>;
  view<X const, 2> x;
  view<Y, 2> y;
  view<value const, 2> table;
  index_t heads, half;

  template <class Ctx>
  struct shared {
    char none;
  };
  HEDDLE_FN bool unit_columns() const { return tile::has_unit_columns(x, y); }

  template <class Ctx>
  HEDDLE_HD_FN index_t tiles_per_sequence() const {
    return tile::ceil_div(table.extent(0), Ctx::rows);
  }
  HEDDLE_FN span work() const {
    return {.operation = "rope",
            .shape = {x.extent(0), x.extent(1)},
            .bytes = element_bytes(x, y, table),
            .flops = 6 * x.extent(0) * heads * half};
  }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return x.extent(0) / table.extent(0) * tiles_per_sequence<Ctx>();
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const tokens = table.extent(0), sequence = ctx.tile() / tiles_per_sequence<Ctx>();
    index_t const token = ctx.tile() % tiles_per_sequence<Ctx>() * Ctx::rows;
    auto const in = rows_of(x, sequence * tokens, tokens);
    auto const out = rows_of(y, sequence * tokens, tokens);
    auto const c = ctx.ref(table, token, 0, half), s = ctx.ref(table, token, half, half);
    for (index_t h = 0; h < heads; ++h) {
      index_t const at = h * 2 * half;
      auto const a = ctx.ref(in, token, at, half), b = ctx.ref(in, token, at + half, half);
      ctx.map_to(
          ctx.ref(out, token, at, half),
          [](auto const& a_, auto const& b_, auto const& c_, auto const& s_)
              HEDDLE_LAMBDA { return fma(a_, c_, -mul(b_, s_)); },
          a, b, c, s);
      ctx.map_to(
          ctx.ref(out, token, at + half, half),
          [](auto const& a_, auto const& b_, auto const& c_, auto const& s_)
              HEDDLE_LAMBDA { return fma(b_, c_, mul(a_, s_)); },
          a, b, c, s);
    }
    index_t const rest = heads * 2 * half, width = x.extent(1) - rest;
    if (width > 0) ctx.map_to(ctx.ref(out, token, rest, width), tile::pass, ctx.ref(in, token, rest, width));
  }

 private:
  template <class V>
  static HEDDLE_TILE V rows_of(V const& v, index_t first, index_t n) {
    return V(v.data() + first * v.stride(0), dims<2>(n, v.extent(1)), v.stride(0), v.stride(1));
  }
};

}  // namespace detail

/// Rotary position embedding: pairs (i, i + head_size / 2) of each head turn by position * base^(-2 i / head_size).
///
/// Shapes: x, y [sequences * tokens, width], strides free, heads * head_size <= width.
/// Types: any float storage; angles in fp64, rounded once to the type of the value. Pre: rows divide into sequences;
/// y does not overlap x; the base is positive and finite. Errors: contract_error. Complexity: one sine and cosine per
/// position and pair, shared by heads and sequences. Sync: submits. Determinism: the same bits everywhere. Memory:
/// scratch of tokens * head_size values. Source: Su et al. 2021, in the half-split order of the Llama checkpoints.
struct rope_fn {
  template <executor E, matrix_view X, matrix_view Y>
    requires writable_view<Y>
  HEDDLE_FN void operator()(E& exec, X const& x, Y const& y, rope_options const& o) const {
    using value = tile::value_t<typename X::value_type>;
    detail::expect_shape("rope", x, y);
    expect_apart("rope", y, x);
    HEDDLE_EXPECTS(o.base > 0 && is_finite(o.base), "rope: the base is positive and finite", o.base);
    HEDDLE_EXPECTS(o.head_size >= 0 && o.head_size % 2 == 0, "rope: a head rotates pairs, so its size must be even",
                   o.head_size);
    HEDDLE_EXPECTS(o.heads >= 0 && product_fits(o.heads, o.head_size, x.extent(1)), "rope: the heads must fit a row",
                   o.heads, o.head_size, x.extent(1));
    if (x.empty()) return;
    HEDDLE_EXPECTS(o.tokens >= 1 && x.extent(0) % o.tokens == 0, "rope: rows are whole sequences", x.extent(0),
                   o.tokens);
    scratch_frame<E> frame(exec);
    index_t const half = o.head_size / 2;
    view<value, 2> const table(frame.template take<value>(checked_product(o.tokens, o.head_size)),
                               dims<2>(o.tokens, o.head_size));
    if (half > 0)
      tile::run(exec, detail::rope_table_program<value>{table, o.base, o.first_position, half, o.inverse});
    tile::run(exec, detail::rope_program<typename X::value_type, typename Y::value_type>{
                        canonical_input(x), canonical(y), table, half > 0 ? o.heads : 0, half});
  }
};
inline constexpr rope_fn rope{};

}  // namespace nn
}  // namespace heddle
