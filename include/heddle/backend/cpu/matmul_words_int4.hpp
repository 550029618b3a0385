// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/backend/cpu/matmul_words_pack.hpp>
#include <heddle/linalg/block_int4.hpp>

/// @file
/// Packing of b in codes of four bits: decoded into words of a's type on the way.

namespace heddle {
namespace cpu {
namespace detail {

/// Columns of a `block_int4` from `line` on, steps from `step` on, as numbers of T.
template <class T, class Scale>
struct int4_lines {
  block_int4<Scale> b;
  index_t line = 0, step = 0;
};

template <class T, class Scale>
HEDDLE_SHIM int4_lines<T, Scale> lines_from(int4_lines<T, Scale> in, index_t line) {
  in.line += line;
  return in;
}
template <class T, class Scale>
HEDDLE_SHIM int4_lines<T, Scale> steps_from(int4_lines<T, Scale> in, index_t step) {
  in.step += step;
  return in;
}
template <class T, class Scale>
HEDDLE_SHIM bool has_rows(int4_lines<T, Scale> const&) {
  return false;
}
template <class P, class T, class Scale>
HEDDLE_SHIM std::uint32_t code_at(int4_lines<T, Scale> const& in, index_t line, index_t k) {
  return code_of<P>(static_cast<T>(in.b(in.step + k, in.line + line)));
}

/// As many pairs of steps of one column as a vector has words; those from `left` steps on are zero. All of them lie in
/// one block.
template <class V, class Scale>
HEDDLE_SHIM V int4_pairs(block_int4<Scale> const& b, index_t column, index_t step, index_t left) {
  using floats = rebind_lanes<V, float>;
  using ints = rebind_lanes<V, std::int32_t>;
  using bytes = vec<std::uint8_t, V::width, V::register_lanes>;
  auto const scale = floats::splat(b.scale(step, column));
  auto const zero = ints::splat(b.zero(step, column));
  index_t const n = (left + 1) / 2;
  std::uint8_t const* const from = b.codes() + column * b.line_bytes() + step / 2;
  ints const codes = convert<std::int32_t>(n >= V::width ? bytes::load(from) : bytes::load(from, n));
  V const even = bf16::narrow(mul(scale, convert<float>((codes & 15) - zero)));
  V const odd = bf16::narrow(mul(scale, convert<float>(shift_right<4>(codes) - zero)));
  V const pairs = even | shift_left<16>(odd);
  if (left >= 2 * V::width) return pairs;
  auto const at = V::iota() * 2u, end = V::splat(static_cast<std::uint32_t>(left));
  return select(at + 1u < end, pairs, select(at < end, even, V::zero()));
}
template <class V, class Scale, int... I>
HEDDLE_SHIM void load_pairs(std::integer_sequence<int, I...>, int4_lines<bf16, Scale> const& in, index_t lines,
                            index_t step, index_t left, V* rows) {
  ((rows[I] = I < lines ? int4_pairs<V>(in.b, in.line + I, in.step + step, left) : V::zero()), ...);
}

template <class F, class P, int Width, bool Left, class T, class Scale>
HEDDLE_SHIM void pack_words(int4_lines<T, Scale> const& in, index_t lines, index_t k, std::uint32_t* to) {
  using V = typename F::words;
  constexpr int W = V::width, parts = (Width + W - 1) / W;
  if constexpr (std::is_same_v<P, bf16_words> && W <= 16 && Width % W == 0) {
    V rows[W];
    index_t const pairs = (k + 1) / 2;
    for (index_t d = 0; d < pairs; d += W)
      for (index_t g = 0; g < parts; ++g) {
        load_pairs(std::make_integer_sequence<int, W>{}, lines_from(in, g * W), lines - g * W, 2 * d, k - 2 * d, rows);
        transpose_squares<W>(rows);
        put_words<F, Left, Width>(std::make_integer_sequence<int, W>{}, rows, to + d * F::per * Width + g * W,
                                  pairs - d);
      }
  } else {
    pack_codes<F, P, Width, Left>(in, lines, k, to);
  }
}

}  // namespace detail
}  // namespace cpu
}  // namespace heddle
