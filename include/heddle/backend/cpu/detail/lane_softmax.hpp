// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/backend/cpu/detail/lane_panels.hpp>
#include <heddle/backend/cpu/detail/lane_turn.hpp>
#include <heddle/core/math.hpp>
#include <heddle/core/math_weight.hpp>

namespace heddle::attention::detail {

/// to[d] = scale * row[d].
template <class V, class T, class In>
HEDDLE_SHIM void scale_row(T* to, In const* row, index_t columns, T scale) {
  index_t d = 0;
  for (; d + V::width <= columns; d += V::width) mul(V::splat(scale), load_as<V>(row + d)).store(to + d);
  for (; d < columns; ++d) to[d] = mul(scale, static_cast<T>(row[d]));
}

/// to[d][lane] = scale * row of the lane [d]; lanes out of use are 0. `rows` has room for as many numbers as `to`.
template <class Isa, class T, class In, class Tile>
HEDDLE_SHIM void pack_lanes(T* to, T* rows, head_rows<In const> const& from, Tile const& tile, index_t columns,
                            T scale) {
  using V = typename lane_blocking<Isa, T>::vector;
  // Whole rows first: many cache lines are asked for at once. The transposition then runs inside the cache.
  for (index_t lane = 0; lane < tile.rows; ++lane) {
    scale_row<V>(rows + lane * columns, from.row(tile.token(lane), tile.head(lane)), columns, scale);
  }
  for (index_t i = tile.rows * columns; i < lanes * columns; ++i) rows[i] = T(0);
  turn_into_lanes<V>(to, rows, columns);
}

/// s becomes cap * tanh(s / cap).
template <class Isa, class T>
HEDDLE_SHIM void cap_scores(T* scores, T cap, column_run const& run) {
  using V = typename lane_blocking<Isa, T>::vector;
  for (index_t i = run.lo * lanes; i < run.hi * lanes; i += V::width)
    mul(V::splat(cap), tanh(V::load(scores + i) / V::splat(cap))).store(scores + i);
}

/// Excluded scores of columns [begin, end) become -inf.
template <class V, class T>
HEDDLE_SHIM void hide_scores(T* scores, visibility const& seen, index_t begin, index_t end, index_t lane) {
  for (index_t c = begin; c < end; ++c) {
    T* const at = scores + c * lanes + lane;
    select(lanes_in<V>(seen.bits[c], lane), V::load(at), V::splat(softmax_monoid<T>::lowest)).store(at);
  }
}

/// Scores of columns [begin, end) become weights relative to `base` and are added up. With Masked, excluded ones
/// become `hidden`.
template <bool Masked, class V, class T>
HEDDLE_SHIM void weigh_columns(T* scores, visibility const& seen, index_t begin, index_t end, index_t lane,
                               V const& base, V& sum, T hidden) {
  for (index_t c = begin; c < end; ++c) {
    T* const at = scores + c * lanes + lane;
    V weight = score_weight(V::load(at) - base);
    sum = sum + weight;
    if constexpr (Masked) weight = select(lanes_in<V>(seen.bits[c], lane), weight, V::splat(hidden));
    weight.store(at);
  }
}

/// The largest of `least` and the scores of columns [begin, end), NaN left out.
template <class V, class T>
HEDDLE_SHIM V largest_score(T const* scores, index_t begin, index_t end, V const& least) {
  V even = least, odd = least;
  index_t c = begin;
  for (; c + 2 <= end; c += 2) {
    V const a = V::load(scores + c * lanes), b = V::load(scores + c * lanes + lanes);
    even = select(a > even, a, even);
    odd = select(b > odd, b, odd);
  }
  if (c < end) {
    V const a = V::load(scores + c * lanes);
    even = select(a > even, a, even);
  }
  return select(odd > even, odd, even);
}

/// Whether rows [begin, end) hold finite numbers only, so that a zero weight excludes them.
template <class Isa, class T>
HEDDLE_SHIM bool all_finite(staged<T> const& rows, index_t begin, index_t end, index_t columns) {
  using V = typename lane_blocking<Isa, T>::vector;
  V sum = V::zero();
  T rest = T(0);
  for (index_t c = begin; c < end; ++c) {
    T const* const row = rows.data + c * rows.stride;
    index_t d = 0;
    for (; d + V::width <= columns; d += V::width) sum = fma(V::load(row + d), V::zero(), sum);
    for (; d < columns; ++d) rest = fma(row[d], T(0), rest);
  }
  return all(sum == V::zero()) && rest == T(0);
}

/// The softmax monoid's push_block in every lane: scores become weights, the state's maximum and sum move on, and
/// `factor` receives what the accumulated values are to be scaled by. Only the first `used` lanes count.
template <class Isa, class T>
HEDDLE_SHIM void weigh_block(T* scores, T* max, T* sum, T* factor, visibility const& seen, T hidden, index_t used) {
  using V = typename lane_blocking<Isa, T>::vector;
  column_run const& run = seen.run;
  index_t const edge[] = {run.lo, run.full_begin, run.full_end, run.hi};
  for (index_t lane = 0; lane < used; lane += V::width) {
    for (int part = 0; part < 3; part += 2) hide_scores<V>(scores, seen, edge[part], edge[part + 1], lane);
    V const before = V::load(max + lane);
    V const most = largest_score(scores + lane, run.lo, run.hi, before);
    V const base = softmax_base(most), shrink = score_weight(before - base);
    V total = V::zero();
    for (int part = 0; part < 3; ++part)
      if (part == 1)
        weigh_columns<false>(scores, seen, edge[1], edge[2], lane, base, total, hidden);
      else
        weigh_columns<true>(scores, seen, edge[part], edge[part + 1], lane, base, total, hidden);
    fma(V::load(sum + lane), shrink, total).store(sum + lane);
    most.store(max + lane);
    shrink.store(factor + lane);
  }
}

/// acc[d][lane] is divided by the lane's sum; 0 where that is 0; never -0.
template <class Isa, class T>
HEDDLE_SHIM void divide_lanes(T* acc, T const* sum, index_t columns) {
  using V = typename lane_blocking<Isa, T>::vector;
  for (index_t lane = 0; lane < lanes; lane += V::width) {
    V const all = V::load(sum + lane);
    mask_t<V> const none = all == V::zero();
    for (index_t d = 0; d < columns; ++d) {
      T* const at = acc + d * lanes + lane;
      select(none, V::zero(), V::load(at) / all + V::zero()).store(at);
    }
  }
}

/// Row of the lane [d] = scale * sums[d][lane], rounded to the row's type; never -0.
template <class Isa, class Out, class T, class Tile>
HEDDLE_SHIM void write_lanes(head_rows<Out> const& to, Tile const& tile, T const* sums, index_t columns, T scale) {
  write_rows<Isa>(to, tile, sums, columns, scaled_by<T>{scale});
}

}  // namespace heddle::attention::detail
