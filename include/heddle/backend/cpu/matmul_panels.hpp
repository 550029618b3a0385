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
/// Shares of a product per worker, so that one that is late is helped.
inline constexpr index_t panel_shares = 4;

namespace detail {

/// Elements of `steps` rows of one packed panel of nr columns, with what packing may write past the end.
template <class T>
HEDDLE_FN constexpr index_t panel_size(index_t nr, index_t steps) {
  return nr * steps + 64 / static_cast<index_t>(sizeof(T));
}

/// The block that comes next, in lines `apart` from one another, of `run` pieces of nr adjacent elements each.
template <class T, class B>
struct later_block {
  static constexpr index_t distance = 8;  ///< lines that are asked for before they are read

  B const* from;
  T* to;  ///< where piece p of line d is packed: to + p * panel + d * nr; null: lines are only asked for
  index_t apart, run, pieces;
  index_t at;     ///< the piece of the line that comes first
  index_t panel;  ///< between two packed panels

  /// One of `shares` parts. The first one asks for what the second one packs first: a pass later it is there.
  HEDDLE_FN later_block share_of(index_t share, index_t shares, index_t nr) const {
    if (share == 0 || pieces == 0) {
      index_t const first = distance * run < pieces ? distance * run : pieces;
      return {from, nullptr, apart, run, to ? first : 0, 0, panel};
    }
    part const mine = balanced_part(pieces, shares - 1, share - 1);
    index_t const line = mine.offset / run;
    return {from + line * apart, to ? to + line * nr : nullptr, apart, run, mine.size, mine.offset % run, panel};
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
  static HEDDLE_SHIM void take_piece(later_block<T, B> const& fixed, later_block<T, B>& next) {
    constexpr int bytes = Tile::nr * static_cast<int>(sizeof(B));
    later_block<T, B> const* const known = fresh(&fixed);
    index_t const apart = known->apart;
    B const* const from = next.from + next.at * Tile::nr;
    char const* const wanted = reinterpret_cast<char const*>(from + (Pack ? next.distance * apart : 0));
    for (int i = 0; i < bytes; i += 64) __builtin_prefetch(wanted + i, 0, 2);
    if constexpr (Pack)
      pack_piece<Tile>(std::make_integer_sequence<int, Tile::nv>{}, from, next.to + next.at * known->panel);
    --next.pieces;
    if (++next.at < known->run) return;
    next.at = 0, next.from += apart, next.to += Pack ? Tile::nr : 0;
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
      if (next.pieces > 0) take_piece<Pack, Tile>(x.later, next);
      index_t const now = next.pieces > 0 && every < left ? every : left;
      left -= now;
      for (index_t i = now; i > 0; --i, a += Tile::mr, b += Tile::nr) {
        V right[Tile::nv];
        load_vectors(vectors, b, right);
        multiply_step<Tile>(all{}, acc, a, right);
      }
    }
    if constexpr (Pack)
      while (next.pieces > 0) take_piece<Pack, Tile>(x.later, next);
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
  index_t steps;   ///< at most those of a strip
  index_t panels;  ///< of nr columns each
  bool certain;    ///< it is wanted next; otherwise it is only asked for
};

/// A strip of a few panels under the register tiles of a chunk.
template <class T>
struct strip_of_panels {
  index_t mr, nr, tiles, col, columns;
  index_t steps;    ///< of k that are packed at once
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
  index_t const nr = s.nr, passes = s.panels() * s.tiles, steps = s.steps, size = panel_size<T>(nr, steps);
  bool const adjacent = in.b_column == 1;
  for (index_t k = 0; k < in.k || k == 0; k += steps) {
    I part = in;
    part.b += k * in.b_step, part.k = in.k - k < steps ? in.k - k : steps;
    for (index_t p = pair.ready; p < s.panels(); ++p) pack_columns(part, nr, pair.now + p * size, s.col + p * nr);
    index_t const left = in.k - k - steps;
    next_block<B> const next = left <= 0 ? after
                                         : next_block<B>{part.b + steps * in.b_step + s.col * in.b_column,
                                                         left < steps ? left : steps, s.columns / nr, true};
    index_t const run = adjacent ? next.panels : (next.steps + nr - 1) / nr;
    bool const packs = adjacent && next.certain && passes > 1;
    later_block<T, B> const later{next.at,
                                  packs ? pair.next : nullptr,
                                  adjacent ? in.b_step : in.b_column,
                                  run,
                                  (adjacent ? next.steps : nr * next.panels) * run,
                                  0,
                                  size};
    for (index_t p = 0; p < s.panels(); ++p)
      for (index_t t = 0; t < s.tiles; ++t) {
        heddle::part const r = row_tile(in.m, s.mr, t);
        bool const straight = s.finishes(p, r);
        dispatch_isa(
            panel_pass_body<T, B>{},
            panel_pass<T, B>{rows + t * tile_size + k * s.mr, r.size, pair.now + p * size, part.k,
                             straight ? s.c.at + r.offset * s.c.row + p * nr : s.sums + (p * s.tiles + t) * s.mr * nr,
                             straight ? s.c.row : nr, k == 0, later.share_of(p * s.tiles + t, passes, nr)});
      }
    pair.ready = packs ? next.panels : 0;
    T* const packed = pair.next;
    if (packs) pair.next = pair.now, pair.now = packed;
  }
}

/// The units of one product: bands of rows by strips of columns.
template <class I, class O>
struct panel_units {
  using T = typename I::number;
  I in;
  O out;
  row_bands bands;
  index_t mr, nr, tiles, strip;
  index_t steps;      ///< of k that are packed at once
  T const* rows;      ///< packed over all of k, `tiles` register tiles a band
  index_t rows_size;  ///< of one of them

  HEDDLE_FN index_t strips() const { return (in.n + strip - 1) / strip; }
  HEDDLE_FN index_t count() const { return bands.count * strips(); }
  HEDDLE_FN index_t columns_of(index_t unit) const {
    index_t const left = in.n - unit % strips() * strip;
    return left < strip ? left : strip;
  }
  /// The first block of a piece of k.
  HEDDLE_FN next_block<typename I::element> block_of(index_t unit, index_t piece) const {
    part const k = in.chains().at(piece);
    return {in.b + k.offset * in.b_step + unit % strips() * strip * in.b_column, k.size < steps ? k.size : steps,
            columns_of(unit) / nr, true};
  }

  /// The sums of a unit, to c or to `sums`. `end`: the unit at which this worker stops.
  HEDDLE_FN strip_of_panels<T> sum(index_t unit, index_t end, T* sums, block_pair<T>& pair) const {
    index_t const pieces = in.chains().count(), col = unit % strips() * strip, slot_size = tiles * mr * strip;
    part const band = bands[unit / strips()];
    I mine = in;
    mine.m = band.size;
    strip_of_panels<T> s{mr, nr, (band.size + mr - 1) / mr, col, columns_of(unit), steps, sums, {nullptr, out.c_row}};
    if constexpr (std::is_same_v<decltype(out.c), T*>)
      if (pieces == 1 && out.direct()) s.c.at = out.c + band.offset * out.c_row + col;
    T const* const packed = rows + unit / strips() * tiles * rows_size;
    tree_accumulate tree(pieces, 0, pieces);
    for (index_t piece = 0; piece < pieces; ++piece) {
      part const k = in.chains().at(piece);
      mine.b = in.b + k.offset * in.b_step, mine.k = k.size;
      index_t slot = tree.next_slot();
      s.sums = sums + slot * slot_size;
      next_block<typename I::element> next{in.b, 0, 0, false};
      if (piece + 1 < pieces)
        next = block_of(unit, piece + 1);
      else if (unit + 1 < end)
        next = block_of(unit + 1, 0);
      sum_panels(mine, s, packed + k.offset * mr, rows_size, pair, next);
      for (int merges = tree.push(); merges > 0; --merges, --slot)
        dispatch_isa(add_body<T>{}, static_cast<T const*>(sums + slot * slot_size), sums + (slot - 1) * slot_size,
                     slot_size);
    }
    s.sums = sums;
    return s;
  }
  /// What c did not take on the way.
  HEDDLE_FN void store(index_t unit, strip_of_panels<T> const& s) const {
    part const band = bands[unit / strips()];
    for (index_t p = 0; p < s.panels(); ++p)
      for (index_t t = 0; t < s.tiles; ++t) {
        part const r = row_tile(band.size, mr, t);
        index_t const at = p * nr, n = s.columns - at < nr ? s.columns - at : nr;
        if (!s.finishes(p, r))
          dispatch_isa(store_body{}, out, static_cast<T const*>(s.sums + (p * s.tiles + t) * mr * nr), nr,
                       band.offset + r.offset, r.size, s.col + at, n);
      }
  }
};

}  // namespace detail

/// Submits the rows of some bands. b is packed by every band, while the block before is multiplied. Pre: bands have
/// more rows than a register tile.
template <class E, class I, class O>
HEDDLE_FN void submit_panels(E& exec, I const& in, O const& out, row_bands const& bands) {
  using T = typename I::number;
  index_t mr = 0, nr = 0;
  dispatch_isa(detail::tile_size_body{}, T{}, &mr, &nr);
  constexpr index_t beyond = 64 / sizeof(T);  // what packing may write past the end
  index_t const tiles = (bands[0].size + mr - 1) / mr, workers = exec.concurrency();
  // A long k goes by in narrow blocks, which leave the packed rows their part of the L2 cache; under a short one all of
  // these are few, and what is read of a line of b is long.
  bool const short_k = in.chains().longest() <= panel_steps;
  index_t const steps = short_k ? panel_steps / 4 : panel_steps / 2, at_once = short_k ? 8 : 2;
  index_t const all = round_up(in.n, nr);
  index_t const strip = all < at_once * nr ? all : at_once * nr;
  index_t const rows_size = round_up(mr * in.k + beyond, beyond), pieces = in.chains().count();
  index_t const sums_size = tree_slots(pieces, 0, pieces) * tiles * mr * strip;
  index_t const block_size = at_once * detail::panel_size<T>(nr, steps);
  scratch_frame<E> frame(exec);
  T* const rows = frame.template take<T>(bands.count * tiles * rows_size);
  T* const sums = frame.template take<T>(workers * sums_size);
  T* const blocks = frame.template take<T>(workers * 2 * block_size);
  submit_band_packing(exec, in, bands, mr, tiles, rows, rows_size);
  detail::panel_units<I, O> const units{in, out, bands, mr, nr, tiles, strip, steps, rows, rows_size};
  index_t const some = workers == 1 ? 1 : panel_shares * workers, parts = some < units.count() ? some : units.count();
  exec.for_each_tile(parts, [=](index_t i, int worker) {
    T* const block = blocks + worker * 2 * block_size;
    detail::block_pair<T> pair{block, block + block_size, 0};
    part const mine = balanced_part(units.count(), parts, i);
    for (index_t unit = mine.offset; unit < mine.end(); ++unit)
      units.store(unit, units.sum(unit, mine.end(), sums + worker * sums_size, pair));
  });
}

}  // namespace cpu
}  // namespace heddle
