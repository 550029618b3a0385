// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/backend/cpu/matmul_words_submit.hpp>

/// @file
/// Products of words with few rows and a large b whose columns lie side by side: b is read once, in place, a few steps
/// of k at a time over a strip of columns whose sums stay in the L1 cache. Steps are interleaved into words inside
/// groups of 16 bytes, which leaves the sums in another order; they are put in order once at the end.

namespace heddle {
namespace cpu {

/// Rows up to which b is read in place, and bytes of the sums of a strip.
inline constexpr index_t decode_rows = 16, decode_sums_bytes = 32 * 1024;
/// Elements of b from which on.
inline constexpr index_t decode_elements = 64 * 1024;

namespace detail {

#if !defined(__CUDA_ARCH__)
/// One kind of lanes as another.
template <class To, class From>
HEDDLE_SHIM To same_register(From const& from) {
  To to;
  namespace r = heddle::detail::registers;
  using lane = lane_t<To>;
  r::reg<To::width>(to.lane) = reinterpret_cast<r::raw<lane, To::width> const&>(r::reg<From::width>(from.lane));
  return to;
}
#endif

/// The words of as many columns as a register has codes, in registers of words: group i of 16 bytes of register j holds
/// columns 4 (i groups + j) to 4 (i groups + j) + 3.
template <class P, class V>
struct step_words {
  static constexpr int group = static_cast<int>(P::group), columns = V::width * group;
  using code = std::conditional_t<group == 2, std::uint16_t, std::uint8_t>;
  using codes = vec<code, columns, columns>;
  using halves = vec<std::uint16_t, 2 * V::width, 2 * V::width>;

  static HEDDLE_SHIM codes load(void const* from, index_t n) {
    auto const* const at = static_cast<code const*>(from);
    return n >= columns ? codes::load(at) : codes::load(at, n);
  }
  static HEDDLE_SHIM void interleave_steps(codes const* steps, V* words) {
#if !defined(__CUDA_ARCH__)
    constexpr auto lanes = std::make_integer_sequence<int, columns>{};
    if constexpr (group == 2) {
      codes low, high;
      interleave<8>(lanes, steps[0], steps[1], low, high);
      words[0] = same_register<V>(low), words[1] = same_register<V>(high);
    } else {
      constexpr auto pairs = std::make_integer_sequence<int, columns / 2>{};
      codes low01, high01, low23, high23;
      interleave<16>(lanes, steps[0], steps[1], low01, high01);
      interleave<16>(lanes, steps[2], steps[3], low23, high23);
      halves w[4];
      interleave<8>(pairs, same_register<halves>(low01), same_register<halves>(low23), w[0], w[1]);
      interleave<8>(pairs, same_register<halves>(high01), same_register<halves>(high23), w[2], w[3]);
      for (int i = 0; i < 4; ++i) words[i] = same_register<V>(w[i]);
    }
#endif
  }
};

/// A strip of columns under all rows, over some steps of k.
template <class P, class S>
struct decode_product {
  S const* b;              ///< the first step of the first column
  index_t step;            ///< between steps
  index_t columns;         ///< of the strip
  index_t steps;           ///< of k
  std::uint32_t const* a;  ///< words of rows, from the first step on
  index_t a_row;           ///< between rows of them
  index_t a_part;          ///< between the words of one group
  index_t rows;
  typename P::sum* sums;
  index_t pitch;  ///< between rows of sums
};

/// Words of rows of a, one row after the other: those of a group lie `pitch` apart.
template <class P>
struct decode_rows_body : words_marker<P> {
  template <class Isa, class S>
  HEDDLE_SHIM void operator()(Isa, strided<S> const& in, index_t const& k, std::uint32_t* const& to,
                              index_t const& pitch) const {
    using F = word_format<Isa, P>;
    using V = typename F::words;
    constexpr index_t group = P::group;
    for (index_t d = 0; d * group < k; d += V::width) {
      V w = V::zero();
      if (same_codes<P, S> && in.step == 1)
        w = words_along<V>(in.from + d * group, (k - d * group) * static_cast<index_t>(sizeof(S)));
      else
        for (index_t i = 0; i < V::width * group && d * group + i < k; ++i)
          w.lane[i / group] |= code_at<P>(in, 0, d * group + i) << (i % group * 32 / group);
      F::template put<true>(w, to + d, pitch);
    }
  }
};

/// Adds the products of all steps to the sums of a strip.
template <class P>
struct decode_body : words_marker<P> {
  template <class Isa, class S>
  HEDDLE_SHIM void operator()(Isa, decode_product<P, S> const& x) const {
    using F = word_format<Isa, P>;
    constexpr int at_once = F::per == 2 ? 1 : P::group == 2 ? 4 : 2;  // groups whose words fit the registers
    // Of few rows the sums are no burden, and four streams are what the processor asks ahead for by itself.
    constexpr int fewer = at_once == 4 ? 2 : at_once;
    unsigned const before = F::flushes && has_flush_mode<Isa> ? begin_flush() : 0;
    if (fewer < at_once && x.rows < 4)
      sweeps<F, fewer>(x);
    else
      sweeps<F, at_once>(x);
    if constexpr (F::flushes && has_flush_mode<Isa>) end_flush(before);
  }

 private:
  template <class F, int Groups, class S>
  static HEDDLE_SHIM void sweeps(decode_product<P, S> x) {
    constexpr index_t steps = Groups * P::group;
    for (; x.steps >= steps; x.steps -= steps, x.b += steps * x.step, x.a += Groups) sweep<F, Groups, true>(x);
    for (; x.steps > 0; x.steps -= P::group, x.b += P::group * x.step, ++x.a) sweep<F, 1, false>(x);
  }
  template <class F, int Groups, bool Whole, class S>
  static HEDDLE_SHIM void sweep(decode_product<P, S> const& x) {
    using V = typename F::words;
    using Words = step_words<P, V>;
    constexpr int group = Words::group, steps = Groups * group;
    for (index_t c = 0; c < x.columns; c += Words::columns) {
      S const* const at = x.b + c;
      if constexpr (Whole)
        for (int i = 0; i < steps; ++i) __builtin_prefetch(at + (steps + i) * x.step, 0, 2);
      V words[steps];
      load_groups(std::make_integer_sequence<int, Groups>{}, at, x.step, x.columns - c, x.steps, words);
      typename P::sum* to = x.sums + c;
      std::uint32_t const* a = x.a;
      for (index_t r = 0; r < x.rows; ++r, to += x.pitch, a += x.a_row)
        add_row<F, Groups>(std::make_integer_sequence<int, steps>{}, a, x.a_part, words, to);
      if constexpr (F::flip) {
        // Bytes of a are moved up by 128: the last row of sums counts what that adds.
        alignas(64) static constexpr std::uint32_t moved[4] = {0x80808080u, 0x80808080u, 0x80808080u, 0x80808080u};
        add_row<F, Groups>(std::make_integer_sequence<int, steps>{}, moved, x.a_part, words, to);
      }
    }
  }
  template <class V, class S, int... G>
  static HEDDLE_SHIM void load_groups(std::integer_sequence<int, G...>, S const* from, index_t step, index_t columns,
                                      index_t left, V* words) {
    using Words = step_words<P, V>;
    (load_group<Words>(std::make_integer_sequence<int, Words::group>{}, from + G * Words::group * step, step, columns,
                       left - G * Words::group, words + G * Words::group),
     ...);
  }
  template <class Words, class V, class S, int... I>
  static HEDDLE_SHIM void load_group(std::integer_sequence<int, I...>, S const* from, index_t step, index_t columns,
                                     index_t left, V* words) {
    typename Words::codes const codes[] = {I < left ? Words::load(from + I * step, columns) : Words::codes::zero()...};
    Words::interleave_steps(codes, words);
  }
  /// The sums of one row: I counts words, group by group.
  template <class F, int Groups, class V, int... I>
  static HEDDLE_SHIM void add_row(std::integer_sequence<int, I...>, std::uint32_t const* a, index_t a_part,
                                  V const* words, typename P::sum* sums) {
    constexpr int group = static_cast<int>(P::group);
    using vector = typename F::vector;
    vector acc[group];
    float* const to = reinterpret_cast<float*>(sums);
    load_vectors_at(std::make_integer_sequence<int, group>{}, to, acc);
    (add_word<F>(acc[I % group], a + I / group, a_part, words[I]), ...);
    store_vectors_at(std::make_integer_sequence<int, group>{}, acc, to);
  }
  template <class F, class V>
  static HEDDLE_SHIM void add_word(typename F::vector& acc, std::uint32_t const* a, index_t a_part, V const& w) {
    V parts[F::per];
    F::split(w, parts);
    F::step(acc, a, parts[0]);
    if constexpr (F::per == 2) F::step(acc, a + a_part, parts[1]);
  }
  template <class V, int... I>
  static HEDDLE_SHIM void load_vectors_at(std::integer_sequence<int, I...>, float const* from, V* to) {
    ((to[I] = V::load(from + I * V::width)), ...);
  }
  template <class V, int... I>
  static HEDDLE_SHIM void store_vectors_at(std::integer_sequence<int, I...>, V const* from, float* to) {
    (from[I].store(to + I * V::width), ...);
  }
};

/// Puts the sums of a strip in the order of the columns, and takes off what moved bytes have added.
template <class P>
struct decode_order_body : words_marker<P> {
  template <class Isa>
  HEDDLE_SHIM void operator()(Isa, typename P::sum* const& sums, index_t const& pitch, index_t const& rows,
                              index_t const& columns) const {
    using F = word_format<Isa, P>;
    using T = typename P::sum;
    constexpr int W = F::lanes, group = static_cast<int>(P::group);
    alignas(64) T line[W * group];
    for (index_t r = 0; r < rows; ++r)
      for (index_t c = 0; c < columns; c += W * group) {
        T* const at = sums + r * pitch + c;
        __builtin_memcpy(line, at, sizeof line);
        for (int i = 0; i < W * group; ++i) {
          int const from = i / 4 % group * W + i / (4 * group) * 4 + i % 4;
          at[i] = line[from];
          if constexpr (F::flip)
            at[i] = static_cast<T>(static_cast<std::uint32_t>(line[from]) -
                                   static_cast<std::uint32_t>(sums[rows * pitch + c + from]));
        }
      }
  }
};

/// The sums of a strip, in pieces along the tree. `sums` has room for `block` numbers per slot.
template <class P, class S>
HEDDLE_FN void sum_decode_strip(decode_product<P, S> const& whole, index_t block) {
  using T = typename P::sum;
  constexpr index_t depth = linalg::detail::chain_cuts::depth;
  linalg::detail::chain_cuts const chains{whole.steps, 0};
  index_t const pieces = chains.count();
  tree_accumulate tree(pieces, 0, pieces);
  for (index_t p = 0; p < pieces; ++p) {
    int slot = tree.next_slot();
    decode_product<P, S> x = whole;
    x.b += p * depth * x.step, x.a += p * depth / P::group, x.sums += slot * block;
    x.steps = chains.at(p).size;
    __builtin_memset(x.sums, 0, static_cast<std::size_t>(block) * sizeof(T));
    dispatch_isa(decode_body<P>{}, x);
    for (int merges = tree.push(); merges > 0; --merges, --slot)
      dispatch_isa(add_body<T>{}, static_cast<T const*>(whole.sums + slot * block), whole.sums + (slot - 1) * block,
                   block);
  }
}

}  // namespace detail

/// Submits a product of at most `decode_rows` rows whose b has adjacent columns.
template <class P, class E, class A, class S, class O>
HEDDLE_FN void submit_decode(E& exec, word_problem<strided<A>, strided<S>> const& in, O const& out) {
  using T = typename P::sum;
  index_t const workers = exec.concurrency(), pieces = linalg::detail::chain_cuts{in.k, 0}.count(),
                most = decode_sums_bytes / 4 / in.m / 64 * 64;
  index_t strip = round_up((in.n + workers - 1) / workers, 64);
  if (strip > most) strip = most;
  // Rows of words and of sums do not begin at the same place of a page: their lines would compete for one set.
  index_t const words = round_up((in.k + P::group - 1) / P::group, 64) + 16, pitch = strip + 16;
  index_t const block = (in.m + (P::has_head ? 1 : 0)) * pitch, sums_size = tree_slots(pieces, 0, pieces) * block;
  scratch_frame<E> frame(exec);
  std::uint32_t* const rows = frame.template take<std::uint32_t>(2 * words * in.m);
  T* const sums = frame.template take<T>(workers * sums_size);
  exec.for_each_tile(in.m, [=](index_t r, int) {
    dispatch_isa(detail::decode_rows_body<P>{}, strided<A>{in.a.from + r * in.a.across, in.a.across, in.a.step}, in.k,
                 rows + 2 * words * r, words);
  });
  exec.for_each_tile((in.n + strip - 1) / strip, [=](index_t i, int worker) {
    index_t const col = i * strip, columns = in.n - col < strip ? in.n - col : strip;
    T* const mine = sums + worker * sums_size;
    detail::sum_decode_strip(detail::decode_product<P, S>{in.b.from + col, in.b.step, columns, in.k, rows, 2 * words,
                                                          words, in.m, mine, pitch},
                             block);
    dispatch_isa(detail::decode_order_body<P>{}, mine, pitch, in.m, columns);
    detail::store_words(out, static_cast<T const*>(mine), pitch, index_t{0}, in.m, col, columns);
  });
}

}  // namespace cpu
}  // namespace heddle
