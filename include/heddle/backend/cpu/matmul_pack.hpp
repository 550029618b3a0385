// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/backend/cpu/matmul_kernel.hpp>

/// @file
/// Packing of operands for the register tile: a as [k][mr], b as [k][nr], in the accumulator's type. An operand whose
/// steps of k are adjacent is transposed in registers, a square of vectors at a time.

namespace heddle {
namespace cpu {
namespace detail {

template <int W>
inline constexpr int log2_of = W <= 1 ? 0 : 1 + log2_of<W / 2>;

#if !defined(__CUDA_ARCH__)
/// Of every group of Side lanes: the lower and the upper halves of two vectors, lane by lane in turns.
template <int Side, class V, int... I>
HEDDLE_SHIM void interleave(std::integer_sequence<int, I...>, V const& a, V const& b, V& lower, V& upper) {
#if HEDDLE_NVCC
  ((lower.lane[I] = (I % 2 ? b : a).lane[I / Side * Side + I % Side / 2],
    upper.lane[I] = (I % 2 ? b : a).lane[I / Side * Side + Side / 2 + I % Side / 2]),
   ...);
#else
  constexpr int W = sizeof...(I);
  namespace r = heddle::detail::registers;
  auto const x = r::reg<W>(a.lane), y = r::reg<W>(b.lane);
  r::reg<W>(lower.lane) = __builtin_shufflevector(x, y, (I / Side * Side + I % Side / 2 + I % 2 * W)...);
  r::reg<W>(upper.lane) = __builtin_shufflevector(x, y, (I / Side * Side + Side / 2 + I % Side / 2 + I % 2 * W)...);
#endif
}
template <int Side, class V, int... I>
HEDDLE_SHIM void shuffle_rows(std::integer_sequence<int, I...>, V const* in, V* out) {
  (interleave<Side>(std::make_integer_sequence<int, V::width>{}, in[I], in[I + Side / 2], out[2 * I], out[2 * I + 1]),
   ...);
}
/// Transposes the squares of Side rows and Side lanes that stand side by side in Side rows. Each pass rotates the bits
/// of (row, lane) by one, so log2(Side) passes exchange them.
template <int Side, int Passes = log2_of<Side>, class V>
HEDDLE_SHIM void transpose_squares(V* rows) {
  if constexpr (Passes > 0) {
    V out[Side];
    shuffle_rows<Side>(std::make_integer_sequence<int, Side / 2>{}, rows, out);
    move(std::make_integer_sequence<int, Side>{}, out, rows);
    transpose_squares<Side, Passes - 1>(rows);
  }
}

/// Two registers as one.
template <class Half, class V, int... I>
HEDDLE_SHIM void join(std::integer_sequence<int, I...>, Half const& lower, Half const& upper, V& both) {
  constexpr int H = Half::width;
#if HEDDLE_NVCC
  ((both.lane[I] = (I < H ? lower : upper).lane[I % H]), ...);
#else
  namespace r = heddle::detail::registers;
  r::reg<2 * H>(both.lane) = __builtin_shufflevector(r::reg<H>(lower.lane), r::reg<H>(upper.lane), I...);
#endif
}
/// Groups of Side adjacent numbers, `apart` from one another.
template <int Side, class V, class T>
HEDDLE_SHIM V load_groups(T const* from, index_t apart) {
  if constexpr (V::width == Side) {
    return V::load(from);
  } else {
    using half = vec<T, V::width / 2, V::width / 2>;
    V both;
    join(std::make_integer_sequence<int, V::width>{}, load_groups<Side, half>(from, apart),
         load_groups<Side, half>(from + V::width / 2 / Side * apart, apart), both);
    return both;
  }
}
template <int Side, class V, class T, int... I>
HEDDLE_SHIM void load_all_groups(std::integer_sequence<int, I...>, T const* from, index_t line, V* rows) {
  ((rows[I] = load_groups<Side, V>(from + I % Side * line + I / Side * Side, Side * line)), ...);
}
template <int Side, class V, int... I>
HEDDLE_SHIM void transpose_groups(std::integer_sequence<int, I...>, V* rows) {
  (transpose_squares<Side>(rows + I * Side), ...);
}
#endif

template <class V, class A, int... I>
HEDDLE_SHIM void load_lines(std::integer_sequence<int, I...>, A const* from, index_t line, V* rows) {
  ((rows[I] = load_as<V>(from + I * line)), ...);
}
template <class V, class A, int... I>
HEDDLE_SHIM void load_lines(std::integer_sequence<int, I...>, A const* from, index_t line, index_t lines, index_t n,
                            V* rows) {
  // Of a line that is not there nothing is read.
  ((rows[I] = load_as<V>(from + (I < lines ? I * line : 0), I < lines ? n : 0)), ...);
}
template <class V, class T, int... I>
HEDDLE_SHIM void store_lines(std::integer_sequence<int, I...>, V const* rows, T* to, index_t pitch) {
  (rows[I].store(to + I * pitch), ...);
}
template <class V, class T, int... I>
HEDDLE_SHIM void store_lines(std::integer_sequence<int, I...>, V const* rows, T* to, index_t pitch, index_t n) {
  ((I < n ? rows[I].store(to + I * pitch) : void()), ...);
}

/// W lines of W adjacent elements, transposed. Loads put groups of 16 bytes where they belong, so that only shuffles
/// inside of these are left.
template <class V, class A>
HEDDLE_SHIM void load_square(A const* from, index_t line, V* rows) {
  constexpr int W = V::width, group = 16 / static_cast<int>(sizeof(lane_t<V>));
  using each = std::make_integer_sequence<int, W>;
  if constexpr (std::is_same_v<A, lane_t<V>> && W > group) {
    load_all_groups<group>(each{}, from, line, rows);
    transpose_groups<group>(std::make_integer_sequence<int, W / group>{}, rows);
  } else {
    load_lines(each{}, from, line, rows);
    transpose_squares<W>(rows);
  }
}

/// Up to W lines whose elements are adjacent along k, from `from` on: step d of all lines goes to to[d * pitch], for
/// n <= W steps. Missing lines are zero.
template <class V, class A, class T>
HEDDLE_SHIM void pack_square(A const* from, index_t line, index_t lines, index_t n, T* to, index_t pitch) {
  constexpr int W = V::width;
  using each = std::make_integer_sequence<int, W>;
  V rows[W];
  if (n >= W && lines >= W) {
    load_square(from, line, rows);
  } else {
    load_lines(each{}, from, line, lines, n, rows);
    transpose_squares<W>(rows);
  }
  if (n >= W)
    store_lines(each{}, rows, to, pitch);
  else
    store_lines(each{}, rows, to, pitch, n);
}

/// n elements, or a whole vector; zeros behind them.
template <class V, class A>
HEDDLE_SHIM V load_up_to(A const* from, index_t n) {
  return n >= V::width ? load_as<V>(from) : load_as<V>(from, n);
}

/// Lines of one operand: `lines` of them, `across` apart, `k` steps that are `step` apart.
template <class A>
struct operand_lines {
  A const* from;
  index_t across, step, lines, k;
};

/// Packs lines over all of k: to[d * width + line]. Missing lines are zero. Writes up to a vector past the end.
struct pack_body {
  template <class Isa, class A, class T>
  HEDDLE_SHIM void operator()(Isa, operand_lines<A> const& x, T* const& to, index_t const& width) const {
    constexpr int W = Isa::template lanes<T>;
    using V = vec<T, W, W>;
    index_t const groups = (width + W - 1) / W;
    if (x.across == 1) {
      // What a last vector writes too much belongs to the next step, which comes later.
      for (index_t d = 0; d < x.k; ++d)
        for (index_t g = 0; g < groups; ++g)
          load_up_to<V>(x.from + d * x.step + g * W, x.lines - g * W).store(to + d * width + g * W);
    } else if (x.step == 1) {
      for (index_t d = 0; d < x.k; d += W)
        for (index_t g = groups - 1; g >= 0; --g) {  // the last group first, for the same reason
          index_t const n = x.k - d < W ? x.k - d : index_t{W};
          pack_square<V>(x.from + g * W * x.across + d, x.across, x.lines - g * W, n, to + d * width + g * W, width);
        }
    } else {
      for (index_t d = 0; d < x.k; ++d)
        for (index_t i = 0; i < width; ++i)
          to[d * width + i] = i < x.lines ? static_cast<T>(x.from[i * x.across + d * x.step]) : T(0);
    }
  }
};

/// Packs the rows [row, row_end) of a, mr at a time.
template <class I>
HEDDLE_FN void pack_rows(I const& in, index_t mr, typename I::number* to, index_t row, index_t row_end) {
  using A = std::remove_cv_t<std::remove_pointer_t<decltype(in.a)>>;
  for (index_t r = row; r < row_end; r += mr)
    dispatch_isa(pack_body{},
                 operand_lines<A>{in.a + r * in.a_row, in.a_row, in.a_step, in.m - r < mr ? in.m - r : mr, in.k},
                 to + (r - row) * in.k, mr);
}

/// Packs the panel of nr columns of b that starts at column `col`.
template <class I>
HEDDLE_FN void pack_columns(I const& in, index_t nr, typename I::number* to, index_t col) {
  using A = std::remove_cv_t<std::remove_pointer_t<decltype(in.b)>>;
  dispatch_isa(
      pack_body{},
      operand_lines<A>{in.b + col * in.b_column, in.b_column, in.b_step, in.n - col < nr ? in.n - col : nr, in.k}, to,
      nr);
}

}  // namespace detail
}  // namespace cpu
}  // namespace heddle
