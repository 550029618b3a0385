// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/backend/cpu/matmul_stream.hpp>

/// @file
/// The CPU matrix product of tens to hundreds of packed rows with panels of a b that is used once: while one panel is
/// multiplied the next one is packed beside it, a few numbers at a time, so that memory is waited for by nobody.

namespace heddle {
namespace cpu {

/// Steps of k that a panel has at most: two of them stay in the L2 cache beside the packed rows.
inline constexpr index_t panel_steps = 512;

namespace detail {

/// Pieces of nr adjacent elements of a panel that comes later, in lines `apart` from one another, of `run` pieces each.
template <class T, class B>
struct later_panel {
  static constexpr index_t distance = 32;  ///< pieces that are asked for before they are read

  B const* from;
  T* to;  ///< where they are packed, lines one behind the other; null: they are only asked for
  index_t apart, run, pieces;

  /// The part of one register tile. The first tile has none: what is asked for first arrives meanwhile.
  HEDDLE_FN later_panel share_of(index_t tile, index_t tiles, index_t nr) const {
    if (tile == 0) return {from, to, apart, run, 0};
    part const mine = balanced_part(pieces, tiles - 1, tile - 1);
    // Shares of lines of several pieces begin at a line.
    index_t const line = mine.offset / run, count = mine.end() / run * run - line * run;
    return {from + line * apart, to ? to + mine.offset * nr : nullptr, apart, run, run == 1 ? mine.size : count};
  }
  HEDDLE_FN void ask_first() const {
    for (index_t i = 0; i < distance && i < pieces; ++i) __builtin_prefetch(from + i * apart, 0, 2);
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
  later_panel<T, B> later;
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
  template <class Tile>
  static HEDDLE_SHIM void ask(B const* from) {
    constexpr int bytes = Tile::nr * static_cast<int>(sizeof(B));
    for (int i = 0; i < bytes; i += 64) __builtin_prefetch(reinterpret_cast<char const*>(from) + i, 0, 2);
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
    later_panel<T, B> next = x.later;
    index_t const every = next.pieces > 0 && x.steps > next.pieces ? x.steps / next.pieces : 1;
    index_t at = 0;
    for (index_t left = x.steps; left > 0;) {
      if (next.pieces-- > 0) {
        ask<Tile>(next.from + (Pack ? next.distance * next.apart : at * Tile::nr));
        if constexpr (Pack) {
          pack_piece<Tile>(vectors, next.from, next.to);
          next.from += next.apart, next.to += Tile::nr;
        } else if (++at == next.run) {
          at = 0, next.from += next.apart;
        }
      }
      index_t const now = next.pieces > 0 && every < left ? every : left;
      left -= now;
      for (index_t i = now; i > 0; --i, a += Tile::mr, b += Tile::nr) {
        V right[Tile::nv];
        load_vectors(vectors, b, right);
        multiply_step<Tile>(all{}, acc, a, right);
      }
    }
    if constexpr (Pack)
      for (; next.pieces > 0; --next.pieces, next.from += next.apart, next.to += Tile::nr)
        pack_piece<Tile>(vectors, next.from, next.to);
    store_sums<Tile>(all{}, acc, x.sums, x.pitch);
  }
};

/// Where the sums of a chunk go: tile t to sums + t * mr * nr, or, where it is whole, straight to the lines of c.
template <class T>
struct panel_sums {
  T* sums;
  T* direct;  ///< the first row, or null
  index_t direct_pitch;

  HEDDLE_FN bool goes_direct(part const& rows, index_t mr) const { return direct && rows.size == mr; }
};

/// Two packed panels in turns: the one at work, and the one that comes next.
template <class T>
struct panel_pair {
  T *now, *next;
  bool ready;  ///< `now` holds the panel that is wanted
};

/// Where the panel lies that comes next.
template <class B>
struct next_panel {
  B const* at;
  index_t steps;  ///< at most `panel_steps`
  bool certain;   ///< it is wanted next and has nr columns; otherwise it is only asked for
};

/// One panel of columns [col, col + nr) under all register tiles of a chunk, over one piece of k. `rows`: packed rows,
/// tiles `tile_size` apart.
template <class I>
HEDDLE_FN void sum_panel(I const& in, index_t mr, index_t nr, index_t tiles, typename I::number const* rows,
                         index_t tile_size, panel_sums<typename I::number> const& to,
                         panel_pair<typename I::number>& pair, index_t col,
                         next_panel<typename I::element> const& after) {
  using T = typename I::number;
  using B = typename I::element;
  bool const adjacent = in.b_column == 1, mine_whole = in.n - col >= nr;
  for (index_t k = 0; k < in.k || k == 0; k += panel_steps) {
    I part = in;
    part.b += k * in.b_step, part.k = in.k - k < panel_steps ? in.k - k : panel_steps;
    if (!pair.ready) dispatch_isa(pack_columns_body{}, part, pair.now, col);
    bool const last = k + panel_steps >= in.k;
    index_t const left = in.k - k - panel_steps;
    next_panel<B> const next = last ? after
                                    : next_panel<B>{part.b + panel_steps * in.b_step + col * in.b_column,
                                                    left < panel_steps ? left : panel_steps, mine_whole};
    index_t const run = adjacent ? 1 : (next.steps + nr - 1) / nr;
    bool const packs = adjacent && next.certain;
    later_panel<T, B> const later{next.at, packs ? pair.next : nullptr, adjacent ? in.b_step : in.b_column, run,
                                  adjacent ? next.steps : nr * run};
    if (packs) later.ask_first();
    for (index_t t = 0; t < tiles; ++t) {
      heddle::part const r = row_tile(in.m, mr, t);
      bool const straight = to.goes_direct(r, mr);
      dispatch_isa(panel_pass_body<T, B>{},
                   panel_pass<T, B>{rows + t * tile_size + k * mr, r.size, pair.now, part.k,
                                    straight ? to.direct + r.offset * to.direct_pitch : to.sums + t * mr * nr,
                                    straight ? to.direct_pitch : nr, k == 0, later.share_of(t, tiles, nr)});
    }
    pair.ready = packs;
    if (packs) {
      T* const packed = pair.next;
      pair.next = pair.now, pair.now = packed;
    }
  }
}

}  // namespace detail
}  // namespace cpu
}  // namespace heddle
