// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/arith.hpp>
#include <heddle/linalg/detail/chains.hpp>
#include <heddle/linalg/detail/groups.hpp>
#include <heddle/linalg/epilogue.hpp>
#include <heddle/linalg/tile_matmul.hpp>

/// @file
/// The grouped products as tile programs: sums of pieces of k go to scratch, a second program joins the pieces and
/// stores. Tiles are dealt out before the offsets are known; a tile without rows does nothing.

namespace heddle::linalg::detail {

/// alpha, beta and where elements go, for products whose sums lie in scratch.
template <class T>
struct product_factors {
  T alpha, beta;

  /// Pre: `to` is readable where beta is not 0.
  template <class C, class Epilogue>
  HEDDLE_HD_FN void store(C* to, T sum, Epilogue const& epilogue, index_t row, index_t col) const {
    T value = sum;
    if (alpha != T(1) && alpha != T(0)) value = mul(alpha, value);
    if (beta == T(1))
      value = value + static_cast<T>(*to);
    else if (beta != T(0))
      value = fma(beta, static_cast<T>(*to), value);
    *to = static_cast<C>(epilogue(value, row, col, index_t{1}));
  }
};

/// sums[p][row][j]: piece p of k, each group's rows times its own matrix of b.
template <class A, class B, class T>
struct grouped_sums_program {
  row_groups groups;
  view<A const, 2> a;
  view<B const, 3> b;
  T* sums;
  chain_cuts cuts;  ///< of the columns of a that count

  using product = tile_matmul_program<A, B, T, tile::pass_fn>;
  template <class Ctx>
  using shared = typename product::template shared<Ctx>;

  HEDDLE_FN span work() const { return {.operation = "grouped_matmul.sums"}; }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return cuts.count() * groups.slots(Ctx::mt) * tile::ceil_div(b.extent(2), Ctx::nt);
  }

  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const n = b.extent(2), across = tile::ceil_div(n, Ctx::nt), slots = groups.slots(Ctx::mt);
    index_t const j = ctx.tile() % across * Ctx::nt, at = ctx.tile() / across % slots, p = ctx.tile() / across / slots;
    index_t const e = groups.owner_of_slot(at, Ctx::mt);
    if (e == groups.groups) return;  // slack
    index_t const from = groups.begin(e), rows = groups.end(e) - from;
    index_t const i = (at - groups.first_slot(e, Ctx::mt)) * Ctx::mt;
    if (i >= rows) return;
    index_t const k = cuts.at(p).offset, steps = cuts.at(p).size;
    product{view<A const, 2>(a.data() + from * a.stride(0) + k * a.stride(1), dims<2>(rows, steps), a.stride(0),
                             a.stride(1)),
            view<B const, 2>(b.data() + e * b.stride(0) + k * b.stride(1), dims<2>(steps, n), b.stride(1), b.stride(2)),
            view<T, 2>(sums + (p * groups.rows + from) * n, dims<2>(rows, n)),
            {}}
        .run_tile(ctx, i, j);
  }
};

/// One row of c from its sums; a row of the slack is 0.
template <class T, class C, class Epilogue>
struct grouped_store_program {
  using plain = void;
  row_groups groups;
  T const* sums;
  index_t pieces;
  view<C, 2> c;
  product_factors<T> factors;
  Epilogue epilogue;

  template <class Ctx>
  struct shared {};
  HEDDLE_FN span work() const { return {.operation = "grouped_matmul.store"}; }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return c.extent(0);
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const row = ctx.tile(), n = c.extent(1);
    bool const slack = groups.owner(row) == groups.groups;
    ctx.for_each(n, [this, row, n, slack](index_t j) HEDDLE_LAMBDA {
      C* const to = c.data() + row * c.stride(0) + j * c.stride(1);
      if (slack)
        *to = static_cast<C>(T(0));
      else
        factors.store(to,
                      tile::detail::stream_tree<T>(pieces, plus<>{},
                                                   [this, row, n, j](index_t p)
                                                       HEDDLE_LAMBDA { return sums[(p * c.extent(0) + row) * n + j]; }),
                      epilogue, row, j);
    });
  }
};

/// The pieces of all groups' rows, in slots whose number is known before the offsets are.
struct group_pieces {
  row_groups groups;
  index_t leaves;  ///< as in chain_cuts

  HEDDLE_HD_FN chain_cuts cuts(index_t e) const { return {groups.end(e) - groups.begin(e), leaves}; }
  HEDDLE_HD_FN index_t slots() const { return leaves > 0 ? groups.groups * leaves : groups.slots(chain_cuts::depth); }
  HEDDLE_HD_FN index_t owner(index_t slot) const {
    return leaves > 0 ? slot / leaves : groups.owner_of_slot(slot, chain_cuts::depth);
  }
  HEDDLE_HD_FN index_t first(index_t e) const {
    return leaves > 0 ? e * leaves : groups.first_slot(e, chain_cuts::depth);
  }
};

/// sums[slot][i][j]: one piece of a group's rows, the columns of a times the columns of b.
template <class A, class B, class T>
struct grouped_weight_sums_program {
  group_pieces pieces;
  view<A const, 2> a;
  view<B const, 2> b;
  T* sums;

  using product = tile_matmul_program<A, B, T, tile::pass_fn>;
  template <class Ctx>
  using shared = typename product::template shared<Ctx>;

  HEDDLE_FN span work() const { return {.operation = "grouped_matmul_weight.sums"}; }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return pieces.slots() * tile::ceil_div(a.extent(1), Ctx::mt) * tile::ceil_div(b.extent(1), Ctx::nt);
  }

  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const m = a.extent(1), n = b.extent(1);
    index_t const across = tile::ceil_div(n, Ctx::nt), down = tile::ceil_div(m, Ctx::mt);
    index_t const j = ctx.tile() % across * Ctx::nt, i = ctx.tile() / across % down * Ctx::mt;
    index_t const at = ctx.tile() / across / down, e = pieces.owner(at);
    if (e == pieces.groups.groups) return;  // slack
    index_t const piece = at - pieces.first(e);
    chain_cuts const cuts = pieces.cuts(e);
    if (cuts.k == 0 || piece >= cuts.count()) return;
    index_t const from = pieces.groups.begin(e) + cuts.at(piece).offset, steps = cuts.at(piece).size;
    product{view<A const, 2>(a.data() + from * a.stride(0), dims<2>(m, steps), a.stride(1), a.stride(0)),
            view<B const, 2>(b.data() + from * b.stride(0), dims<2>(steps, n), b.stride(0), b.stride(1)),
            view<T, 2>(sums + at * m * n, dims<2>(m, n)),
            {}}
        .run_tile(ctx, i, j);
  }
};

/// One row of one matrix of c from the sums of its group's pieces; a group without rows sums to 0.
template <class T, class C>
struct grouped_weight_store_program {
  using plain = void;
  group_pieces pieces;
  T const* sums;
  view<C, 3> c;
  product_factors<T> factors;

  template <class Ctx>
  struct shared {};
  HEDDLE_FN span work() const { return {.operation = "grouped_matmul_weight.store"}; }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return c.extent(0) * c.extent(1);
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const e = ctx.tile() / c.extent(1), row = ctx.tile() % c.extent(1), n = c.extent(2);
    chain_cuts const cuts = pieces.cuts(e);
    index_t const count = cuts.k == 0 || factors.alpha == T(0) ? 0 : cuts.count(), first = pieces.first(e);
    ctx.for_each(n, [this, e, row, n, count, first](index_t j) HEDDLE_LAMBDA {
      T const sum =
          count == 0 ? T(0)
                     : tile::detail::stream_tree<T>(count, plus<>{}, [this, row, n, j, first](index_t p) HEDDLE_LAMBDA {
                         return sums[((first + p) * c.extent(1) + row) * n + j];
                       });
      factors.store(c.data() + e * c.stride(0) + row * c.stride(1) + j * c.stride(2), sum, no_epilogue{}, row, j);
    });
  }
};

}  // namespace heddle::linalg::detail
