// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/overlap.hpp>
#include <heddle/tile/functions.hpp>
#include <heddle/tile/run.hpp>

namespace heddle {
namespace nn {

namespace detail {

template <class T, class P, class Y>
struct embedding_program : tile::over_rows {
  view<T const, 2> table;
  view<P const, 2> positions;  // without rows: none
  view<std::int32_t const, 1> tokens;
  view<Y, 2> y;
  index_t sequence;

  HEDDLE_FN bool unit_columns() const { return tile::has_unit_columns(table, positions, y); }
  HEDDLE_FN span work() const {
    bool const placed = positions.extent(0) > 0;
    return {.operation = "embedding",
            .shape = {y.extent(0), y.extent(1)},
            .bytes = element_bytes(tokens, y) + y.size() * static_cast<index_t>(sizeof(T) + (placed ? sizeof(P) : 0)),
            .flops = placed ? y.size() : 0};
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const begin = ctx.tile() * Ctx::rows, width = y.extent(1);
    for (index_t row = begin; row < begin + Ctx::rows && row < tokens.extent(0); ++row) {
      index_t const token = tokens(row);
      HEDDLE_EXPECTS(token >= 0 && token < table.extent(0), "embedding: a token must be in the vocabulary", row, token,
                     table.extent(0));
      tile::matrix_ref<Y> const out{y.data() + row * y.stride(0), 1, width, width, y.stride(0), y.stride(1)};
      tile::matrix_ref<T const> const in{table.data() + token * table.stride(0), 1, width, width, table.stride(0),
                                         table.stride(1)};
      if (positions.extent(0) == 0) {
        ctx.map_to(out, tile::pass, in);
      } else {
        index_t const at = row % sequence;
        tile::matrix_ref<P const> const position{positions.data() + at * positions.stride(0), 1, width, width,
                                                 positions.stride(0), positions.stride(1)};
        ctx.map_to(out, plus<>{}, in, position);
      }
    }
  }
};

/// Sums, into row v of dtable, the rows of dy that have key v, in ascending order; rows without any become zero.
/// Keys are tokens, or positions inside a sequence where there are no tokens.
template <class G, class D>
struct embedding_weight_program {
  using value = tile::value_t<D>;
  view<std::int32_t const, 1> tokens;
  index_t sequence;
  view<G const, 2> dy;
  view<D, 2> dtable;

  template <class Ctx>
  struct shared {
    char none;
  };
  HEDDLE_FN bool unit_columns() const { return tile::has_unit_columns(dy, dtable); }

  HEDDLE_FN span work() const {
    return {.operation = sequence > 0 ? "position_backward" : "embedding_backward",
            .shape = {dy.extent(0), dtable.extent(0), dtable.extent(1)},
            .bytes = element_bytes(tokens, dy, dtable),
            .flops = dy.size()};
  }

  static constexpr index_t block = 64;  // table rows of a tile: one scan of the tokens serves them all
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return tile::ceil_div(dtable.extent(0), block);
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const lo = ctx.tile() * block;
    index_t const hi = lo + block < dtable.extent(0) ? lo + block : dtable.extent(0);
    index_t const width = dtable.extent(1);
    if (ctx.tile() == 0) check();
    for (index_t v = lo; v < hi; ++v)
      ctx.map_to(
          row_of(v), [](auto const& g) HEDDLE_LAMBDA { return splat<std::remove_cvref_t<decltype(g)>>(value(0)); },
          row_of(v));
    for (index_t row = 0; row < dy.extent(0); ++row) {
      index_t const key = sequence > 0 ? row % sequence : index_t{tokens(row)};
      if (key < lo || key >= hi) continue;
      tile::matrix_ref<G const> const g{dy.data() + row * dy.stride(0), 1, width, width, dy.stride(0), dy.stride(1)};
      ctx.map_to(row_of(key), plus<>{}, row_of(key), g);
    }
  }

 private:
  HEDDLE_TILE void check() const {
    for (index_t row = 0; row < tokens.extent(0); ++row)
      HEDDLE_EXPECTS(tokens(row) >= 0 && tokens(row) < dtable.extent(0), "embedding: a token must be in the vocabulary",
                     row, tokens(row), dtable.extent(0));
  }
  HEDDLE_TILE tile::matrix_ref<D> row_of(index_t v) const {
    return {dtable.data() + v * dtable.stride(0), 1, dtable.extent(1), dtable.extent(1), dtable.stride(0),
            dtable.stride(1)};
  }
};

}  // namespace detail

/// y[row] = table[token of row] + positions[row mod sequence].
///
/// Shapes: table [vocabulary, width], positions [at least sequence, width] or no rows for none, tokens [rows],
/// y [rows, width]. Types: any float storage, int32 tokens. Pre: 0 <= token < vocabulary; sequence >= 1 with positions;
/// y overlaps nothing. Errors: contract_error naming row and token, when the work runs. Complexity: one row of the
/// table read and one written per token. Sync: submits. Determinism: the same bits everywhere. Memory: none.
struct embedding_fn {
  template <executor E, matrix_view T, matrix_view P, matrix_view Y>
    requires writable_view<Y>
  HEDDLE_FN void operator()(E& exec, T const& table, P const& positions, view<std::int32_t const, 1> const& tokens,
                            index_t sequence, Y const& y) const {
    HEDDLE_EXPECTS(table.extent(1) == y.extent(1) && tokens.extent(0) == y.extent(0),
                   "embedding: one row of the table per token", table.extent(1), y.extent(1), tokens.extent(0),
                   y.extent(0));
    if (positions.extent(0) > 0) {
      HEDDLE_EXPECTS(sequence >= 1 && sequence <= positions.extent(0),
                     "embedding: a sequence must not be longer than the table of positions", sequence,
                     positions.extent(0));
      HEDDLE_EXPECTS(positions.extent(1) == y.extent(1), "embedding: positions are as wide as y", positions.extent(1),
                     y.extent(1));
    }
    expect_apart("embedding", y, table, positions, tokens);
    if (y.empty()) return;
    tile::run(exec, detail::embedding_program<typename T::value_type, typename P::value_type, typename Y::value_type>{
                        {tokens.extent(0)}, canonical_input(table), canonical_input(positions), tokens, canonical(y),
                        sequence});
  }
};
inline constexpr embedding_fn embedding{};

/// dtable[v] = sum over the rows with token v of dy; rows of absent tokens become zero; overwrites.
///
/// Shapes: tokens [rows], dy [rows, width], dtable [vocabulary, width]. Pre: 0 <= token < vocabulary.
/// Errors: contract_error naming row and token, when the work runs.
/// Complexity: rows * vocabulary / 64 comparisons, rows * width additions. Sync: submits.
/// Determinism: rows ascending from 0, the same bits everywhere.
struct embedding_backward_fn {
  template <executor E, matrix_view G, matrix_view D>
    requires writable_view<D>
  HEDDLE_FN void operator()(E& exec, view<std::int32_t const, 1> const& tokens, G const& dy, D const& dtable) const {
    HEDDLE_EXPECTS(dy.extent(1) == dtable.extent(1) && tokens.extent(0) == dy.extent(0),
                   "embedding: one row of dy per token", dy.extent(0), tokens.extent(0), dy.extent(1),
                   dtable.extent(1));
    HEDDLE_EXPECTS(tokens.extent(0) == 0 || dtable.extent(0) > 0, "embedding: a token must be in the vocabulary",
                   tokens.extent(0), dtable.extent(0));
    expect_apart("embedding_backward", dtable, tokens, dy);
    if (dtable.empty()) return;
    tile::run(exec, detail::embedding_weight_program<typename G::value_type, typename D::value_type>{
                        tokens, 0, canonical_input(dy), canonical(dtable)});
  }
};
inline constexpr embedding_backward_fn embedding_backward{};

/// dpositions[p] = sum over sequences of dy[s * sequence + p]; later positions become zero; overwrites.
///
/// Shapes: dy [rows, width], dpositions [positions, width]. Types: any float storage, added in the accumulator's type.
/// Pre: 1 <= sequence, at most the positions where there are rows; dpositions overlaps nothing. Errors: contract_error.
/// Complexity: one pass over dy. Sync: submits. Determinism: sequences ascending from 0, the same bits everywhere.
/// Memory: none.
struct position_backward_fn {
  template <executor E, matrix_view G, matrix_view D>
    requires writable_view<D>
  HEDDLE_FN void operator()(E& exec, index_t sequence, G const& dy, D const& dpositions) const {
    HEDDLE_EXPECTS(dy.extent(1) == dpositions.extent(1) && sequence >= 1, "positions are as wide as dy", dy.extent(1),
                   dpositions.extent(1), sequence);
    expect_apart("position_backward", dpositions, dy);
    if (dpositions.empty()) return;
    HEDDLE_EXPECTS(dy.extent(0) == 0 || sequence <= dpositions.extent(0),
                   "embedding: a sequence must not be longer than the table of positions", sequence,
                   dpositions.extent(0));
    tile::run(exec, detail::embedding_weight_program<typename G::value_type, typename D::value_type>{
                        {}, sequence, canonical_input(dy), canonical(dpositions)});
  }
};
inline constexpr position_backward_fn position_backward{};

}  // namespace nn
}  // namespace heddle
