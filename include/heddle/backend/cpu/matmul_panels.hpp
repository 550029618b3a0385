// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/backend/cpu/matmul_stream.hpp>

/// @file
/// The CPU matrix product of tens to hundreds of packed rows with a b that is used once: a strip of a few panels is
/// multiplied while the next one is packed beside it, a few numbers at a time, so that nobody waits for memory.

namespace heddle {
namespace cpu {

/// Steps of k and panels that are packed at once: two such blocks stay in the L2 cache beside the packed rows, and what
/// is read of one line of b is long enough for DRAM.
inline constexpr index_t panel_steps = 1024, panels_at_once = 2;

namespace detail {

/// Elements of one packed panel of nr columns, with what packing may write past the end.
template <class T>
HEDDLE_FN constexpr index_t panel_size(index_t nr) {
  return nr * panel_steps + 64 / static_cast<index_t>(sizeof(T));
}

/// The block that comes next, in lines `apart` from one another, of `run` pieces of nr adjacent elements each.
template <class T, class B>
struct later_block {
  static constexpr index_t distance = 8;  ///< lines that are asked for before they are read

  B const* from;
  T* to;  ///< where piece p of line d is packed: to + p * panel_size + d * nr; null: lines are only asked for
  index_t apart, run, pieces;
  index_t at;  ///< the piece of the line that comes first

  /// One of `shares` parts. The first one asks for what the second one packs first: a pass later it is there.
  HEDDLE_FN later_block share_of(index_t share, index_t shares, index_t nr) const {
    if (share == 0 || pieces == 0) {
      index_t const first = distance * run < pieces ? distance * run : pieces;
      return {from, nullptr, apart, run, to ? first : 0, 0};
    }
    part const mine = balanced_part(pieces, shares - 1, share - 1);
    index_t const line = mine.offset / run;
    return {from + line * apart, to ? to + line * nr : nullptr, apart, run, mine.size, mine.offset % run};
  }
};

/// One packed panel under one register tile of rows. B is the type that b has in memory.
template <class T, class B>
struct panel_pass {
  T const* rows;   ///< packed rows of a, mr apart
  index_t count;   ///< of them, at most mr
  T const* panel;  ///< packed columns of b, nr apart
  index_t steps;
  T* sums;
  index_t pitch;  ///< between rows of sums
  bool first;     ///< the sums start here
  later_block<T, B> later;
};

/// The sums of a panel.
template <class T, class B>
struct panel_pass_body {
  template <class Isa>
  HEDDLE_SHIM void operator()(Isa, panel_pass<T, B> const& x) const {
    using Tile = register_tile<Isa, T>;
    if (x.later.to)
      pick<Tile::mr, true, Tile>(x);
    else
      pick<Tile::mr, false, Tile>(x);
  }

 private:
  template <int Rows, bool Pack, class Tile>
  HEDDLE_SHIM void pick(panel_pass<T, B> const& x) const {
    // Tiles of less than half the rows belong to products of two tiles at most, which other forms take.
    if constexpr (Rows > Tile::mr / 2 + Tile::mr / 2 % 2)
      if (x.count <= Rows - 2) return pick<Rows - 2, Pack, Tile>(x);
    run<Rows, Pack, Tile>(x);
  }

  template <class Tile, int... X>
  static HEDDLE_SHIM void pack_piece(std::integer_sequence<int, X...>, B const* from, T* to) {
    (load_as<typename Tile::vector>(from + X * Tile::lanes).store(to + X * Tile::lanes), ...);
  }
  /// Asks for a piece, or packs one and asks for one further on.
  template <bool Pack, class Tile>
  static HEDDLE_SHIM void take_piece(later_block<T, B>& next) {
    constexpr int bytes = Tile::nr * static_cast<int>(sizeof(B));
    B const* const from = next.from + next.at * Tile::nr;
    char const* const wanted = reinterpret_cast<char const*>(from + (Pack ? next.distance * next.apart : 0));
    for (int i = 0; i < bytes; i += 64) __builtin_prefetch(wanted + i, 0, 2);
    if constexpr (Pack)
      pack_piece<Tile>(std::make_integer_sequence<int, Tile::nv>{}, from, next.to + next.at * panel_size<T>(Tile::nr));
    --next.pieces;
    if (++next.at < next.run) return;
    next.at = 0, next.from += next.apart, next.to += Pack ? Tile::nr : 0;
  }

  template <int Rows, bool Pack, class Tile>
  HEDDLE_SHIM void run(panel_pass<T, B> const& x) const {
    using V = typename Tile::vector;
    using all = std::make_integer_sequence<int, Rows * Tile::nv>;
    constexpr std::make_integer_sequence<int, Tile::nv> vectors{};
    V acc[Rows * Tile::nv];
    if (x.first)
      clear(all{}, acc);
    else
      load_tile<Tile>(all{}, x.sums, x.pitch, acc);
    T const *a = x.rows, *b = x.panel;
    later_block<T, B> next = x.later;
    index_t const every = next.pieces > 0 && x.steps > next.pieces ? x.steps / next.pieces : 1;
    for (index_t left = x.steps; left > 0;) {
      if (next.pieces > 0) take_piece<Pack, Tile>(next);
      index_t const now = next.pieces > 0 && every < left ? every : left;
      left -= now;
      for (index_t i = now; i > 0; --i, a += Tile::mr, b += Tile::nr) {
        V right[Tile::nv];
        load_vectors(vectors, b, right);
        multiply_step<Tile>(all{}, acc, a, right);
      }
    }
    if constexpr (Pack)
      while (next.pieces > 0) take_piece<Pack, Tile>(next);
    store_sums<Tile>(all{}, acc, x.sums, x.pitch);
  }
};

/// Two packed blocks in turns: the one at work, and the one that comes next.
template <class T>
struct block_pair {
  T *now, *next;
  index_t ready;  ///< panels of the block that is wanted that lie in `now`
};

/// Where the block lies that comes next.
template <class B>
struct next_block {
  B const* at;
  index_t steps;   ///< at most `panel_steps`
  index_t panels;  ///< of nr columns each
  bool certain;    ///< it is wanted next; otherwise it is only asked for
};

/// A strip of up to `panels_at_once` panels under the register tiles of a chunk.
template <class T>
struct strip_of_panels {
  index_t mr, nr, tiles, col, columns;
  T* sums;          ///< of tile t under panel p: at (p * tiles + t) * mr * nr
  strip_of_c<T> c;  ///< where whole tiles go

  HEDDLE_FN index_t panels() const { return (columns + nr - 1) / nr; }
  HEDDLE_FN bool finishes(index_t p, part const& rows) const {
    return c.takes(rows, mr) && rows.size * 2 > mr && (p + 1) * nr <= columns;
  }
};

/// The sums of a strip over one piece of k. `rows`: packed rows, tiles `tile_size` apart.
template <class I>
HEDDLE_FN void sum_panels(I const& in, strip_of_panels<typename I::number> const& s, typename I::number const* rows,
                          index_t tile_size, block_pair<typename I::number>& pair,
                          next_block<typename I::element> const& after) {
  using T = typename I::number;
  using B = typename I::element;
  index_t const nr = s.nr, passes = s.panels() * s.tiles;
  bool const adjacent = in.b_column == 1;
  for (index_t k = 0; k < in.k || k == 0; k += panel_steps) {
    I part = in;
    part.b += k * in.b_step, part.k = in.k - k < panel_steps ? in.k - k : panel_steps;
    for (index_t p = pair.ready; p < s.panels(); ++p)
      pack_columns(part, nr, pair.now + p * panel_size<T>(nr), s.col + p * nr);
    index_t const left = in.k - k - panel_steps;
    next_block<B> const next = left <= 0 ? after
                                         : next_block<B>{part.b + panel_steps * in.b_step + s.col * in.b_column,
                                                         left < panel_steps ? left : panel_steps, s.columns / nr, true};
    index_t const run = adjacent ? next.panels : (next.steps + nr - 1) / nr;
    bool const packs = adjacent && next.certain && passes > 1;
    later_block<T, B> const later{next.at,
                                  packs ? pair.next : nullptr,
                                  adjacent ? in.b_step : in.b_column,
                                  run,
                                  (adjacent ? next.steps : nr * next.panels) * run,
                                  0};
    for (index_t p = 0; p < s.panels(); ++p)
      for (index_t t = 0; t < s.tiles; ++t) {
        heddle::part const r = row_tile(in.m, s.mr, t);
        bool const straight = s.finishes(p, r);
        dispatch_isa(
            panel_pass_body<T, B>{},
            panel_pass<T, B>{rows + t * tile_size + k * s.mr, r.size, pair.now + p * panel_size<T>(nr), part.k,
                             straight ? s.c.at + r.offset * s.c.row + p * nr : s.sums + (p * s.tiles + t) * s.mr * nr,
                             straight ? s.c.row : nr, k == 0, later.share_of(p * s.tiles + t, passes, nr)});
      }
    pair.ready = packs ? next.panels : 0;
    T* const packed = pair.next;
    if (packs) pair.next = pair.now, pair.now = packed;
  }
}

}  // namespace detail
}  // namespace cpu
}  // namespace heddle
