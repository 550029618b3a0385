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

/// Register tiles that lie together: `tall` of them, of `rows` rows each, then `low` with a row less, by `columns`
/// columns, cut at multiples of nr. Their sums go to lines of `to` that are `pitch` apart.
template <class T>
struct direct_tiles {
  static constexpr index_t size = largest_tile_bytes / static_cast<index_t>(sizeof(T));

  T const* a;
  T const* b;
  T* to;
  index_t a_row, a_step, b_step, pitch, depth;
  index_t b_apart;  ///< between the columns of two tiles
  index_t rows, tall, low, columns;
  bool asks;                ///< for the next rows of a meanwhile, a line of memory at every step
  index_t merges = 0;       ///< sums of one tile that are added at the end, on the left, `size` apart downwards
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

/// What the loop over the steps of one register tile needs.
template <class T>
struct direct_place {
  T const* a;
  T const* b;
  T* to;
  index_t columns;    ///< of this tile
  char const* ahead;  ///< asked for meanwhile
  index_t ahead_step;
};

/// The sums of register tiles, in one function: a call and its return take as long as two or three steps.
template <class T>
struct direct_body {
  template <class Isa>
  HEDDLE_SHIM void operator()(Isa, direct_tiles<T> const& x) const {
    if constexpr (!is_fallback<Isa>()) {
      T const* a = x.a;
      T* to = x.to;
      index_t rows = x.rows, count = x.tall;
      for (int height = 0; height < 2; ++height, --rows, count = x.low) {
        if (count > 0) pick<Isa, register_tile<Isa, T>::mr>(x, a, to, rows, count, height == 0 && x.low > 0);
        a += count * rows * x.a_row, to += count * rows * x.pitch;
      }
    }
  }

 private:
  template <class Isa, int Rows>
  HEDDLE_SHIM void pick(direct_tiles<T> const& x, T const* a, T* to, index_t rows, index_t count, bool more) const {
    if constexpr (Rows > 1)
      if (rows < Rows) return pick<Isa, Rows - 1>(x, a, to, rows, count, more);
    using tile = register_tile<Isa, T>;
    for (; count > 0; --count, a += Rows * x.a_row, to += Rows * x.pitch) {
      T const* const next = count > 1 || more ? a + Rows * x.a_row : a;
      direct_place<T> at{a, x.b, to, x.columns, reinterpret_cast<char const*>(next), x.asks ? 64 : 0};
      for (; 2 * at.columns > tile::nr; at.columns -= tile::nr, at.b += x.b_apart, at.to += tile::nr) {
        run<Isa, Rows, tile::nv>(x, at);
        at.ahead = reinterpret_cast<char const*>(a), at.ahead_step = 0;
      }
      if (at.columns > 0) run<Isa, Rows, 1>(x, at);
    }
  }
  template <class Isa, int Rows, int Nv>
  HEDDLE_SHIM void run(direct_tiles<T> const& x, direct_place<T> const& at) const {
    // A mask costs little in registers of 64 bytes, and narrower ones have few forms.
    if constexpr (Isa::register_bytes < 64)
      if (at.columns >= Nv * register_tile<Isa, T>::lanes) return run<Isa, Rows, Nv, false>(x, at);
    run<Isa, Rows, Nv, true>(x, at);
  }
  template <class Isa, int Rows, int Nv, bool Part>
  HEDDLE_SHIM void run(direct_tiles<T> const& x, direct_place<T> const& at) const {
    using V = typename register_tile<Isa, T>::vector;
    using all = std::make_integer_sequence<int, Rows * Nv>;
    constexpr index_t width = V::width;
    V acc[Rows * Nv];
    clear(all{}, acc);
    index_t const apart = fresh(x.a_row), step = fresh(x.a_step), b_step = fresh(x.b_step);
    pointers_to<T, Rows> a(at.a, apart);
    T const* b = at.b;
    index_t const behind = at.columns - (Nv - 1) * width, last = fresh(behind < width ? behind : width);
    index_t const ahead_step = fresh(at.ahead_step);
    char const* ahead = at.ahead;
    for (index_t d = x.depth; d > 0; --d, b += b_step, a.advance(step), ahead += ahead_step) {
      __builtin_prefetch(ahead);
      V right[Nv];
      load_columns<Part, Nv>(std::make_integer_sequence<int, Nv>{}, b, last, right);
      direct_step<Nv>(all{}, acc, a, apart, right);
    }
    for (index_t i = 0; i < x.merges; ++i) add_rows<Part, Nv>(all{}, x.left - i * x.size, x.left_pitch, last, acc);
    store_rows<Part, Nv>(all{}, acc, at.to, fresh(x.pitch), last);
  }
};

/// One register tile whose k is cut into leaves: those that wait for their right neighbour lie in scratch.
template <class I, class T>
HEDDLE_FN void run_direct_leaves(I const& in, direct_tiles<T> const& x, index_t nr) {
  constexpr index_t levels = 7, size = direct_tiles<T>::size;  // for 64 leaves
  alignas(64) T waiting[levels * size];
  index_t const leaves = in.chains().count();
  tree_accumulate tree(leaves, 0, leaves);
  for (index_t leaf = 0; leaf < leaves; ++leaf) {
    part const at = in.chains().at(leaf);
    index_t const slot = tree.next_slot();
    direct_tiles<T> mine = x;
    mine.a += at.offset * x.a_step, mine.b += at.offset * x.b_step, mine.depth = at.size;
    mine.merges = tree.push(), mine.left_pitch = nr;
    mine.left = mine.merges > 0 ? waiting + (slot - 1) * size : nullptr;
    if (leaf + 1 < leaves) mine.to = waiting + (slot - mine.merges) * size, mine.pitch = nr;
    dispatch_isa(direct_body<T>{}, mine);
  }
}

/// Columns of b, register tile by register tile.
template <class T>
struct columns_of_b {
  T const* from;
  index_t apart;  ///< between two tiles
  index_t step;   ///< between two steps of k
};

/// The register tiles of one part of the rows and one of the columns, one after the other: what stands between sums
/// and c, or between leaves, waits in a tile of scratch.
template <class I, class O>
HEDDLE_FN void run_tile_by_tile(I const& in, O const& out, direct_plan const& plan,
                                columns_of_b<typename I::number> const& b, part const& rows, part const& columns,
                                direct_tiles<typename I::number> const& all) {
  using T = typename I::number;
  alignas(64) T tile[direct_tiles<T>::size];
  bool const whole = in.chains().count() == 1;
  for (index_t r = 0; r < rows.size; ++r) {
    index_t const lower = r < all.tall ? 0 : r - all.tall,
                  row = r * all.rows - lower;  // rows of `all` before this tile
    for (index_t c = columns.offset; c < columns.end(); ++c) {
      index_t const col = c * plan.nr;
      direct_tiles<T> x = all;
      x.a += row * in.a_row, x.b = b.from + c * b.apart, x.rows -= r < all.tall ? 0 : 1, x.tall = 1, x.low = 0;
      x.columns = in.n - col < plan.nr ? in.n - col : plan.nr, x.asks = false;
      if (all.to)
        x.to += row * x.pitch + (c - columns.offset) * plan.nr;
      else
        x.to = tile, x.pitch = plan.nr;
      if (whole)
        dispatch_isa(direct_body<T>{}, x);
      else
        run_direct_leaves(in, x, plan.nr);
      index_t const first = (x.a - in.a) / in.a_row;
      if (!all.to) dispatch_isa(store_body{}, out, static_cast<T const*>(tile), plan.nr, first, x.rows, col, x.columns);
    }
  }
}

/// The register tiles of one part of the rows and one of the columns.
template <class I, class O>
HEDDLE_FN void run_direct(I const& in, O const& out, direct_plan const& plan, columns_of_b<typename I::number> const& b,
                          part const& rows, part const& columns) {
  using T = typename I::number;
  // As balanced_part cuts them: the first tiles have a row more.
  index_t const low = in.m / plan.row_tiles, taller = in.m - low * plan.row_tiles;
  index_t const tall = taller < rows.offset ? 0 : taller < rows.end() ? taller - rows.offset : rows.size;
  // A branch, so that where all rows begin nothing waits for the division.
  index_t row = 0;
  if (rows.offset > 0) row = rows.offset * low + (rows.offset < taller ? rows.offset : taller);
  index_t const col = columns.offset * plan.nr;
  index_t const col_end = columns.end() * plan.nr;
  T* to = nullptr;
  if constexpr (std::is_same_v<decltype(out.c), T*>)
    if (out.direct()) to = out.c + row * out.c_row + col;
  // One line at every step asks for all of the next rows, where these and the present ones fit the L1 cache.
  bool const gapless = in.a_step == 1 && in.a_row == in.k && in.k <= 512;
  direct_tiles<T> const x{in.a + row * in.a_row,
                          b.from + columns.offset * b.apart,
                          to,
                          in.a_row,
                          in.a_step,
                          b.step,
                          out.c_row,
                          in.k,
                          b.apart,
                          low + 1,
                          tall,
                          rows.size - tall,
                          (col_end < in.n ? col_end : in.n) - col,
                          gapless};
  if (to != nullptr && in.chains().count() == 1)
    dispatch_isa(direct_body<T>{}, x);
  else
    run_tile_by_tile(in, out, plan, b, rows, columns, x);
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
    // What is over when the call returns needs no copies, which take as long as a tile of a small product.
    if constexpr (immediate_executor<E>)
      if (plan.row_parts * plan.column_parts == 1)
        return exec.for_each_tile(1, [&](index_t, int) {
          detail::run_direct(in, out, plan, b, part{0, plan.row_tiles}, part{0, plan.column_tiles});
        });
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
