// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/backend/cpu/matmul_pack.hpp>
#include <heddle/backend/cpu/matmul_words.hpp>

/// @file
/// Packing of operands in words: a as [words][rows of a register tile], b as panels [words][nr]. Steps of k that are
/// missing in the last word are zero, and so are missing lines.

namespace heddle {
namespace cpu {

/// One operand as it lies in memory: `across` is the stride between lines (rows of a, columns of b), `step` that of k.
template <class S>
struct strided {
  S const* from;
  index_t across, step;
};

namespace detail {

/// The code of one number in a word.
template <class P, class S>
HEDDLE_SHIM std::uint32_t code_of(S x) {
  if constexpr (std::is_same_v<P, float_words>)
    return bit_cast<std::uint32_t>(static_cast<float>(x));
  else if constexpr (std::is_same_v<S, bf16>)
    return x.bits;
  else if constexpr (P::group == 2)
    return bf16(static_cast<float>(x)).bits;
  else
    return static_cast<std::uint8_t>(x);
}
template <class P, class S>
HEDDLE_SHIM std::uint32_t code_at(strided<S> const& in, index_t line, index_t k) {
  return code_of<P>(in.from[line * in.across + k * in.step]);
}

/// Whether words lie in memory as they are packed where steps of k are adjacent.
template <class P, class S>
inline constexpr bool same_codes = static_cast<index_t>(sizeof(S)) * P::group == 4 &&
                                   (P::group != 2 || std::is_same_v<S, bf16>);

/// The codes of n lines at one step of k that lie side by side; zero behind them.
template <class P, class V, class S>
HEDDLE_SHIM V codes_across(S const* from, index_t n) {
  if constexpr (P::group == 4 || (P::group == 2 && std::is_same_v<S, bf16>)) {
    using code = uint_bits_t<S>;
    using codes = vec<code, V::width, V::register_lanes>;
    auto const* const at = reinterpret_cast<code const*>(from);
    return convert<std::uint32_t>(n >= V::width ? codes::load(at) : codes::load(at, n));
  } else {
    auto const values = load_up_to<rebind_lanes<V, float>>(from, n);
    if constexpr (P::group == 1)
      return bit_cast<std::uint32_t>(values);
    else
      return bf16::narrow(values);
  }
}

/// One word of n lines that lie side by side, `left` steps of k before the end.
template <class P, class V, class S>
HEDDLE_SHIM V words_across(S const* from, index_t step, index_t n, index_t left) {
  V w = codes_across<P, V>(from, n);
  if constexpr (P::group == 2) {
    if (left > 1) w = w | shift_left<16>(codes_across<P, V>(from + step, n));
  } else if constexpr (P::group == 4) {
    if (left > 1) w = w | shift_left<8>(codes_across<P, V>(from + step, n));
    if (left > 2) w = w | shift_left<16>(codes_across<P, V>(from + 2 * step, n));
    if (left > 3) w = w | shift_left<24>(codes_across<P, V>(from + 3 * step, n));
  }
  return w;
}

/// Words that lie in memory one after the other, from `bytes` of it.
template <class V>
HEDDLE_SHIM V words_along(void const* from, index_t bytes) {
  V w;
#if !defined(__CUDA_ARCH__)
  constexpr index_t whole = 4 * V::width;
  alignas(64) unsigned char part[whole] = {};
  typedef std::uint32_t loose __attribute__((vector_size(whole), may_alias, aligned(1)));
  namespace r = heddle::detail::registers;
  if (bytes < whole) {
    if (bytes > 0) __builtin_memcpy(part, from, static_cast<std::size_t>(bytes));
    from = part;
  }
  r::reg<V::width>(w.lane) = *static_cast<loose const*>(from);
#endif
  return w;
}
template <class V, class S, int... I>
HEDDLE_SHIM void load_words(std::integer_sequence<int, I...>, S const* from, index_t across, index_t lines,
                            index_t left, V* rows) {
  ((rows[I] =
        words_along<V>(from + (I < lines ? I * across : 0), I < lines ? left * static_cast<index_t>(sizeof(S)) : 0)),
   ...);
}
template <class F, bool Left, int Width, class V, int... I>
HEDDLE_SHIM void put_words(std::integer_sequence<int, I...>, V const* rows, std::uint32_t* to, index_t n) {
  ((I < n ? F::template put<Left>(rows[I], to + I * F::per * Width, Width) : void()), ...);
}

/// Two steps of as many bf16 lines as two vectors have words, as words.
template <class V>
HEDDLE_SHIM void pair_steps(bf16 const* from, index_t step, V& lower, V& upper) {
#if !defined(__CUDA_ARCH__)
  constexpr int halves = 2 * V::width;
  using codes = vec<std::uint16_t, halves, halves>;
  namespace r = heddle::detail::registers;
  codes low, high;
  interleave<halves>(std::make_integer_sequence<int, halves>{}, codes::load(&from->bits), codes::load(&from[step].bits),
                     low, high);
  r::reg<V::width>(lower.lane) = reinterpret_cast<r::raw<std::uint32_t, V::width> const&>(r::reg<halves>(low.lane));
  r::reg<V::width>(upper.lane) = reinterpret_cast<r::raw<std::uint32_t, V::width> const&>(r::reg<halves>(high.lane));
#endif
}

/// Packs up to Width lines of an operand over all of k, number by number. Writes up to a vector past the end.
template <class F, class P, int Width, bool Left, class Source>
HEDDLE_SHIM void pack_codes(Source const& in, index_t lines, index_t k, std::uint32_t* to) {
  using V = typename F::words;
  constexpr int W = V::width, parts = (Width + W - 1) / W;
  constexpr index_t group = P::group, pitch = F::per * Width;
  for (index_t d = 0; d < k; d += group, to += pitch)
    for (int g = 0; g < parts; ++g) {
      V w = V::zero();
      for (int i = 0; i < W && g * W + i < lines; ++i)
        for (index_t u = 0; u < group && d + u < k; ++u)
          w.lane[i] |= code_at<P>(in, g * W + i, d + u) << (u * 32 / group);
      F::template put<Left>(w, to + g * W, Width);
    }
}
/// The same for an operand in memory, by vectors where lines or steps are adjacent.
template <class F, class P, int Width, bool Left, class S>
HEDDLE_SHIM void pack_words(strided<S> const& in, index_t lines, index_t k, std::uint32_t* to) {
  using V = typename F::words;
  constexpr int W = V::width, parts = (Width + W - 1) / W;
  constexpr index_t group = P::group, pitch = F::per * Width;
  if (in.across == 1) {
    index_t d = 0;
    if constexpr (std::is_same_v<P, bf16_words> && std::is_same_v<S, bf16> && Width == 2 * W)
      if (lines >= Width)
        for (; d + 1 < k; d += group, to += pitch) {
          V lower, upper;
          pair_steps(in.from + d * in.step, in.step, lower, upper);
          F::template put<Left>(lower, to, Width);
          F::template put<Left>(upper, to + W, Width);
        }
    // What a last vector writes too much belongs to the next step, which comes later.
    for (; d < k; d += group, to += pitch)
      for (int g = 0; g < parts; ++g)
        F::template put<Left>(words_across<P, V>(in.from + d * in.step + g * W, in.step, lines - g * W, k - d),
                              to + g * W, Width);
    return;
  }
  if constexpr (same_codes<P, S>)
    if (in.step == 1) {
      V rows[W];
      index_t const words = (k + group - 1) / group;
      for (index_t d = 0; d < words; d += W)
        for (index_t g = parts - 1; g >= 0; --g) {  // the last part first, for the same reason
          load_words<V>(std::make_integer_sequence<int, W>{}, in.from + g * W * in.across + d * group, in.across,
                        lines - g * W, k - d * group, rows);
          transpose_squares<W>(rows);
          put_words<F, Left, Width>(std::make_integer_sequence<int, W>{}, rows, to + d * pitch + g * W, words - d);
        }
      return;
    }
  pack_codes<F, P, Width, Left>(in, lines, k, to);
}

/// Lines from `line` on of an operand.
template <class S>
HEDDLE_SHIM strided<S> lines_from(strided<S> in, index_t line) {
  in.from += line * in.across;
  return in;
}

/// The words of one register tile of rows: `tile_rows(lines)` for each step.
template <class P>
struct word_rows_body : words_marker<P> {
  template <class Isa, class Source>
  HEDDLE_SHIM void operator()(Isa, Source const& in, index_t const& row, index_t const& lines, index_t const& k,
                              std::uint32_t* const& to) const {
    pick<Isa, register_tile<Isa, float>::mr>(lines_from(in, row), lines, k, to);
  }

 private:
  template <class Isa, int Rows, class Source>
  static HEDDLE_SHIM void pick(Source const& in, index_t lines, index_t k, std::uint32_t* to) {
    constexpr int mr = register_tile<Isa, float>::mr, fewer = Rows == mr ? static_cast<int>(power_under(mr)) : Rows / 2;
    if constexpr (Rows > 1)
      if (lines <= fewer) return pick<Isa, fewer>(in, lines, k, to);
    pack_words<word_format<Isa, P>, P, Rows, true>(in, lines, k, to);
  }
};

/// Steps [from, ...) of an operand.
template <class S>
HEDDLE_SHIM strided<S> steps_from(strided<S> in, index_t from) {
  in.from += from * in.step;
  return in;
}
/// Whether lines lie side by side, so that several panels are better packed a slice of k at a time.
template <class S>
HEDDLE_SHIM bool has_rows(strided<S> const& in) {
  return in.across == 1;
}

/// Panels of b from column `col` on, `apart` words from one another, with what their sums start from before each where
/// the format has that. `columns` of b are left from there on.
template <class P>
struct word_panels_body : words_marker<P> {
  template <class Isa, class Source>
  HEDDLE_SHIM void operator()(Isa, Source const& in, index_t const& col, index_t const& columns, index_t const& panels,
                              index_t const& k, std::uint32_t* const& to, index_t const& apart) const {
    using F = word_format<Isa, P>;
    constexpr int nr = register_tile<Isa, float>::nr;
    constexpr index_t head = P::has_head ? nr : 0;
    index_t const slice = has_rows(in) && panels > 1 ? 64 : k;
    for (index_t d = 0; d < k; d += slice)
      for (index_t p = 0; p < panels; ++p)
        pack_words<F, P, nr, false>(steps_from(lines_from(in, col + p * nr), d),
                                    columns - p * nr < nr ? columns - p * nr : index_t{nr},
                                    k - d < slice ? k - d : slice, to + p * apart + head + d / P::group * F::per * nr);
    if constexpr (P::has_head)
      for (index_t p = 0; p < panels; ++p) start_sums<F, nr>(to + p * apart, (k + P::group - 1) / P::group);
  }

 private:
  template <class F, int Nr>
  static HEDDLE_SHIM void start_sums(std::uint32_t* panel, index_t steps) {
    for (int c = 0; c < Nr; c += F::lanes) {
      typename F::vector total = F::vector::zero();
      if constexpr (F::native) {
        // Bytes of a that are moved up by 128 add 128 times the sum of the column.
        constexpr std::uint32_t moved = 0x80808080u;
        for (index_t i = 0; i < steps; ++i) F::step(total, &moved, F::words::load(panel + Nr + i * Nr + c));
      }
      (F::words::zero() - bit_cast<std::uint32_t>(total)).store(panel + c);
    }
  }
};

/// The register tile, and words per group.
template <class P>
struct word_size_body : words_marker<P> {
  template <class Isa>
  HEDDLE_SHIM void operator()(Isa, index_t* const& mr, index_t* const& nr, index_t* const& per) const {
    *mr = register_tile<Isa, float>::mr, *nr = register_tile<Isa, float>::nr;
    *per = word_format<Isa, P>::per;
  }
};

}  // namespace detail
}  // namespace cpu
}  // namespace heddle
