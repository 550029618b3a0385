// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/arith.hpp>
#include <heddle/core/extents.hpp>
#include <heddle/core/math.hpp>
#include <heddle/core/math_weight.hpp>

#include <limits>

namespace heddle::attention {

/// Keys are taken in blocks of this many, counted from the start of their sequence. Part of the definition of the
/// result's bits.
inline constexpr index_t keys_per_block = 128;

namespace detail {
/// Keys whose score lies further below the maximum have weight 0 and no gradient; part of the definition of the bits,
/// as keys_per_block is. Above exp_weight's own limit by less than 0.4: the weights between the two are below 1.7e-38.
template <class T>
inline constexpr T least_score = sizeof(T) == 4 ? T(-87) : T(-708);

template <real_lanes V>
HEDDLE_TILE V score_weight(V const& x) {
  return exp_weight(x, least_score<lane_t<V>>);
}
}  // namespace detail

/// A row's attention over the keys seen so far: their largest score, the sum of weights relative to it, and the
/// weighted sum of their values.
template <class T, std::size_t Width>
struct softmax_state {
  T max;
  T sum;
  T acc[Width > 0 ? Width : 1];

  HEDDLE_HD_FN constexpr index_t width() const noexcept { return static_cast<index_t>(Width); }
};

/// The same with a run-time width over memory of the caller.
template <class T>
struct softmax_row {
  T max;
  T sum;
  T* acc;
  index_t columns;

  HEDDLE_HD_FN constexpr index_t width() const noexcept { return columns; }
};

/// The softmax monoid: attention over a set of keys, as a value that can be combined with attention over other keys.
///
/// Types: state of float for all narrow inputs, of double for double. Meaning: `identity` is the state of no keys
/// (-inf, 0, 0); `combine(into, from)` makes `into` the state of both sets. Weights of a state whose maximum is -inf
/// are exactly 0, and values behind a zero state are not multiplied. A score of NaN or +inf makes its own row NaN.
/// Determinism: `combine` commutes exactly and associates up to rounding, so a fixed tree gives fixed bits.
/// States are changed where they lie, because `acc` may be memory of the caller; laws and flags are those of `monoid`.
template <class T>
struct softmax_monoid {
  static constexpr bool commutative = true;
  static constexpr bool exact = false;
  static constexpr T lowest = -std::numeric_limits<T>::infinity();

  template <class State>
  HEDDLE_HD_FN static constexpr void identity(State& s) {
    s.max = lowest;
    s.sum = T(0);
    for (index_t d = 0; d < s.width(); ++d) s.acc[d] = T(0);
  }

  /// Takes one key. `value(d)` gives column d of its value.
  template <class State, class Value>
  HEDDLE_HD_FN static void push(State& s, T score, Value const& value) {
    push_block(s, 1, &score, [&](index_t, index_t d) { return value(d); });
  }

  /// Takes n keys with one rescaling of the state; `value(c, d)` gives column d of the c-th value. Excluded keys are
  /// not in the block. The scores are replaced by the weights.
  /// Numerics: the block's sums are chains from 0 over ascending keys; the state is scaled and added once.
  template <class State, class Value>
  HEDDLE_HD_FN static void push_block(State& s, index_t n, T* scores, Value const& value) {
    push_block(s, n, scores, value, [](T*) {});
  }
  /// The same; `change(weights)` may change the block's weights after they were summed.
  template <class State, class Value, class Change>
  HEDDLE_HD_FN static void push_block(State& s, index_t n, T* scores, Value const& value, Change const& change) {
    push_sums(s, n, scores, change, [&](T const* weights, index_t d) {
      T part = T(0);
      for (index_t c = 0; c < n; ++c) part = heddle::fma(weights[c], static_cast<T>(value(c, d)), part);
      return part;
    });
  }
  /// The same; `part(weights, d)` is the block's sum of column d.
  template <class State, class Change, class Part>
  HEDDLE_HD_FN static void push_sums(State& s, index_t n, T* scores, Change const& change, Part const& part) {
    if (n == 0) return;
    T max = s.max;
    for (index_t c = 0; c < n; ++c) max = scores[c] > max ? scores[c] : max;
    T const from = softmax_base(max), shrink = detail::score_weight(s.max - from);
    T sum = T(0);
    for (index_t c = 0; c < n; ++c) {
      scores[c] = detail::score_weight(scores[c] - from);
      sum += scores[c];
    }
    change(scores);
    for (index_t d = 0; d < s.width(); ++d) s.acc[d] = heddle::fma(s.acc[d], shrink, part(scores, d));
    s.sum = heddle::fma(s.sum, shrink, sum);
    s.max = max;
  }

  /// Takes one key whose value is 0: the maximum and the sum move on, and `acc` is to be multiplied by the result.
  template <class State>
  HEDDLE_HD_FN static T push_sink(State& s, T score) {
    T const max = score > s.max ? score : s.max, base = softmax_base(max);
    T const shrink = detail::score_weight(s.max - base);
    s.sum = heddle::mul(shrink, s.sum) + detail::score_weight(score - base);
    s.max = max;
    return shrink;
  }

  template <class State, class Other>
  HEDDLE_HD_FN static void combine(State& into, Other const& from) {
    T const max = from.max > into.max ? from.max : into.max, base = softmax_base(max);
    T const a = detail::score_weight(into.max - base), b = detail::score_weight(from.max - base);
    into.sum = heddle::mul(a, into.sum) + heddle::mul(b, from.sum);
    for (index_t d = 0; d < into.width(); ++d)
      into.acc[d] = heddle::mul(a, into.acc[d]) + heddle::mul(b, from.acc[d]);
    into.max = max;
  }

  /// Divides: column d of the output. A row without keys is 0. Never -0.
  template <class State>
  HEDDLE_HD_FN static T output(State const& s, index_t d) {
    return s.sum == T(0) ? T(0) : s.acc[d] / s.sum + T(0);
  }

  /// The log-sum-exp of the scores, natural logarithm; -inf for a row without keys.
  template <class State>
  HEDDLE_HD_FN static T log_sum_exp(State const& s) {
    return s.sum == T(0) ? lowest : s.max + heddle::log(s.sum);
  }

  /// Replaces `acc` by the output and returns the log-sum-exp.
  template <class State>
  HEDDLE_HD_FN static T finish(State& s) {
    for (index_t d = 0; d < s.width(); ++d) s.acc[d] = output(s, d);
    return log_sum_exp(s);
  }
};

}  // namespace heddle::attention
