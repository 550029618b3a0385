// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/backend/cpu/matmul_words_pack.hpp>

/// @file
/// How a product of packed words is cut: chunks of rows and of columns that are packed, parts of them that a worker
/// takes, register tiles. Where all rows of a fit the L2 cache a worker packs a panel of b just before it is used.

namespace heddle {
namespace cpu {

/// Bytes of packed rows and of packed columns at a time, of rows that stay in an L2 cache, and of panels beside them.
inline constexpr index_t word_rows_bytes = 8 * 1024 * 1024, word_columns_bytes = 16 * 1024 * 1024,
                         word_l2_bytes = 576 * 1024, word_panels_bytes = 256 * 1024;

/// Sizes of packed operands. Units: words of 32 bits.
struct word_sizes {
  index_t mr = 0, nr = 0;  ///< the register tile
  index_t steps = 0;       ///< words along k
  index_t piece = 0;       ///< words of one chain
  index_t head = 0;        ///< before the words of a panel
  index_t panel = 0;       ///< one panel of b
  index_t tile = 0;        ///< one register tile of a, with what packing writes past its end
};
template <class P>
HEDDLE_FN word_sizes word_sizes_of(index_t k) {
  word_sizes s{};
  index_t per = 0;
  dispatch_isa(detail::word_size_body<P>{}, &s.mr, &s.nr, &per);
  s.steps = (k + P::group - 1) / P::group * per;
  s.piece = linalg::detail::chain_cuts::depth / P::group * per;
  s.head = P::has_head ? s.nr : 0;
  s.panel = s.head + s.steps * s.nr;
  s.tile = round_up(s.steps * s.mr + 16, 16);
  return s;
}

/// A product of words. `panels` holds b where it is packed already.
template <class Left, class Right>
struct word_problem {
  Left a;
  Right b;
  index_t m, n, k;
  std::uint32_t const* panels = nullptr;
};

/// The rows of register tile i: full ones, then the rest; the last two share their rows where two narrower tiles hold
/// them.
HEDDLE_FN constexpr part word_tile(index_t m, index_t mr, index_t i) {
  index_t const tiles = (m + mr - 1) / mr, both = m - (tiles - 2) * mr;
  if (tiles > 1 && i >= tiles - 2 && both <= 2 * detail::power_under(mr)) {
    part const p = balanced_part(both, 2, i - (tiles - 2));
    return {(tiles - 2) * mr + p.offset, p.size};
  }
  return {i * mr, m - i * mr < mr ? m - i * mr : mr};
}

namespace detail {

/// The sums of one register tile, in pieces along the tree.
template <class P>
HEDDLE_FN void sum_word_tile(word_sizes const& s, word_product<P> x, index_t row_words, typename P::sum* tile) {
  using T = typename P::sum;
  constexpr index_t levels = 20, size = largest_tile_bytes / static_cast<index_t>(sizeof(T));
  alignas(64) T waiting[levels * size];  // sums that wait for their right neighbour
  index_t const pieces = (s.steps + s.piece - 1) / s.piece, used = s.mr * s.nr;
  tree_accumulate tree(pieces, 0, pieces);
  x.pitch = s.nr;
  for (index_t p = 0; p < pieces; ++p) {
    index_t const left = s.steps - p * s.piece;
    int slot = tree.next_slot();
    int const merges = tree.push();
    bool const last = p + 1 == pieces;
    x.sums = merges == 0 && !last ? waiting + slot * size : tile;
    x.steps = left < s.piece ? left : s.piece;
    dispatch_isa(word_body<P>{}, x);
    x.rows += x.steps * row_words, x.columns += x.steps * s.nr, x.start = nullptr;
    for (int i = 0; i < merges; ++i)
      dispatch_isa(add_body<T>{}, static_cast<T const*>(waiting + --slot * size), tile, used);
    if (merges > 0 && !last) __builtin_memcpy(waiting + slot * size, tile, static_cast<std::size_t>(used) * sizeof(T));
  }
}

/// Stores sums[rows, columns] at (row, col), as floats where c is no integer.
template <class O, class T>
HEDDLE_FN void store_words(O const& out, T const* sums, index_t pitch, index_t row, index_t rows, index_t col,
                           index_t columns) {
  if constexpr (std::is_same_v<T, typename O::number>)
    dispatch_isa(store_body{}, out, sums, pitch, row, rows, col, columns);
  else
    dispatch_isa(word_store_body{}, out, sums, pitch, row, rows, col, columns);
}

/// One register tile of rows [r, r + lines) and one panel, which begins at column c.
template <class P, class O>
HEDDLE_FN void run_word_tile(word_sizes const& s, O const& out, std::uint32_t const* rows, index_t r, index_t lines,
                             std::uint32_t const* panel, index_t c, index_t columns) {
  using T = typename P::sum;
  constexpr bool starts = std::is_same_v<P, byte_words<true>>;
  alignas(64) T tile[largest_tile_bytes / static_cast<index_t>(sizeof(T))];
  index_t const row_words = tile_rows(lines, s.mr);
  word_product<P> x{rows, lines, panel + s.head, s.steps, nullptr, tile, s.nr};
  if constexpr (starts)
    if (s.steps > 0) x.start = reinterpret_cast<T const*>(panel);  // of no steps nothing is packed
  bool const one_piece = s.steps <= s.piece;
  if constexpr (std::is_same_v<decltype(out.c), T*>)
    if (one_piece && out.direct() && lines == row_words && columns == s.nr)
      x.sums = out.c + r * out.c_row + c, x.pitch = out.c_row;
  if (one_piece)
    dispatch_isa(word_body<P>{}, x);
  else
    sum_word_tile(s, x, row_words, tile);
  if (!one_piece || x.sums == tile) store_words(out, static_cast<T const*>(tile), s.nr, r, lines, c, columns);
}

/// How the rows and panels of one chunk are dealt out.
struct word_parts {
  index_t rows, columns;
};
HEDDLE_FN word_parts word_parts_of(word_sizes const& s, index_t tiles, index_t panels, int workers) {
  index_t const most = word_l2_bytes / (4 * s.tile) > 0 ? word_l2_bytes / (4 * s.tile) : 1;
  word_parts p{(tiles + most - 1) / most, 1};
  if (workers > 1 && p.rows < 4 * workers) p.columns = round_up(4 * workers, p.rows) / p.rows;
  if (p.columns > panels) p.columns = panels;
  return p;
}

}  // namespace detail

/// Panels that are packed together.
HEDDLE_FN index_t word_panels_at_once(word_sizes const& s) {
  index_t const fit = word_panels_bytes / (4 * s.panel + 1);
  return fit < 1 ? 1 : fit < 4 ? fit : 4;
}

/// Packs panels [first, first + count) of b.
template <class P, class I>
HEDDLE_FN void pack_panels(I const& in, word_sizes const& s, index_t first, index_t count, std::uint32_t* to) {
  dispatch_isa(detail::word_panels_body<P>{}, in.b, first * s.nr, in.n - first * s.nr, count, in.k, to, s.panel);
}

/// Submits one product.
template <class P, class E, class I, class O>
HEDDLE_FN void submit_words(E& exec, I const& in, O const& out) {
  word_sizes const s = word_sizes_of<P>(in.k);
  int const workers = exec.concurrency();
  index_t const tiles = (in.m + s.mr - 1) / s.mr, panels = (in.n + s.nr - 1) / s.nr;
  bool const packed = in.panels != nullptr, at_use = !packed && 4 * tiles * s.tile <= word_l2_bytes;
  auto const at_most = [](index_t x, index_t most) { return x < most ? x : most < 1 ? index_t{1} : most; };
  index_t const together = word_panels_at_once(s);
  index_t const row_chunk = at_most(tiles, word_rows_bytes / (4 * s.tile));
  index_t const column_chunk =
      packed || at_use ? panels : at_most(panels, word_columns_bytes / (4 * s.panel + 1) / together * together);
  scratch_frame<E> frame(exec);
  std::uint32_t* const rows = frame.template take<std::uint32_t>(row_chunk * s.tile);
  std::uint32_t* const columns =
      packed ? nullptr : frame.template take<std::uint32_t>(s.panel * (at_use ? workers * together : column_chunk));
  for (index_t first = 0; first < panels; first += column_chunk) {
    index_t const panels_now = at_most(panels - first, column_chunk);
    if (!packed && !at_use)
      exec.for_each_tile((panels_now + together - 1) / together, [=](index_t i, int) {
        index_t const p = i * together, count = panels_now - p < together ? panels_now - p : together;
        pack_panels<P>(in, s, first + p, count, columns + p * s.panel);
      });
    for (index_t above = 0; above < tiles; above += row_chunk) {
      index_t const tiles_now = at_most(tiles - above, row_chunk);
      if (first == 0 || row_chunk < tiles)
        exec.for_each_tile(tiles_now, [=](index_t t, int) {
          part const r = word_tile(in.m, s.mr, above + t);
          dispatch_isa(detail::word_rows_body<P>{}, in.a, r.offset, r.size, in.k, rows + t * s.tile);
        });
      detail::word_parts const parts = detail::word_parts_of(s, tiles_now, panels_now, workers);
      exec.for_each_tile(parts.rows * parts.columns, [=](index_t i, int worker) {
        part const across = balanced_part(panels_now, parts.columns, i % parts.columns);
        part const down = balanced_part(tiles_now, parts.rows, i / parts.columns);
        std::uint32_t* const own = columns + (at_use ? worker * together * s.panel : 0);
        for (index_t p = across.offset; p < across.end(); ++p) {
          index_t const ahead = (p - across.offset) % together, c = (first + p) * s.nr;
          if (at_use && ahead == 0)
            pack_panels<P>(in, s, p, across.end() - p < together ? across.end() - p : together, own);
          std::uint32_t const* const panel = packed ? in.panels + p * s.panel : own + (at_use ? ahead : p) * s.panel;
          for (index_t t = down.offset; t < down.end(); ++t) {
            part const r = word_tile(in.m, s.mr, above + t);
            detail::run_word_tile<P>(s, out, rows + t * s.tile, r.offset, r.size, panel, c,
                                     in.n - c < s.nr ? in.n - c : s.nr);
          }
        }
      });
    }
  }
}

}  // namespace cpu
}  // namespace heddle
