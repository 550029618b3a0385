// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/backend/cpu/matmul_decode_float.hpp>
#include <heddle/backend/cpu/matmul_direct.hpp>
#include <heddle/backend/cpu/matmul_kernel.hpp>
#include <heddle/backend/cpu/matmul_pack.hpp>
#include <heddle/backend/cpu/matmul_panels.hpp>
#include <heddle/backend/cpu/matmul_rows.hpp>
#include <heddle/backend/cpu/matmul_stream.hpp>
#include <heddle/backend/cpu/matmul_types.hpp>

/// @file
/// The CPU matrix product: which regime a shape takes, how it is cut into tiles, and what is packed where.
/// Bits do not depend on any of these choices: every element is the same chain in all of them.

namespace heddle {
namespace cpu {

/// How one product is cut. Units: elements, except where the name says bytes.
struct matmul_plan {
  index_t mr = 0, nr = 0;    ///< the register tile
  index_t row_parts = 0;     ///< parts that the register tiles of all rows are dealt out in
  index_t part_tiles = 0;    ///< register tiles of the largest part
  index_t chunk = 0;         ///< columns of b that are packed before they are used
  index_t column_parts = 1;  ///< parts that the panels of a chunk are dealt out in
  bool in_place = false;     ///< b is not packed, except its last columns
};

/// Half of an L2 cache, and a share of the last-level cache; fixed, so that a plan depends on shapes alone.
inline constexpr index_t l2_budget_bytes = 448 * 1024, shared_budget_bytes = 16 * 1024 * 1024;
/// b is read in place below this size: it then stays in the L2 cache by itself.
inline constexpr index_t in_place_bytes = 1024 * 1024;
/// Above this many rows and this size, b is packed while it is used: below, caches bring what is asked for in time.
inline constexpr index_t panel_rows = 48, panel_bytes = 12 * 1024 * 1024;
/// Rows of a that are packed before bands of them are multiplied.
inline constexpr index_t band_budget_bytes = 4 * 1024 * 1024;

/// The cuts of one product, by shape and number of workers. Pre: mr, nr >= 1; workers >= 1.
template <class I>
HEDDLE_FN matmul_plan plan_matmul(I const& in, index_t mr, index_t nr, int workers) {
  constexpr index_t size = sizeof(typename I::number);
  matmul_plan plan{};
  plan.mr = mr, plan.nr = nr;
  index_t const depth = in.k > 0 ? in.k : 1, row_tiles = (in.m + mr - 1) / mr;
  plan.in_place = in.b_column == 1 && std::is_same_v<decltype(in.b), typename I::number const*> &&
                  in.k * in.n * size <= in_place_bytes;
  index_t const fits = shared_budget_bytes / (depth * size) / nr * nr;
  plan.chunk = plan.in_place ? in.n : fits < nr ? nr : fits;
  if (plan.chunk > in.n) plan.chunk = in.n;
  // Packed rows of a part fit the L2 cache beside a panel of b; parts come in multiples of the workers.
  index_t const most = l2_budget_bytes / (depth * size * mr);
  index_t const least_parts = (row_tiles + (most < 1 ? 1 : most) - 1) / (most < 1 ? 1 : most);
  plan.row_parts = workers > 1               ? even_parts(row_tiles, least_parts, workers)
                   : least_parts < row_tiles ? least_parts
                                             : row_tiles;
  plan.part_tiles = (row_tiles + plan.row_parts - 1) / plan.row_parts;
  index_t const panels = (plan.chunk + nr - 1) / nr;
  if (plan.row_parts < 2 * workers && workers > 1)
    plan.column_parts = round_up(workers * 2, plan.row_parts) / plan.row_parts;
  if (plan.column_parts > panels) plan.column_parts = panels;
  return plan;
}

namespace detail {

/// A rectangle of the output: rows [row, row_end), columns [col, col_end).
struct rectangle {
  index_t row, row_end, col, col_end;
};

/// Where the columns of b lie: whole panels in place or packed from column `first` on, the last one packed in `edge`.
template <class T>
struct panels_of_b {
  T const* packed;
  T const* edge;
  index_t first, step;
};

/// The sums of one register tile over several pieces of k, to the lines of `tile`.
template <class I, class T>
HEDDLE_FN void run_pieces(I const& in, T const* left, T const* right, index_t step, matmul_plan const& plan, T* tile) {
  constexpr index_t levels = 20, size = largest_tile_bytes / static_cast<index_t>(sizeof(T));  // for 2^19 pieces
  alignas(64) T waiting[levels * size];  // sums that wait for their right neighbour
  index_t const pieces = in.chains().count(), used = plan.mr * plan.nr;
  tree_accumulate tree(pieces, 0, pieces);
  for (index_t p = 0; p < pieces; ++p) {
    index_t const from = in.chains().at(p).offset, depth = in.chains().at(p).size;
    int slot = tree.next_slot();
    int const merges = tree.push();
    bool const last = p + 1 == pieces;
    T* const to = merges == 0 && !last ? waiting + slot * size : tile;
    dispatch_isa(chain_body<T>{}, left + from * plan.mr, right + from * step, step, depth, to, plan.nr);
    for (int i = 0; i < merges; ++i)
      dispatch_isa(add_body<T>{}, static_cast<T const*>(waiting + --slot * size), tile, used);
    if (merges > 0 && !last) __builtin_memcpy(waiting + slot * size, tile, static_cast<std::size_t>(used) * sizeof(T));
  }
}

/// One register tile: rows [r, r + mr) of the packed rows `left`, columns [c, c + nr).
template <class I, class O>
HEDDLE_FN void run_tile(I const& in, O const& out, matmul_plan const& plan, typename I::number const* left, index_t r,
                        index_t c, panels_of_b<typename I::number> const& b) {
  using T = typename I::number;
  alignas(64) T tile[largest_tile_bytes / static_cast<index_t>(sizeof(T))];
  index_t const lines = in.m - r < plan.mr ? in.m - r : plan.mr, columns = in.n - c < plan.nr ? in.n - c : plan.nr;
  bool const in_place = plan.in_place && columns == plan.nr, one_piece = in.chains().count() == 1;
  T const* right = plan.in_place ? b.edge : b.packed + (c - b.first) * in.k;
  if constexpr (std::is_same_v<decltype(in.b), T const*>)
    if (in_place) right = in.b + c;
  index_t const step = in_place ? in.b_step : plan.nr;
  T* to = tile;
  index_t pitch = plan.nr;
  if constexpr (std::is_same_v<decltype(out.c), T*>)
    if (one_piece && out.direct() && lines == plan.mr && columns == plan.nr)
      to = out.c + r * out.c_row + c, pitch = out.c_row;
  if (one_piece)
    dispatch_isa(chain_body<T>{}, left, right, step, in.k, to, pitch);
  else
    run_pieces(in, left, right, step, plan, to);
  if (to == tile) dispatch_isa(store_body{}, out, static_cast<T const*>(tile), plan.nr, r, lines, c, columns);
}

/// Packs the rows of a rectangle, then runs over its register tiles: panel by panel of b, or where k is short row by
/// row, so that c is written in order.
template <class I, class O>
HEDDLE_FN void run_rectangle(I const& in, O const& out, matmul_plan const& plan, rectangle const& at,
                             typename I::number* rows, panels_of_b<typename I::number> const& b) {
  pack_rows(in, plan.mr, rows, at.row, at.row_end);
  if (in.k <= short_depth) {
    for (index_t r = at.row; r < at.row_end; r += plan.mr)
      for (index_t c = at.col; c < at.col_end; c += plan.nr)
        run_tile(in, out, plan, rows + (r - at.row) * in.k, r, c, b);
    return;
  }
  for (index_t c = at.col; c < at.col_end; c += plan.nr)
    for (index_t r = at.row; r < at.row_end; r += plan.mr) run_tile(in, out, plan, rows + (r - at.row) * in.k, r, c, b);
}

/// Packs the panels of columns [first, first + columns) of b, or only the last one where b is read in place.
template <class E, class I>
HEDDLE_FN void submit_packing(E& exec, I const& in, matmul_plan const& plan, index_t first, index_t columns,
                              typename I::number* to) {
  index_t const panels = (columns + plan.nr - 1) / plan.nr;
  if (plan.in_place) {
    if (columns % plan.nr != 0)
      exec.for_each_tile(
          1, [in, to, nr = plan.nr, col = (panels - 1) * plan.nr](index_t, int) { pack_columns(in, nr, to, col); });
    return;
  }
  exec.for_each_tile(panels, [in, to, first, nr = plan.nr](index_t panel, int) {
    pack_columns(in, nr, to + panel * nr * in.k, first + panel * nr);
  });
}

}  // namespace detail

/// Submits one product whose a is packed.
template <class E, class I, class O>
HEDDLE_FN void submit_packed(E& exec, I const& in, O const& out) {
  using T = typename I::number;
  index_t mr = 0, nr = 0;
  dispatch_isa(detail::tile_size_body{}, T{}, &mr, &nr);
  matmul_plan const plan = plan_matmul(in, mr, nr, exec.concurrency());
  scratch_frame<E> frame(exec);
  constexpr index_t beyond = 64 / sizeof(T);  // what packing may write past the end
  index_t const rows_size = round_up(plan.part_tiles * mr * in.k + beyond, beyond);
  T* const rows = frame.template take<T>(rows_size * exec.concurrency());
  T* const packed = frame.template take<T>((plan.in_place ? nr : round_up(plan.chunk, nr)) * in.k + beyond);
  index_t const row_tiles = (in.m + mr - 1) / mr;
  for (index_t first = 0; first < in.n; first += plan.chunk) {
    index_t const columns = in.n - first < plan.chunk ? in.n - first : plan.chunk;
    detail::submit_packing(exec, in, plan, first, columns, packed);
    index_t const panels = (columns + nr - 1) / nr;
    exec.for_each_tile(plan.row_parts * plan.column_parts, [=](index_t tile, int worker) {
      auto const r = balanced_part(row_tiles, plan.row_parts, tile / plan.column_parts);
      auto const c = balanced_part(panels, plan.column_parts, tile % plan.column_parts);
      index_t const row_end = r.end() * plan.mr, col_end = first + c.end() * plan.nr, last = first + columns;
      detail::run_rectangle(in, out, plan,
                            {r.offset * plan.mr, row_end < in.m ? row_end : in.m, first + c.offset * plan.nr,
                             col_end < last ? col_end : last},
                            rows + worker * rows_size, {packed, packed, first, plan.nr});
    });
  }
}

/// Submits a product of many rows in bands, as many at a time as the budget of packed rows allows.
template <class E, class I, class O>
HEDDLE_FN void submit_bands(E& exec, I const& in, O const& out) {
  index_t const bands = (in.m + streamed_rows - 1) / streamed_rows;
  index_t const band_bytes = streamed_rows * in.k * static_cast<index_t>(sizeof(typename I::number));
  index_t const at_once = band_budget_bytes > band_bytes ? band_budget_bytes / band_bytes : 1;
  for (index_t first = 0; first < bands; first += at_once) {
    index_t const count = bands - first < at_once ? bands - first : at_once;
    part const a = balanced_part(in.m, bands, first), z = balanced_part(in.m, bands, first + count - 1);
    submit_streamed(exec, in, out, row_bands{a.offset, z.end() - a.offset, count});
  }
}

/// Submits one product of a batch in the regime of its shape.
template <class E, class I, class O>
HEDDLE_FN void submit_product(E& exec, I const& in, O const& out) {
  auto const readable = [](index_t step, index_t column) { return step == 1 || column == 1; };
  bool const same = std::is_same_v<decltype(in.b), typename I::number const*>;
  index_t const b_bytes = in.k * in.n * static_cast<index_t>(sizeof(*in.b));
  // The fallback set has the packed form and that of few rows only: less to compile.
  bool const wide = !uses_fallback();
  bool const streams = wide && b_bytes > in_place_bytes && in.m <= streamed_rows && readable(in.b_step, in.b_column);
  if (in.m <= few_rows && !(streams && same && in.m > 1 && in.b_column == 1) && readable(in.b_step, in.b_column))
    return submit_few_rows(exec, in, out);
  if (streams && same && in.b_column == 1 && in.m > panel_rows && b_bytes > panel_bytes)
    return submit_panels(exec, in, out, row_bands{0, in.m, 1});
  if constexpr (std::is_same_v<decltype(in.b), typename I::number const*>)
    if (streams && decodes_floats(in)) return submit_float_decode(exec, in, out);
  if (streams) return submit_streamed(exec, in, out, row_bands{0, in.m, 1});
  if constexpr (O::can_swap) {
    if (in.n <= few_rows && readable(in.a_step, in.a_row)) {
      O turned = out;
      turned.swapped = true;
      return submit_few_rows(
          exec, I{in.b, in.a, in.b_column, in.b_step, in.a_step, in.a_row, in.n, in.m, in.k, in.leaves}, turned);
    }
  }
  if constexpr (std::is_same_v<decltype(in.a), typename I::number const*>)
    if (wide && reads_in_place(in)) return submit_direct(exec, in, out);
  // Reading b once for every band costs less than packing it, unless there are many bands for it.
  if (wide && same && in.b_column == 1 && b_bytes > in_place_bytes && in.m <= 2 * in.n)
    return submit_bands(exec, in, out);
  submit_packed(exec, in, out);
}

}  // namespace cpu

/// The packed, vectorised product on any threading.
template <>
struct kernel<matmul_fn, cpu_tag> {
  template <class E, class A, class B, class C, class Epilogue>
  static HEDDLE_FN void run(E& exec, A const& a, B const& b, C const& c, matmul_options const& options,
                            Epilogue const& epilogue) {
    if constexpr (cpu::goes_by_words<A, B>)
      if (!options.strict || !cpu::has_strict_form<A, B>) return cpu::run_words(exec, a, b, c, options, epilogue);
    if constexpr (!cpu::goes_by_words<A, B> || cpu::has_strict_form<A, B>) run_plain(exec, a, b, c, options, epilogue);
  }

 private:
  template <class E, class A, class B, class C, class Epilogue>
  static HEDDLE_FN void run_plain(E& exec, A const& a, B const& b, C const& c, matmul_options const& options,
                                  Epilogue const& epilogue) {
    using element = typename A::value_type;
    using number = accumulator_t<element>;
    number const alpha = static_cast<number>(options.alpha), beta = static_cast<number>(options.beta);
    // With alpha 0 nothing of a and b may be read: the product of no columns.
    index_t const k = alpha == number(0) ? 0 : a.extent(2);
    cpu::inputs<element> in{a.data(),    b.data(),    a.stride(1), a.stride(2), b.stride(1),
                            b.stride(2), c.extent(1), c.extent(2), k,           options.cuts(k).leaves};
    cpu::output<typename C::value_type, number, Epilogue> out{
        c.data(), c.stride(1), c.stride(2), alpha == number(0) ? number(1) : alpha, beta, false, epilogue};
    if constexpr (std::is_same_v<element, number>)
      if (c.extent(0) > 1 && cpu::takes_whole(in))
        return cpu::submit_batch(exec, in, out, {c.extent(0), a.stride(0), b.stride(0), c.stride(0)});
    for (index_t i = 0; i < c.extent(0); ++i, in.a += a.stride(0), in.b += b.stride(0), out.c += c.stride(0))
      cpu::submit_product(exec, in, out);
  }
};

}  // namespace heddle
