// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/backend/cpu/matmul_kernel.hpp>
#include <heddle/linalg/pair_dot.hpp>

/// @file
/// Products of narrow numbers by dot-product instructions: operands are packed in words of 32 bits that hold one, two
/// or four steps of k, and a register tile runs over words. What a word is depends on the instruction set; the bits of
/// the sums do not.

namespace heddle {
namespace cpu {

/// Products that have code of their own for dot-product instructions. Only g++ takes these in functions that get their
/// instruction set from the caller; elsewhere the same bits come from other instructions.
#if defined(__x86_64__) && HEDDLE_MULTI_TARGET && !defined(__clang__)
struct dot_product_words {
  using uses_bf16_instructions = void;
};
#else
struct dot_product_words {};
#endif

/// One float per word, sums in float: `fma`, k ascending.
struct float_words {
  using sum = float;
  static constexpr index_t group = 1;
  static constexpr bool has_head = false;
};
/// Two bf16 per word, sums in float: `dot_pair`.
struct bf16_words : dot_product_words {
  using sum = float;
  static constexpr index_t group = 2;
  static constexpr bool has_head = false;
};
/// Four bytes per word, signed ones of b times signed or unsigned ones of a, sums in 32-bit integers: exact, or
/// wrapped.
template <bool Signed>
struct byte_words : dot_product_words {
  using sum = std::int32_t;
  static constexpr index_t group = 4;
  static constexpr bool has_head = true;  ///< panels of b begin with what their sums start from
};

/// What bodies inherit from, so that they are compiled for the sets that their words know.
struct no_dot_product {};
template <class P>
using words_marker = std::conditional_t<std::is_base_of_v<dot_product_words, P>, dot_product_words, no_dot_product>;

/// Whether bodies for an instruction set use its dot products.
template <class Isa>
inline constexpr bool has_dot = Isa::value == isa::avx512_bf16&& uses_bf16_instructions<dot_product_words>;
/// Whether sums can be flushed by the processor's mode.
#if defined(__x86_64__) && HEDDLE_MULTI_TARGET
template <class Isa>
inline constexpr bool has_flush_mode = Isa::value != isa::baseline;
#else
template <class Isa>
inline constexpr bool has_flush_mode = false;
#endif

namespace detail {

/// The upper byte of every word as a number of 32 bits.
template <bool Signed, class V>
HEDDLE_SHIM V upper_byte(V const& w) {
  if constexpr (Signed)
    return bit_cast<std::uint32_t>(shift_right<24>(bit_cast<std::int32_t>(w)));
  else
    return shift_right<24>(w);
}
/// Bytes 0 and 2 of every word widened to 16 bits, and bytes 1 and 3.
template <bool Signed, class V>
HEDDLE_SHIM void widen_bytes(V const& w, V& even, V& odd) {
  even = (upper_byte<Signed>(shift_left<24>(w)) & 0xFFFFu) | shift_left<16>(upper_byte<Signed>(shift_left<8>(w)));
  odd = (upper_byte<Signed>(shift_left<16>(w)) & 0xFFFFu) | shift_left<16>(upper_byte<Signed>(w));
}

#if defined(__x86_64__) && HEDDLE_MULTI_TARGET && !defined(__clang__)
template <int R>
HEDDLE_SHIM void dot_bf16(float* sums, std::uint32_t const* a, std::uint32_t const* b) {
  namespace r = heddle::detail::registers;
  r::raw<float, R> x = r::reg<R>(sums);
  asm("vdpbf16ps %2, %1, %0" : "+v"(x) : "v"(r::reg<R>(a)), "v"(r::reg<R>(b)));
  r::reg<R>(sums) = x;
}
template <int R>
HEDDLE_SHIM void dot_bytes(float* sums, std::uint32_t const* unsigned_bytes, std::uint32_t const* signed_bytes) {
  namespace r = heddle::detail::registers;
  r::raw<float, R> x = r::reg<R>(sums);
  asm("vpdpbusd %2, %1, %0" : "+v"(x) : "v"(r::reg<R>(unsigned_bytes)), "v"(r::reg<R>(signed_bytes)));
  r::reg<R>(sums) = x;
}
template <int R>
HEDDLE_SHIM void dot_halves(float* sums, std::uint32_t const* a, std::uint32_t const* b) {
  namespace r = heddle::detail::registers;
  r::raw<float, R> x = r::reg<R>(sums), both;
  asm("vpmaddwd %2, %1, %0" : "=v"(both) : "v"(r::reg<R>(a)), "v"(r::reg<R>(b)));
  asm("vpaddd %1, %0, %0" : "+v"(x) : "v"(both));
  r::reg<R>(sums) = x;
}
#endif

/// What words are for one instruction set, and one step of the sums.
template <class Isa, class P>
struct word_format {
  static constexpr int lanes = Isa::template lanes<float>;
  static constexpr bool native = has_dot<Isa>;
  static constexpr int per = std::is_same_v<P, float_words> || native ? 1 : 2;  ///< words per group
  static constexpr bool flushes = std::is_same_v<P, bf16_words> && !native;
  static constexpr bool flip = std::is_same_v<P, byte_words<true>> && native;  ///< bytes of a are moved up by 128
  using sum = typename P::sum;
  using vector = vec<float, lanes, lanes>;  ///< of sums; integers as their bits, so that registers have one type
  using words = vec<std::uint32_t, lanes, lanes>;

  /// The words of one group of steps of b, in the order of `put`.
  static HEDDLE_SHIM void split(words const& w, words* parts) {
    if constexpr (per == 1) {
      parts[0] = w;
    } else if constexpr (std::is_same_v<P, bf16_words>) {
      parts[0] = flushed_code(w & 0xFFFF0000u);
      parts[1] = flushed_code(shift_left<16>(w));
    } else {
      widen_bytes<true>(w, parts[0], parts[1]);
    }
  }
  /// Writes the words of one group of steps of as many lines as a vector has lanes.
  template <bool Left>
  static HEDDLE_SHIM void put(words const& w, std::uint32_t* to, index_t pitch) {
    words parts[per];
    if constexpr (Left && flip)
      parts[0] = w ^ 0x80808080u;
    else if constexpr (Left && std::is_same_v<P, byte_words<false>> && per == 2)
      widen_bytes<false>(w, parts[0], parts[1]);
    else
      split(w, parts);
    parts[0].store(to);
    if constexpr (per == 2) parts[1].store(to + pitch);
  }

  /// acc += the products of one word of a, as it stands in memory, and one vector of words of b.
  static HEDDLE_SHIM void step(vector& acc, std::uint32_t const* a, words const& b) {
    using loose [[gnu::may_alias]] = float;
    using floats = vec<float, lanes, lanes>;
    floats const left = floats::splat(*reinterpret_cast<loose const*>(a));
    if constexpr (std::is_same_v<P, float_words> || (flushes && has_flush_mode<Isa>)) {
      acc = fma(left, bit_cast<float>(b), acc);
#if defined(__x86_64__) && HEDDLE_MULTI_TARGET && !defined(__clang__)
    } else if constexpr (native && std::is_same_v<P, bf16_words>) {
      dot_bf16<lanes>(acc.lane, bit_cast<std::uint32_t>(left).lane, b.lane);
    } else if constexpr (native) {
      dot_bytes<lanes>(acc.lane, bit_cast<std::uint32_t>(left).lane, b.lane);
    } else if constexpr (!std::is_same_v<P, bf16_words> && Isa::value != isa::baseline) {
      dot_halves<lanes>(acc.lane, bit_cast<std::uint32_t>(left).lane, b.lane);
#endif
    } else if constexpr (!std::is_same_v<P, bf16_words>) {
      auto const x = bit_cast<std::int32_t>(left), y = bit_cast<std::int32_t>(b);
      acc = bit_cast<float>(bit_cast<std::int32_t>(acc) +
                            shift_right<16>(shift_left<16>(x)) * shift_right<16>(shift_left<16>(y)) +
                            shift_right<16>(x) * shift_right<16>(y));
    } else {
      floats const right = bit_cast<float>(b);
      for (int i = 0; i < lanes; ++i) acc.lane[i] = fma_flushed(left.lane[i], right.lane[i], acc.lane[i]);
    }
  }

 private:
  static HEDDLE_SHIM words flushed_code(words const& w) {
    return select((w & 0x7F800000u) == words::zero(), w & 0x80000000u, w);
  }
};

/// Sets the modes that take subnormal numbers for zero and give zero for them, and back. Only values that come from
/// memory in between and go back there are sure to be computed in that mode.
HEDDLE_SHIM unsigned begin_flush() {
  unsigned before = 0;
#if defined(__x86_64__)
  asm volatile("stmxcsr %0" : "=m"(before) : : "memory");
  unsigned const mode = before | 0x8040u;
  asm volatile("ldmxcsr %0" : : "m"(mode) : "memory");
#endif
  return before;
}
HEDDLE_SHIM void end_flush(unsigned before) {
#if defined(__x86_64__)
  asm volatile("ldmxcsr %0" : : "m"(before) : "memory");
#else
  (void)before;
#endif
}

/// Register tiles come in these numbers of rows: all of them, then powers of two.
HEDDLE_FN constexpr index_t power_under(index_t x) {
  index_t p = 1;
  while (2 * p < x) p *= 2;
  return p;
}
/// The rows of the narrowest tile that holds `count`.
HEDDLE_FN constexpr index_t tile_rows(index_t count, index_t mr) {
  if (count > power_under(mr)) return mr;
  index_t p = 1;
  while (p < count) p *= 2;
  return p;
}

/// One register tile over words.
template <class P>
struct word_product {
  std::uint32_t const* rows;     ///< of a, `tile_rows(count)` words for each step
  index_t count;                 ///< rows of them that are wanted
  std::uint32_t const* columns;  ///< of b, nr words for each step
  index_t steps;
  typename P::sum const* start;  ///< what the sums of every row start from, or null for zero
  typename P::sum* sums;
  index_t pitch;  ///< between rows of sums
};

template <class F, int Nv, int... X>
HEDDLE_SHIM void multiply_words(std::integer_sequence<int, X...>, typename F::vector* acc, std::uint32_t const* a,
                                typename F::words const* b) {
  (F::step(acc[X], a + X / Nv, b[X % Nv]), ...);
}

template <class P>
struct word_body : words_marker<P> {
  template <class Isa>
  HEDDLE_SHIM void operator()(Isa, word_product<P> const& x) const {
    pick<Isa, register_tile<Isa, float>::mr>(x);
  }

 private:
  template <class Isa, int Rows>
  HEDDLE_SHIM void pick(word_product<P> const& x) const {
    constexpr int mr = register_tile<Isa, float>::mr, fewer = Rows == mr ? static_cast<int>(power_under(mr)) : Rows / 2;
    if constexpr (Rows > 1)
      if (x.count <= fewer) return pick<Isa, fewer>(x);
    using F = word_format<Isa, P>;
    if constexpr (F::flushes && has_flush_mode<Isa>) {
      unsigned const before = begin_flush();
      run<Isa, Rows>(x);
      end_flush(before);
    } else {
      run<Isa, Rows>(x);
    }
  }

  template <class Isa, int Rows>
  HEDDLE_SHIM void run(word_product<P> const& x) const {
    using F = word_format<Isa, P>;
    using Tile = register_tile<Isa, float>;
    using all = std::make_integer_sequence<int, Rows * Tile::nv>;
    typename F::vector acc[Rows * Tile::nv];
    if (x.start)
      load_tile<Tile>(all{}, reinterpret_cast<float const*>(x.start), index_t{0}, acc);
    else
      clear(all{}, acc);
    std::uint32_t const *a = x.rows, *b = x.columns;
    for (index_t i = x.steps; i > 0; --i, a += Rows, b += Tile::nr) {
      typename F::words const right[Tile::nv] = {F::words::load(b), F::words::load(b + Tile::lanes)};
      multiply_words<F, Tile::nv>(all{}, acc, a, right);
    }
    store_sums<Tile>(all{}, acc, reinterpret_cast<float*>(x.sums), x.pitch);
  }
};

/// Stores sums of integers as `store_body` does, as floats.
struct word_store_body {
  template <class Isa, class O, class S>
  HEDDLE_SHIM void operator()(Isa, O const& out, S const* const& sums, index_t const& pitch, index_t const& row,
                              index_t const& rows, index_t const& col, index_t const& columns) const {
    using number = typename O::number;
    constexpr int step = Isa::template lanes<number> * linalg::detail::registers_at_once<decltype(O::epilogue)>;
    using V = vec<number, step, Isa::template lanes<number>>;
    bool const by_vector = out.c_column == 1 && !out.swapped;
    for (index_t r = 0; r < rows; ++r) {
      S const* const line = sums + r * pitch;
      for (index_t c = 0; c < columns; c += by_vector ? step : 1) {
        index_t const n = columns - c < step ? columns - c : index_t{step};
        if (by_vector)
          finish(out, step == V::register_lanes ? load_as<V>(line + c) : load_as<V>(line + c, n), row + r, col + c, n);
        else
          finish_one(out, static_cast<number>(line[c]), out.swapped ? col + c : row + r,
                     out.swapped ? row + r : col + c);
      }
    }
  }
};

}  // namespace detail
}  // namespace cpu
}  // namespace heddle
