// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/backend/cpu/matmul_pack.hpp>

/// @file
/// Products of 2 to 16 rows with a large b of floats or doubles whose columns lie side by side. Eight rows of b go by
/// at once: a piece of each stays in registers while the sums of all rows of a, which wait in the L1 or L2 cache, take
/// it in. Every row of b is asked for two kilobytes ahead, a few lines with each row of sums: all at once they would
/// be dropped.

namespace heddle {
namespace cpu {

/// Rows up to which b is read so, steps of k at once, bytes of the sums of a strip.
inline constexpr index_t float_decode_rows = 16, float_decode_steps = 8, float_decode_sums_bytes = 256 * 1024;
/// How far ahead rows of b are asked for.
inline constexpr index_t float_decode_ahead_bytes = 2048;

namespace detail {

/// A strip of columns of b under all rows of a, over some steps of k.
template <class T>
struct float_decode {
  T const* b;  ///< the first step of the first column
  index_t step, columns, steps;
  T const* a;  ///< eight steps of every row, row after row, then the next eight
  index_t rows;
  T* sums;
  index_t pitch;  ///< between rows of sums
};

/// Adds the products of all steps to the sums of a strip.
template <class T>
struct float_decode_body {
  template <class Isa>
  HEDDLE_SHIM void operator()(Isa, float_decode<T> const& x) const {
    constexpr int lanes = Isa::template lanes<T>, at_once = Isa::register_bytes == 64 ? 8 : 4;
    using V = vec<T, lanes, lanes>;
    float_decode<T> now = x;
    for (; now.steps >= float_decode_steps; now.steps -= float_decode_steps, now.a += now.rows * float_decode_steps)
      for (int i = 0; i < float_decode_steps; i += at_once, now.b += at_once * now.step)
        sweep<at_once, V>(now, now.a + i);
    for (; now.steps > 0; --now.steps, ++now.a, now.b += now.step) sweep<1, V>(now, now.a);
  }

 private:
  template <int Steps, class V>
  static HEDDLE_SHIM void sweep(float_decode<T> const& x, T const* a) {
    constexpr index_t both = 2 * V::width, distance = float_decode_ahead_bytes / static_cast<index_t>(sizeof(T));
    index_t c = 0;
    for (; c + both <= x.columns; c += both) {
      index_t const ahead = c + distance;
      T const* const wanted = x.b + (ahead < x.columns ? ahead : Steps * x.step + ahead - x.columns);
      add_columns<Steps, 2, V>(x, a, c, both, wanted);
    }
    for (; c < x.columns; c += V::width) add_columns<Steps, 1, V>(x, a, c, x.columns - c, x.b + c);
  }
  /// Some vectors of columns from c on, of which n are there.
  template <int Steps, int Nv, class V>
  static HEDDLE_SHIM void add_columns(float_decode<T> const& x, T const* a, index_t c, index_t n, T const* wanted) {
    constexpr std::make_integer_sequence<int, Nv> vectors{};
    constexpr std::make_integer_sequence<int, Steps * Nv> all{};
    V b[Steps * Nv], acc[Nv];
    load_steps<Nv>(all, x.b + c, x.step, n, b);
    T* to = x.sums + c;
    constexpr bool two = Nv * sizeof(V) > 64;  // lines of memory for every step
    index_t left = two ? 2 * Steps : Steps;
    index_t const share = x.rows < left ? (left + x.rows - 1) / x.rows : 1;
    index_t const across = two ? x.step - V::width : x.step;
    for (index_t r = 0; r < x.rows; ++r, to += x.pitch, a += float_decode_steps) {
      for (index_t i = share; i > 0 && left > 0; --i, --left) {
        __builtin_prefetch(wanted);
        wanted += two && left % 2 == 0 ? index_t{V::width} : across;
      }
      load_sums(vectors, to, acc);
      add_steps<Nv>(all, a, b, acc);
      store_line(vectors, acc, to);
    }
  }
  template <int Nv, class V, int... X>
  static HEDDLE_SHIM void load_steps(std::integer_sequence<int, X...>, T const* from, index_t step, index_t n, V* to) {
    if (n >= V::width)
      ((to[X] = V::load(from + X / Nv * step + X % Nv * V::width)), ...);
    else
      ((to[X] = V::load(from + X / Nv * step, n)), ...);
  }
  template <class V, int... X>
  static HEDDLE_SHIM void load_sums(std::integer_sequence<int, X...>, T const* from, V* acc) {
    ((acc[X] = V::load(from + X * V::width)), ...);
  }
  template <class V, int... X>
  static HEDDLE_SHIM void store_line(std::integer_sequence<int, X...>, V const* acc, T* to) {
    (acc[X].store(to + X * V::width), ...);
  }
  template <int Nv, class V, int... X>
  static HEDDLE_SHIM void add_steps(std::integer_sequence<int, X...>, T const* a, V const* b, V* acc) {
    ((acc[X % Nv] = fma(V::splat(a[X / Nv]), b[X], acc[X % Nv])), ...);
  }
};

/// Lays out one row of a: its steps [8 g, 8 g + 8) at to + 8 g rows.
template <class I>
HEDDLE_FN void lay_out_row(I const& in, index_t row, typename I::number* to) {
  auto const* from = in.a + row * in.a_row;
  for (index_t k = 0; k < in.k; ++k, from += in.a_step)
    to[k / float_decode_steps * float_decode_steps * in.m + k % float_decode_steps] = *from;
}

/// The sums of a strip, in pieces along the tree. `whole.sums` has room for `block` numbers per slot.
template <class I>
HEDDLE_FN void sum_float_strip(I const& in, float_decode<typename I::number> const& whole, index_t block) {
  using T = typename I::number;
  index_t const pieces = in.chains().count();
  tree_accumulate tree(pieces, 0, pieces);
  for (index_t p = 0; p < pieces; ++p) {
    int slot = tree.next_slot();
    part const steps = in.chains().at(p);
    float_decode<T> x = whole;
    x.b += steps.offset * x.step, x.a += steps.offset * x.rows, x.sums += slot * block, x.steps = steps.size;
    __builtin_memset(x.sums, 0, static_cast<std::size_t>(block) * sizeof(T));
    dispatch_isa(float_decode_body<T>{}, x);
    for (int merges = tree.push(); merges > 0; --merges, --slot)
      dispatch_isa(add_body<T>{}, static_cast<T const*>(whole.sums + slot * block), whole.sums + (slot - 1) * block,
                   block);
  }
}

}  // namespace detail

/// Whether the shape is taken: pieces of k begin with eight steps that are laid out together.
template <class I>
HEDDLE_FN bool decodes_floats(I const& in) {
  return in.m >= 2 && in.m <= float_decode_rows && in.b_column == 1 && in.leaves <= 1;
}

/// Submits a product that `decodes_floats` takes. Pre: b has elements of the sums' type.
template <class E, class I, class O>
HEDDLE_FN void submit_float_decode(E& exec, I const& in, O const& out) {
  using T = typename I::number;
  index_t const workers = exec.concurrency(), pieces = in.chains().count();
  index_t const most = float_decode_sums_bytes / static_cast<index_t>(sizeof(T)) / in.m / 64 * 64;
  index_t strip = round_up((in.n + workers - 1) / workers, 64);
  if (strip > most) strip = most;
  // Rows of sums do not begin at the same place of a page: their lines would compete for one set.
  index_t const pitch = strip + 64 / static_cast<index_t>(sizeof(T)), block = in.m * pitch;
  index_t const sums_size = tree_slots(pieces, 0, pieces) * block;
  scratch_frame<E> frame(exec);
  T* const rows = frame.template take<T>(in.m * round_up(in.k, float_decode_steps));
  T* const sums = frame.template take<T>(workers * sums_size);
  exec.for_each_tile(in.m, [=](index_t r, int) { detail::lay_out_row(in, r, rows + r * float_decode_steps); });
  exec.for_each_tile((in.n + strip - 1) / strip, [=](index_t i, int worker) {
    index_t const col = i * strip, columns = in.n - col < strip ? in.n - col : strip;
    T* const mine = sums + worker * sums_size;
    detail::sum_float_strip(in, {in.b + col, in.b_step, columns, in.k, rows, in.m, mine, pitch}, block);
    dispatch_isa(detail::store_body{}, out, static_cast<T const*>(mine), pitch, index_t{0}, in.m, col, columns);
  });
}

}  // namespace cpu
}  // namespace heddle
