// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/attention/detail/rows.hpp>
#include <heddle/backend/cpu/detail/lane_product.hpp>
#include <heddle/backend/cpu/matmul_pack.hpp>
#include <heddle/core/bf16.hpp>
#include <heddle/core/fp16.hpp>

/// @file
/// Rows of operands become panels of 32 lanes, and panels rows: squares are turned in registers.

namespace heddle::attention::detail {

/// to[d][lane] = rows[lane][d] for 32 rows of `columns` numbers without gaps.
template <class V>
HEDDLE_SHIM void turn_into_lanes(lane_t<V>* to, lane_t<V> const* rows, index_t columns) {
  constexpr int W = V::width;
  index_t d = 0;
  for (; d + W <= columns; d += W)
    for (index_t lane = 0; lane < lanes; lane += W) {
      V square[W];
      cpu::detail::load_square(rows + lane * columns + d, columns, square);
      cpu::detail::store_lines(std::make_integer_sequence<int, W>{}, square, to + d * lanes + lane, lanes);
    }
  for (; d < columns; ++d)
    for (index_t lane = 0; lane < lanes; ++lane) to[d * lanes + lane] = rows[lane * columns + d];
}

/// Whether vectors of T are rounded to Out as single numbers are.
template <class T, class Out>
inline constexpr bool stores_vectors = std::is_same_v<T, Out> ||
                                       (std::is_same_v<T, float> &&
                                        (std::is_same_v<Out, bf16> || std::is_same_v<Out, fp16>));

/// Writes columns [d, d + W) of the rows from lane `lane` on, from W rows of a panel.
template <class V, class Out, class Tile, class Change, int... I>
HEDDLE_SHIM void write_square(std::integer_sequence<int, I...> each, head_rows<Out> const& to, Tile const& tile,
                              lane_t<V> const* panel, index_t d, index_t lane, Change const& change) {
  V square[sizeof...(I)];
  cpu::detail::load_square(panel + d * lanes + lane, lanes, square);
  (void)each;
  ((lane + I < tile.rows ? store_as<Out>(to.row(tile.token(lane + I), tile.head(lane + I)) + d, change(square[I]))
                         : void()),
   ...);
}

/// Row of the lane [d] = change(panel[d][lane]), rounded to the row's type. Change serves vectors and numbers.
template <class Isa, class Out, class T, class Tile, class Change>
HEDDLE_SHIM void write_rows(head_rows<Out> const& to, Tile const& tile, T const* panel, index_t columns,
                            Change const& change) {
  using V = typename lane_blocking<Isa, T>::vector;
  constexpr int W = V::width;
  index_t d = 0;
  if constexpr (stores_vectors<T, Out>)
    for (; d + W <= columns; d += W)
      for (index_t lane = 0; lane < tile.rows; lane += W)
        write_square<V>(std::make_integer_sequence<int, W>{}, to, tile, panel, d, lane, change);
  for (index_t lane = 0; lane < tile.rows; ++lane) {
    Out* const row = to.row(tile.token(lane), tile.head(lane));
    for (index_t c = d; c < columns; ++c) row[c] = static_cast<Out>(change(panel[c * lanes + lane]));
  }
}

/// What becomes of a number that is written: nothing, or it is multiplied and never -0.
struct unchanged {
  template <class V>
  HEDDLE_SHIM V operator()(V const& x) const {
    return x;
  }
};
template <class T>
struct scaled_by {
  T scale;
  template <class V>
  HEDDLE_SHIM V operator()(V const& x) const {
    return mul(splat<V>(scale), x) + splat<V>(T(0));
  }
};

}  // namespace heddle::attention::detail
