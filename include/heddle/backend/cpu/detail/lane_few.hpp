// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/backend/cpu/detail/lane_pairs.hpp>
#include <heddle/backend/cpu/matmul_pack.hpp>

/// @file
/// Products for few queries over many keys, bound by reading keys and values once. Keys stand in lanes for the scores
/// (squares are turned in registers), columns of values for the sums. Every element is the chain that the products of
/// lane_product.hpp and lane_pairs.hpp compute.

namespace heddle::attention::detail {

/// Rows that are asked for before they are read, line by line.
struct row_requests {
  char const* at;
  index_t pitch, width, done, rows;  ///< bytes between rows and of one row, bytes asked for of this row, rows left

  template <class E>
  HEDDLE_SHIM row_requests(E const* first, index_t stride, index_t columns, index_t count) noexcept
      : at(reinterpret_cast<char const*>(first)),
        pitch(stride * static_cast<index_t>(sizeof(E))),
        width(columns * static_cast<index_t>(sizeof(E))),
        done(0),
        rows(count) {}

  HEDDLE_SHIM void ask(index_t lines) noexcept {
    for (; lines > 0 && rows > 0; --lines) {
      __builtin_prefetch(at + done);
      done += 64;
      if (done < width) continue;
      done = 0;
      at += pitch;
      --rows;
    }
  }
};

/// One vector of numbers, with the members of pair_vector.
template <class Isa, class T>
struct number_vector {
  using word = T;
  using V = typename lane_blocking<Isa, T>::vector;
  using words = V;

  V number;

  static HEDDLE_SHIM number_vector of(V const& x) { return {x}; }
  static HEDDLE_SHIM number_vector splat(T const* p) { return {V::splat(*p)}; }
  static HEDDLE_SHIM void step(V& sum, number_vector const& a, number_vector const& b) {
    sum = fma(a.number, b.number, sum);
  }
  template <int... I, class Sums>
  static HEDDLE_SHIM void run(std::integer_sequence<int, I...>, V*, Sums const& sums) {
    sums();
  }
};
template <class Isa>
struct word_vector : pair_vector<Isa> {
  using base = pair_vector<Isa>;
  using word = std::uint32_t;
  using typename base::V;
  using words = typename base::U;

  template <int... I, class Sums>
  static HEDDLE_SHIM void run(std::integer_sequence<int, I...> all, V* acc, Sums const& sums) {
    in_pair_mode<Isa>(all, acc, sums);
  }
};

template <class P, class V, class W, int... K>
HEDDLE_SHIM void few_square_lane(std::integer_sequence<int, K...>, V& acc, typename P::word const* q, W const* square) {
  (P::step(acc, P::of(square[K]), P::splat(q + K * lanes)), ...);
}
/// The sums of up to few_lanes lanes gain one square of keys. Lanes are named one by one, so that sums stay in
/// registers.
template <class P, class V, class W, int... L>
HEDDLE_SHIM void few_square(std::integer_sequence<int, L...>, V* acc, typename P::word const* q, W const* square,
                            index_t used) {
  constexpr std::make_integer_sequence<int, W::width> each{};
  ((L < used ? few_square_lane<P>(each, acc[L], q + L, square) : void()), ...);
}

/// out[c][lane] = finish of the product of row c and the lane's column of q, for whole vectors of rows; returns how
/// many rows that were. Asks for `lines` of `next` with every square.
template <class P, class Finish>
HEDDLE_SHIM index_t few_scores(lane_t<typename P::V>* out, typename P::word const* rows, index_t stride, index_t n,
                               typename P::word const* q, index_t steps, index_t used, row_requests& next,
                               index_t lines, Finish const& finish) {
  using V = typename P::V;
  using W = typename P::words;
  constexpr int width = V::width;
  constexpr std::make_integer_sequence<int, few_lanes> all{};
  index_t r = 0;
  for (; r + width <= n; r += width) {
    typename P::word const* const block = rows + r * stride;
    V acc[few_lanes];
    clear_all(all, acc);
    P::run(all, acc, [&]() HEDDLE_LAMBDA {
      index_t d = 0;
      for (; d + width <= steps; d += width) {
        next.ask(lines);
        W square[width];
        cpu::detail::load_square(block + d, stride, square);
        few_square<P>(all, acc, q + d * lanes, square, used);
      }
      for (; d < steps; ++d) {
        W column;
        for (int i = 0; i < width; ++i) column.lane[i] = block[i * stride + d];
        for (int lane = 0; lane < few_lanes; ++lane)
          if (lane < used) P::step(acc[lane], P::of(column), P::splat(q + d * lanes + lane));
      }
    });
    for (index_t lane = 0; lane < used; ++lane) {
      V const x = finish(acc[lane]);
      for (int i = 0; i < width; ++i) out[(r + i) * lanes + lane] = x.lane[i];
    }
  }
  return r;
}

/// Values of key c as one vector of columns from d on: numbers.
template <class Isa, class T>
struct few_numbers : number_vector<Isa, T> {
  using base = number_vector<Isa, T>;
  using typename base::V;
  static constexpr index_t together = 1;

  static HEDDLE_SHIM base load(T const* row, index_t, bool) { return base::of(V::load(row)); }
};
/// Values of keys c and c + 1; the second may be missing.
template <class Isa>
struct few_words : word_vector<Isa> {
  using base = pair_vector<Isa>;
  using typename word_vector<Isa>::V;
  static constexpr index_t together = 2;

  static HEDDLE_SHIM base load(bf16 const* row, index_t stride, bool both) {
    typename base::U word = shift_right<16>(bit_cast<std::uint32_t>(load_as<V>(row)));
    if (both) word = word | bit_cast<std::uint32_t>(load_as<V>(row + stride));
    return base::of(word);
  }
};

/// A value step of one lane; lanes and vectors are named one by one, so that sums stay in registers.
template <class F, int Lane, class V, class B, class W, int... I>
HEDDLE_SHIM void few_gain(std::integer_sequence<int, I...>, V* sums, B const* values, W const* weight) {
  B const w = F::splat(weight);
  (F::step(sums[Lane * static_cast<int>(sizeof...(I)) + I], values[I], w), ...);
}
template <class F, class V, class E, class W, int... L, int... I>
HEDDLE_SHIM void few_value_step(std::integer_sequence<int, L...>, std::integer_sequence<int, I...> vectors, V* sums,
                                E const* row, index_t stride, bool both, W const* weights, index_t count) {
  typename F::base const values[] = {F::load(row + I * V::width, stride, both)...};
  ((L < count ? few_gain<F, L>(vectors, sums, values, weights + L) : void()), ...);
}

/// The columns [d, d + Vectors * width) of few_values.
template <class F, int Vectors, class W, class E, class T>
HEDDLE_SHIM void few_value_block(T* acc, index_t pitch, E const* values, index_t stride, W const* weights, index_t lo,
                                 index_t hi, T const* factor, index_t used, row_requests& next) {
  using V = typename F::V;
  constexpr int rows = 4;
  constexpr std::make_integer_sequence<int, rows> lane_numbers{};
  constexpr std::make_integer_sequence<int, Vectors> vectors{};
  constexpr std::make_integer_sequence<int, rows * Vectors> all{};
  for (index_t lane = 0; lane < used; lane += rows) {
    index_t const count = used - lane < rows ? used - lane : index_t{rows};
    V sums[rows * Vectors];
    clear_all(all, sums);
    F::run(all, sums, [&]() HEDDLE_LAMBDA {
      for (index_t c = lo; c < hi; c += F::together) {
        next.ask(Vectors * F::together * static_cast<index_t>(sizeof(E)) * V::width / 64);
        few_value_step<F>(lane_numbers, vectors, sums, values + c * stride, stride, c + 1 < hi,
                          weights + c / F::together * lanes + lane, count);
      }
    });
    for (index_t l = 0; l < count; ++l)
      for (int i = 0; i < Vectors; ++i) {
        T* const to = acc + (lane + l) * pitch + i * V::width;
        fma(V::load(to), V::splat(factor[lane + l]), sums[l * Vectors + i]).store(to);
      }
  }
}

/// acc[lane][d] = factor[lane] * itself + the sum over keys c in [lo, hi) of weights[c][lane] times value (c, d), rows
/// of acc `pitch` apart. Pre: all these pairs are visible, columns come in whole vectors, lo is even.
template <class F, class W, class E, class T>
HEDDLE_SHIM void few_values(T* acc, index_t pitch, E const* values, index_t stride, index_t columns, W const* weights,
                            index_t lo, index_t hi, T const* factor, index_t used, row_requests& next) {
  constexpr index_t width = F::V::width;
  index_t d = 0;
  for (; d + 4 * width <= columns; d += 4 * width)
    few_value_block<F, 4>(acc + d, pitch, values + d, stride, weights, lo, hi, factor, used, next);
  for (; d < columns; d += width)
    few_value_block<F, 1>(acc + d, pitch, values + d, stride, weights, lo, hi, factor, used, next);
}

/// Rows of up to few_lanes lanes, `pitch` apart, become a panel of `columns` rows where they lie, and back. `room`
/// holds as many numbers as the rows.
template <class T>
HEDDLE_SHIM void rows_into_panel(T* at, T* room, index_t pitch, index_t columns, index_t used) {
  for (index_t i = 0; i < used * pitch; ++i) room[i] = at[i];
  for (index_t d = 0; d < columns; ++d)
    for (index_t lane = 0; lane < used; ++lane) at[d * lanes + lane] = room[lane * pitch + d];
}
template <class T>
HEDDLE_SHIM void panel_into_rows(T* at, T* room, index_t pitch, index_t columns, index_t used) {
  for (index_t lane = 0; lane < used; ++lane)
    for (index_t d = 0; d < pitch; ++d) room[lane * pitch + d] = d < columns ? at[d * lanes + lane] : T(0);
  for (index_t i = 0; i < used * pitch; ++i) at[i] = room[i];
}

}  // namespace heddle::attention::detail
