// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/backend/cpu/matmul_pack.hpp>

/// @file
/// The CPU matrix product of operands that are read where they lie: a is never packed, b where its rows alias only, and
/// rows and columns at the edges have register tiles of their own. For products that are too small, or too short in one
/// extent, to repay packing.

namespace heddle {
namespace cpu {

/// How one product is cut. Units: register tiles.
struct direct_plan {
  index_t mr = 0, nr = 0;  ///< the largest register tile
  index_t row_tiles = 0, column_tiles = 0;
  index_t row_parts = 1, column_parts = 1;  ///< what workers take is one part of each
  bool packs_b = false;                     ///< because its rows compete for the ways of a cache
};

namespace detail {

/// One register tile: `rows` rows of a and `columns` columns of b, to lines of `to` that are `pitch` apart.
template <class T>
struct direct_tile {
  static constexpr index_t size = largest_tile_bytes / static_cast<index_t>(sizeof(T));

  T const* a;
  T const* b;
  T* to;
  index_t a_row, a_step, b_step, pitch, depth;
  index_t rows, columns;
  char const* ahead;        ///< asked for meanwhile, a line of memory at every step
  index_t ahead_step;       ///< bytes from one to the next
  index_t merges = 0;       ///< sums that are added at the end, on the left, `size` apart downwards
  T const* left = nullptr;  ///< the first of them
  index_t left_pitch = 0;
};

/// Rows of a at one step: every third has a pointer, because so many fit the registers and the two between are one
/// addition away. Pack expansions throughout: arrays that loops run over stay in memory.
template <class T, class Thirds>
struct row_pointers;
template <class T, int... P>
struct row_pointers<T, std::integer_sequence<int, P...>> {
  T const* at[sizeof...(P)];

  HEDDLE_SHIM row_pointers(T const* first, index_t apart) : at{first + 3 * P * apart...} {}
  HEDDLE_SHIM void advance(index_t step) { ((at[P] += step), ...); }
};
template <class T, int Rows>
using pointers_to = row_pointers<T, std::make_integer_sequence<int, (Rows + 2) / 3>>;

template <int Nv, class V, class Pointers, int... X>
HEDDLE_SHIM void direct_step(std::integer_sequence<int, X...>, V* acc, Pointers const& a, index_t apart, V const* b) {
  ((acc[X] = fma(V::splat(a.at[X / Nv / 3][X / Nv % 3 * apart]), b[X % Nv], acc[X])), ...);
}
/// Moves of Nv vectors of which the last one holds `last` lanes where Part.
template <bool Part, int Nv, class V, class T, int... X>
HEDDLE_SHIM void load_columns(std::integer_sequence<int, X...>, T const* from, index_t last, V* to) {
  ((to[X] = Part && X + 1 == Nv ? V::load(from + X * V::width, last) : V::load(from + X * V::width)), ...);
}
template <bool Part, int Nv, class V, class T, int... X>
HEDDLE_SHIM void store_rows(std::integer_sequence<int, X...>, V const* acc, T* to, index_t pitch, index_t last) {
  ((Part && X % Nv + 1 == Nv ? acc[X].store(to + X / Nv * pitch + X % Nv * V::width, last)
                             : acc[X].store(to + X / Nv * pitch + X % Nv * V::width)),
   ...);
}

template <bool Part, int Nv, class V, class T, int... X>
HEDDLE_SHIM void add_rows(std::integer_sequence<int, X...>, T const* from, index_t pitch, index_t last, V* acc) {
  ((acc[X] = (Part && X % Nv + 1 == Nv ? V::load(from + X / Nv * pitch + X % Nv * V::width, last)
                                       : V::load(from + X / Nv * pitch + X % Nv * V::width)) +
             acc[X]),
   ...);
}

/// The sums of a register tile of Nv vectors of columns, the last one perhaps filled in part.
template <class T, int Nv>
struct direct_body {
  template <class Isa>
  HEDDLE_SHIM void operator()(Isa, direct_tile<T> const& x) const {
    if constexpr (!is_fallback<Isa>()) pick<Isa, register_tile<Isa, T>::mr>(x);
  }

 private:
  template <class Isa, int Rows>
  HEDDLE_SHIM void pick(direct_tile<T> const& x) const {
    if constexpr (Rows > 1)
      if (x.rows < Rows) return pick<Isa, Rows - 1>(x);
    // A mask costs nothing in registers of 64 bytes, and narrower ones have few forms.
    if constexpr (Isa::register_bytes < 64)
      if (x.columns == Nv * register_tile<Isa, T>::lanes) return run<Isa, Rows, false>(x);
    run<Isa, Rows, true>(x);
  }
  template <class Isa, int Rows, bool Part>
  HEDDLE_SHIM void run(direct_tile<T> const& x) const {
    using V = typename register_tile<Isa, T>::vector;
    using all = std::make_integer_sequence<int, Rows * Nv>;
    V acc[Rows * Nv];
    clear(all{}, acc);
    pointers_to<T, Rows> a(x.a, x.a_row);
    T const* b = x.b;
    index_t const last = x.columns - (Nv - 1) * V::width, apart = x.a_row, step = x.a_step, b_step = x.b_step;
    char const* ahead = x.ahead;
    index_t const ahead_step = x.ahead_step;
    for (index_t d = x.depth; d > 0; --d, b += b_step, a.advance(step), ahead += ahead_step) {
      __builtin_prefetch(ahead);
      V right[Nv];
      load_columns<Part, Nv>(std::make_integer_sequence<int, Nv>{}, b, last, right);
      direct_step<Nv>(all{}, acc, a, apart, right);
    }
    for (index_t i = 0; i < x.merges; ++i) add_rows<Part, Nv>(all{}, x.left - i * x.size, x.left_pitch, last, acc);
    store_rows<Part, Nv>(all{}, acc, x.to, x.pitch, last);
  }
};

template <class T>
HEDDLE_FN void run_direct_tile(direct_tile<T> const& x, index_t nr) {
  if (2 * x.columns > nr)
    dispatch_isa(direct_body<T, 2>{}, x);
  else
    dispatch_isa(direct_body<T, 1>{}, x);
}

/// The same where k is cut into leaves: those that wait for their right neighbour lie in scratch.
template <class I, class T>
HEDDLE_FN void run_direct_leaves(I const& in, direct_tile<T> const& x, index_t nr) {
  constexpr index_t levels = 7, size = direct_tile<T>::size;  // for 64 leaves
  alignas(64) T waiting[levels * size];
  index_t const leaves = in.chains().count();
  tree_accumulate tree(leaves, 0, leaves);
  for (index_t leaf = 0; leaf < leaves; ++leaf) {
    part const at = in.chains().at(leaf);
    index_t const slot = tree.next_slot();
    direct_tile<T> mine = x;
    mine.a += at.offset * x.a_step, mine.b += at.offset * x.b_step, mine.depth = at.size;
    mine.merges = tree.push(), mine.left_pitch = nr;
    mine.left = mine.merges > 0 ? waiting + (slot - 1) * size : nullptr;
    if (leaf + 1 < leaves) mine.to = waiting + (slot - mine.merges) * size, mine.pitch = nr;
    run_direct_tile(mine, nr);
  }
}

/// Columns of b, register tile by register tile.
template <class T>
struct columns_of_b {
  T const* from;
  index_t apart;  ///< between two tiles
  index_t step;   ///< between two steps of k
};

/// The register tiles of one part of the rows and one of the columns.
template <class I, class O>
HEDDLE_FN void run_direct(I const& in, O const& out, direct_plan const& plan, columns_of_b<typename I::number> const& b,
                          part const& rows, part const& columns) {
  using T = typename I::number;
  alignas(64) T tile[largest_tile_bytes / static_cast<index_t>(sizeof(T))];
  bool const whole = in.chains().count() == 1;
  bool direct = false;
  if constexpr (std::is_same_v<decltype(out.c), T*>) direct = out.direct();
  // One line at every step asks for all of the next rows, where these and the present ones fit the L1 cache.
  bool const gapless = in.a_step == 1 && in.a_row == in.k && in.k <= 512;
  for (index_t r = rows.offset; r < rows.end(); ++r) {
    part const lines = balanced_part(in.m, plan.row_tiles, r);
    T const* const next_rows = in.a + (r + 1 < rows.end() ? lines.end() : lines.offset) * in.a_row;
    for (index_t c = columns.offset; c < columns.end(); ++c) {
      index_t const col = c * plan.nr, width = in.n - col < plan.nr ? in.n - col : plan.nr;
      T* to = tile;
      index_t pitch = plan.nr;
      if constexpr (std::is_same_v<decltype(out.c), T*>)
        if (direct) to = out.c + lines.offset * out.c_row + col, pitch = out.c_row;
      bool const asks = gapless && c == columns.offset;
      direct_tile<T> const x{in.a + lines.offset * in.a_row,
                             b.from + c * b.apart,
                             to,
                             in.a_row,
                             in.a_step,
                             b.step,
                             pitch,
                             in.k,
                             lines.size,
                             width,
                             reinterpret_cast<char const*>(next_rows),
                             asks ? 64 : 0};
      if (whole)
        run_direct_tile(x, plan.nr);
      else
        run_direct_leaves(in, x, plan.nr);
      if (!direct)
        dispatch_isa(store_body{}, out, static_cast<T const*>(tile), plan.nr, lines.offset, lines.size, col, width);
    }
  }
}

}  // namespace detail

/// Products below this size, in multiplications, are not shared: a loop of several workers costs about as much.
inline constexpr index_t alone_size = index_t{1} << 19;

/// Whether the tiles above hold every sum of a product to its end: k is one chain, or leaves that wait beside it.
template <class I>
HEDDLE_FN bool sums_in_tiles(I const& in) {
  return in.k > 0 && (in.leaves > 0 || in.chains().count() == 1);
}

/// Whether reading both operands in place beats packing them: b stays in the L2 cache, and a is read few times.
template <class I>
HEDDLE_FN bool reads_in_place(I const& in) {
  index_t const b_bytes = in.k * in.n * static_cast<index_t>(sizeof(*in.b));
  return in.b_column == 1 && sums_in_tiles(in) && b_bytes <= (in.n <= 128 ? 1024 : 512) * 1024;
}

/// The cuts of one product, by shape and number of workers.
template <class I, class O>
HEDDLE_FN direct_plan plan_direct(I const& in, O const& out, index_t mr, index_t nr, int workers) {
  constexpr index_t size = sizeof(typename I::number), page = 4096;
  direct_plan plan{};
  plan.nr = nr, plan.mr = mr;
  // Lines at such distances compete for the ways of a cache, of which there are twelve or fewer.
  if (in.a_row * size % (page / 2) == 0 && in.k > short_depth) plan.mr = mr < 10 ? mr : 10;
  if (out.c_row * size % page == 0) plan.mr = plan.mr < 12 ? plan.mr : 12;
  plan.packs_b = in.b_step * size % page == 0 && in.m > 4 * mr;
  plan.row_tiles = (in.m + plan.mr - 1) / plan.mr, plan.column_tiles = (in.n + nr - 1) / nr;
  if (workers == 1 || in.m * in.n * in.k < alone_size) return plan;
  plan.row_parts = plan.row_tiles < 4 * workers ? plan.row_tiles : 4 * workers;
  if (plan.row_tiles % workers) plan.column_parts = plan.column_tiles < workers ? plan.column_tiles : workers;
  return plan;
}

/// Submits a product that is read in place. Pre: k is one chain or cut into leaves, columns of b are adjacent.
template <class E, class I, class O>
HEDDLE_FN void submit_direct(E& exec, I const& in, O const& out) {
  using T = typename I::number;
  index_t mr = 0, nr = 0;
  dispatch_isa(detail::tile_size_body{}, T{}, &mr, &nr);
  direct_plan const plan = plan_direct(in, out, mr, nr, exec.concurrency());
  auto const submit = [&](detail::columns_of_b<T> const& b) {
    exec.for_each_tile(plan.row_parts * plan.column_parts, [=](index_t tile, int) {
      detail::run_direct(in, out, plan, b, balanced_part(plan.row_tiles, plan.row_parts, tile / plan.column_parts),
                         balanced_part(plan.column_tiles, plan.column_parts, tile % plan.column_parts));
    });
  };
  if (!plan.packs_b) return submit({in.b, nr, in.b_step});
  constexpr index_t beyond = 64 / sizeof(T);  // what packing may write past the end
  scratch_frame<E> frame(exec);
  T* const packed = frame.template take<T>(plan.column_tiles * nr * in.k + beyond);
  exec.for_each_tile(plan.column_tiles,
                     [=](index_t panel, int) { detail::pack_columns(in, nr, packed + panel * nr * in.k, panel * nr); });
  submit({packed, nr * in.k, nr});
}

/// Equal products at even distances in memory.
struct product_batch {
  index_t count, a, b, c;
};

/// Whether products of a batch are so small that workers take whole ones.
template <class I>
HEDDLE_FN bool takes_whole(I const& in) {
  index_t const bytes = in.k * in.n * static_cast<index_t>(sizeof(*in.b));
  return std::is_same_v<decltype(in.a), typename I::number const*> && !uses_fallback() && sums_in_tiles(in) &&
         in.m * in.n * in.k < alone_size && bytes <= 256 * 1024;
}

/// Submits a batch of small products at once. b is packed by the worker where its columns are not adjacent.
template <class E, class I, class O>
HEDDLE_FN void submit_batch(E& exec, I const& in, O const& out, product_batch const& batch) {
  using T = typename I::number;
  index_t mr = 0, nr = 0;
  dispatch_isa(detail::tile_size_body{}, T{}, &mr, &nr);
  direct_plan const plan = plan_direct(in, out, mr, nr, 1);
  constexpr index_t beyond = 64 / sizeof(T);  // what packing may write past the end
  bool const packs = in.b_column != 1;
  index_t const size = packs ? round_up(plan.column_tiles * nr * in.k + beyond, beyond) : 0;
  index_t const some = 4 * exec.concurrency(), shared = batch.count < some ? batch.count : some;
  index_t const parts = in.m * in.n * in.k * batch.count < alone_size ? 1 : shared;
  scratch_frame<E> frame(exec);
  T* const scratch = frame.template take<T>(size * exec.concurrency());
  exec.for_each_tile(parts, [=](index_t tile, int worker) {
    part const mine = balanced_part(batch.count, parts, tile);
    T* const packed = scratch + worker * size;
    for (index_t i = mine.offset; i < mine.end(); ++i) {
      I one = in;
      O to = out;
      one.a += i * batch.a, one.b += i * batch.b, to.c += i * batch.c;
      for (index_t p = 0; packs && p < plan.column_tiles; ++p)
        detail::pack_columns(one, nr, packed + p * nr * in.k, p * nr);
      detail::columns_of_b<T> b{packed, nr * in.k, nr};
      if constexpr (std::is_same_v<decltype(in.b), T const*>)
        if (!packs) b = {one.b, nr, in.b_step};
      detail::run_direct(one, to, plan, b, {0, plan.row_tiles}, {0, plan.column_tiles});
    }
  });
}

}  // namespace cpu
}  // namespace heddle
