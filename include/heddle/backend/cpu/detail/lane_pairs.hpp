// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/backend/cpu/detail/lane_rules.hpp>
#include <heddle/backend/cpu/matmul_words.hpp>

/// @file
/// Products of bf16 with a panel of 32 lanes: words of 32 bits hold two steps, the first one below, and every element
/// is one chain of `dot_pair` from 0, whatever the instruction set and the blocking.

namespace heddle::attention::detail {

using cpu::bf16_words;

/// Words that hold n steps.
HEDDLE_SHIM constexpr index_t pairs_of(index_t n) noexcept { return (n + 1) / 2; }

/// One vector of words as an instruction set multiplies it.
template <class Isa>
struct pair_vector {
  using V = typename lane_blocking<Isa, float>::vector;
  using U = rebind_lanes<V, std::uint32_t>;
  static constexpr bool native = cpu::has_dot<Isa>;
  static constexpr bool flushes = !native && cpu::has_flush_mode<Isa>;
  using loose [[gnu::may_alias, gnu::aligned(2)]] = float;

  U words;          ///< native, or
  V first, second;  ///< the two steps apart

  static HEDDLE_SHIM pair_vector of(U const& w) {
    if constexpr (native) return {w, V::zero(), V::zero()};
    return {w, bit_cast<float>(shift_left<16>(w)), bit_cast<float>(w & 0xFFFF0000u)};
  }
  static HEDDLE_SHIM pair_vector load(std::uint32_t const* p) { return of(U::load(p)); }
  /// Two neighbouring steps at p in every lane.
  static HEDDLE_SHIM pair_vector splat(void const* p) {
    return of(bit_cast<std::uint32_t>(V::splat(*static_cast<loose const*>(p))));
  }

  /// sum += a times b.
  static HEDDLE_SHIM void step(V& sum, pair_vector const& a, pair_vector const& b) {
#if defined(__x86_64__) && HEDDLE_MULTI_TARGET && !defined(__clang__)
    if constexpr (native) {
      cpu::detail::dot_bf16<V::width>(sum.lane, a.words.lane, b.words.lane);
      return;
    }
#endif
    if constexpr (flushes) {
      sum = fma(a.first, b.first, fma(a.second, b.second, sum));
    } else {
      using heddle::detail::flushed;
      for (int i = 0; i < V::width; ++i)
        sum.lane[i] = fma_flushed(flushed(a.first.lane[i]), flushed(b.first.lane[i]),
                                  fma_flushed(flushed(a.second.lane[i]), flushed(b.second.lane[i]), sum.lane[i]));
    }
  }
};

/// Elements (r, c) at row[r] + 2 c: rows of bf16. Rows behind the last repeat it.
template <int Rows>
struct separate_words {
  bf16 const* row[Rows];

  HEDDLE_SHIM separate_words(bf16 const* a, index_t stride, index_t first, index_t rows) {
    for (int r = 0; r < Rows; ++r) row[r] = a + (first + r < rows ? first + r : rows - 1) * stride;
  }
  template <int R>
  HEDDLE_SHIM void const* at(index_t c) const {
    return row[R] + 2 * c;
  }
};
/// Elements (r, c) at data + r + c * pitch.
struct adjacent_words {
  std::uint32_t const* data;
  index_t pitch;

  template <int R>
  HEDDLE_SHIM void const* at(index_t c) const {
    return data + c * pitch + R;
  }
};

template <int Row, class P, class V, int... I>
HEDDLE_SHIM void pair_row_step(std::integer_sequence<int, I...>, V* acc, P const& a, P const* b) {
  (P::step(acc[Row * static_cast<int>(sizeof...(I)) + I], a, b[I]), ...);
}
template <class P, class V, class A, int... R, int... I>
HEDDLE_SHIM void pair_columns(std::integer_sequence<int, R...>, std::integer_sequence<int, I...> vectors, V* acc,
                              A const& a, std::uint32_t const* b, index_t begin, index_t end) {
  for (index_t c = begin; c < end; ++c) {
    P const x[] = {P::load(b + c * lanes + I * V::width)...};
    (pair_row_step<R>(vectors, acc, P::splat(a.template at<R>(c)), x), ...);
  }
}

/// Sums in the flush mode of processors without the instruction, by way of memory (begin_flush).
template <class Isa, class V, int... I, class Sums>
HEDDLE_SHIM void in_pair_mode(std::integer_sequence<int, I...> all, V* acc, Sums const& sums) {
  if constexpr (pair_vector<Isa>::flushes) {
    alignas(64) float raw[sizeof...(I) * V::width];
    unsigned const before = cpu::detail::begin_flush();
    sums();
    store_all(all, acc, raw);
    cpu::detail::end_flush(before);
    ((acc[I] = V::load(raw + I * V::width)), ...);
  } else {
    sums();
  }
}

/// One block of rows and one group of lanes, words [begin, end).
template <class Isa, int Vectors, class A, class Finish>
HEDDLE_SHIM void pair_block(float* out, A const& a, std::uint32_t const* b, index_t begin, index_t end, index_t lane,
                            Finish const& finish) {
  using blocking = lane_blocking<Isa, float>;
  using P = pair_vector<Isa>;
  constexpr std::make_integer_sequence<int, blocking::rows> rows{};
  constexpr std::make_integer_sequence<int, Vectors> vectors{};
  constexpr std::make_integer_sequence<int, blocking::rows * Vectors> all{};
  typename blocking::vector acc[blocking::rows * Vectors];
  clear_all(all, acc);
  in_pair_mode<Isa>(all, acc, [&]() HEDDLE_LAMBDA { pair_columns<P>(rows, vectors, acc, a, b + lane, begin, end); });
  finish_all<Vectors>(all, acc, out + lane, lane, finish);
}

/// A finished element overwrites the old one, times a factor.
struct overwrite_scaled {
  float factor;
  template <class V>
  HEDDLE_SHIM V operator()(V const& x) const {
    return mul(x, V::splat(factor));
  }
  template <class V>
  HEDDLE_SHIM void operator()(float* out, V const& x, index_t) const {
    (*this)(x).store(out);
  }
};

/// out[r] = scale times a's row r times b, for rows in [0, rows) and the first `used` lanes, rounded up to whole
/// blocks; a has unit columns and an even number of them, b `words` rows. Writes padded(rows) rows.
template <class Isa, int Vectors>
HEDDLE_SHIM void pair_row_product(float* out, bf16 const* a, index_t row_stride, index_t rows, std::uint32_t const* b,
                                  index_t words, index_t used, float scale) {
  using blocking = lane_blocking<Isa, float>;
  for (index_t r = 0; r < rows; r += blocking::rows) {
    separate_words<blocking::rows> const block(a, row_stride, r, rows);
    for (index_t lane = 0; lane < used; lane += blocking::width * Vectors)
      pair_block<Isa, Vectors>(out + r * lanes, block, b, 0, words, lane, overwrite_scaled{scale});
  }
}

/// out[r] = factor * out[r] + the sum over words c of a[c][r] * b[c]. Pre: a's rows have padded(columns) words.
template <class Isa>
HEDDLE_SHIM void pair_column_product(float* out, std::uint32_t const* a, index_t pitch, index_t columns,
                                     std::uint32_t const* b, index_t begin, index_t end,
                                     add_to_scaled<float> const& finish) {
  using blocking = lane_blocking<Isa, float>;
  for (index_t r = 0; r < padded(columns); r += blocking::rows)
    for (index_t lane = 0; lane < lanes; lane += blocking::width * blocking::vectors)
      pair_block<Isa, blocking::vectors>(out + r * lanes, adjacent_words{a + r, pitch}, b, begin, end, lane, finish);
}

/// The same where some lanes exclude some columns whose values may be anything: step by step. Slow: only values that
/// are not finite come here.
template <class Isa, class Finish>
HEDDLE_SHIM void pair_masked_product(float* out, std::uint32_t const* a, index_t pitch, index_t columns,
                                     std::uint32_t const* b, visibility const& seen, Finish const& finish) {
  using P = pair_vector<Isa>;
  using V = typename P::V;
  using U = typename P::U;
  constexpr std::integer_sequence<int, 0> one{};
  for (index_t r = 0; r < columns; ++r)
    for (index_t lane = 0; lane < lanes; lane += V::width) {
      V acc = V::zero();
      in_pair_mode<Isa>(one, &acc, [&]() HEDDLE_LAMBDA {
        for (index_t c = seen.run.lo; c < seen.run.hi; c += 2)
          for (index_t step = 1; step >= 0; --step) {
            if (c + step >= seen.run.hi) continue;
            std::uint32_t const half = step ? 0xFFFF0000u : 0xFFFFu;
            V next = acc;
            P::step(next, P::of(U::splat(a[c / 2 * pitch + r] & half)),
                    P::of(U::load(b + c / 2 * lanes + lane) & half));
            acc = select(lanes_in<V>(seen.bits[c + step], lane), next, acc);
          }
      });
      finish(out + r * lanes + lane, acc, lane);
    }
}

/// Two vectors of numbers as words. Pre: no number is subnormal.
template <class Isa, class V>
HEDDLE_SHIM rebind_lanes<V, std::uint32_t> narrow_pairs(V const& first, V const& second) {
#if defined(__x86_64__) && HEDDLE_MULTI_TARGET && !defined(__clang__)
  if constexpr (cpu::has_dot<Isa> && V::width == 16) {
    namespace r = heddle::detail::registers;
    using U = rebind_lanes<V, std::uint32_t>;
    // The instruction puts one vector's results behind the other's.
    U const order = U::iota() + (shift_left<16>(U::iota()) | 0x100000u);
    r::raw<std::uint32_t, 16> x;
    asm("vcvtne2ps2bf16 %1, %2, %0" : "=v"(x) : "v"(r::reg<16>(first.lane)), "v"(r::reg<16>(second.lane)));
    U words;
    asm("vpermw %1, %2, %0" : "=v"(r::reg<16>(words.lane)) : "v"(x), "v"(r::reg<16>(order.lane)));
    return words;
  }
#endif
  return bf16::narrow(first) | shift_left<16>(bf16::narrow(second));
}

/// Weights of the run's columns as words of two columns; a column behind an odd last one counts as 0.
template <class Isa>
HEDDLE_SHIM void narrow_weights(float const* weights, std::uint32_t* words, column_run const& run, index_t used) {
  using V = typename lane_blocking<Isa, float>::vector;
  for (index_t c = run.lo; c < run.hi; c += 2)
    for (index_t lane = 0; lane < used; lane += V::width) {
      float const* const at = weights + c * lanes + lane;
      V const second = c + 1 < run.hi ? V::load(at + lanes) : V::zero();
      narrow_pairs<Isa>(V::load(at), second).store(words + c / 2 * lanes + lane);
    }
}

/// One row as words of two columns; none is zeros.
HEDDLE_SHIM void word_row(std::uint32_t* to, bf16 const* row, index_t columns) {
  if (row && columns % 2 == 0) {
    __builtin_memcpy(to, row, static_cast<std::size_t>(columns) * sizeof(bf16));
    return;
  }
  for (index_t d = 0; d < columns; d += 2)
    to[d / 2] = row ? row[d].bits | (d + 1 < columns ? std::uint32_t{row[d + 1].bits} << 16 : 0u) : 0u;
}

/// Rows [token, token + rows) of one head as words of two rows each, `pitch` words for each, zeros behind the columns.
template <class Isa, class Rows>
HEDDLE_SHIM void pack_row_pairs(Rows const& from, index_t token, index_t head, index_t rows, index_t columns,
                                std::uint32_t* to, index_t pitch) {
  using V = typename lane_blocking<Isa, float>::vector;
  for (index_t c = 0; c < rows; c += 2, to += pitch) {
    bf16 const* const first = from.row(token + c, head);
    bf16 const* const second = c + 1 < rows ? from.row(token + c + 1, head) : nullptr;
    index_t d = 0;
    for (; d + V::width <= columns; d += V::width) {
      auto word = shift_right<16>(bit_cast<std::uint32_t>(load_as<V>(first + d)));
      if (second) word = word | bit_cast<std::uint32_t>(load_as<V>(second + d));
      word.store(to + d);
    }
    for (; d < pitch; ++d)
      to[d] = d >= columns ? 0u : first[d].bits | (second ? std::uint32_t{second[d].bits} << 16 : 0u);
  }
}

/// Whether the words of columns [begin, end) hold finite numbers only.
HEDDLE_SHIM bool finite_pairs(std::uint32_t const* words, index_t pitch, index_t begin, index_t end) {
  std::uint32_t found = 0;
  for (index_t i = begin / 2 * pitch; i < pairs_of(end) * pitch; ++i)
    found |= std::uint32_t{(words[i] & 0x7F800000u) == 0x7F800000u || (words[i] & 0x7F80u) == 0x7F80u};
  return found == 0;
}
HEDDLE_SHIM bool finite_rows(bf16 const* rows, index_t stride, index_t begin, index_t end, index_t columns) {
  std::uint32_t found = 0;
  for (index_t r = begin; r < end; ++r)
    for (index_t d = 0; d < columns; ++d) found |= std::uint32_t{(rows[r * stride + d].bits & 0x7F80u) == 0x7F80u};
  return found == 0;
}

}  // namespace heddle::attention::detail
