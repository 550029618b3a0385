// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/backend/cpu/matmul_words_submit.hpp>

/// @file
/// Products of few rows with a large packed b: panels are read once, in the order of memory, and what comes next is
/// asked for at the pace of the products. Where the rows take several register tiles, a panel goes by in pieces that
/// stay in the L1 cache for all of them, and each tile asks for its share of the next piece.

namespace heddle {
namespace cpu {

/// Bytes of a panel that several register tiles read in turns, and how far ahead a single one asks.
inline constexpr index_t decode_piece_bytes = 16 * 1024, decode_ahead_bytes = 8 * 1024;

namespace detail {

/// One register tile over some steps of a panel. Requests for memory begin at `ahead` and lie `apart` bytes from one
/// another, one for each step.
template <class P>
struct packed_pass {
  word_product<P> product;  ///< the sums of every row start from `start` and the row's pitch times `start_pitch`
  index_t start_pitch;
  char const* ahead;
  index_t apart;
};

template <class P>
struct packed_pass_body : words_marker<P> {
  template <class Isa>
  HEDDLE_SHIM void operator()(Isa, packed_pass<P> const& x) const {
    pick<Isa, register_tile<Isa, float>::mr>(x);
  }

 private:
  template <class Isa, int Rows>
  HEDDLE_SHIM void pick(packed_pass<P> const& x) const {
    constexpr int mr = register_tile<Isa, float>::mr, fewer = Rows == mr ? static_cast<int>(power_under(mr)) : Rows / 2;
    if constexpr (Rows > 1)
      if (x.product.count <= fewer) return pick<Isa, fewer>(x);
    using F = word_format<Isa, P>;
    unsigned const before = F::flushes && has_flush_mode<Isa> ? begin_flush() : 0;
    run<Isa, Rows>(x);
    if constexpr (F::flushes && has_flush_mode<Isa>) end_flush(before);
  }

  template <class Isa, int Rows>
  HEDDLE_SHIM void run(packed_pass<P> const& x) const {
    using F = word_format<Isa, P>;
    using Tile = register_tile<Isa, float>;
    using all = std::make_integer_sequence<int, Rows * Tile::nv>;
    typename F::vector acc[Rows * Tile::nv];
    word_product<P> const& p = x.product;
    if (p.start)
      load_tile<Tile>(all{}, reinterpret_cast<float const*>(p.start), x.start_pitch, acc);
    else
      clear(all{}, acc);
    std::uint32_t const *a = p.rows, *b = p.columns;
    char const* ahead = x.ahead;
    for (index_t i = p.steps; i > 0; --i, a += Rows, b += Tile::nr, ahead += x.apart) {
      // Half a step at a time where several tiles share the requests: the second one is then a repetition.
      __builtin_prefetch(ahead);
      __builtin_prefetch(ahead + x.apart / 2);
      typename F::words const right[Tile::nv] = {F::words::load(b), F::words::load(b + Tile::lanes)};
      multiply_words<F, Tile::nv>(all{}, acc, a, right);
    }
    store_sums<Tile>(all{}, acc, reinterpret_cast<float*>(p.sums), p.pitch);
  }
};

/// How the rows of a product lie, packed in register tiles.
struct decode_tiles {
  index_t m, tiles;
  std::uint32_t const* words;

  HEDDLE_FN part rows(word_sizes const& s, index_t t) const { return word_tile(m, s.mr, t); }
};

/// The sums of one panel over the steps [from, from + steps), which begin a chain. Tile t of rows: at sums + t mr nr.
template <class P>
HEDDLE_FN void sum_packed_piece(word_sizes const& s, decode_tiles const& a, std::uint32_t const* panel, index_t from,
                                index_t steps, typename P::sum* sums) {
  using T = typename P::sum;
  constexpr bool starts = std::is_same_v<P, byte_words<true>>;
  index_t const line = 4 * s.nr, most = a.tiles > 1 ? decode_piece_bytes / line : steps;
  for (index_t d = 0; d < steps; d += most) {
    index_t const now = steps - d < most ? steps - d : most;
    for (index_t t = 0; t < a.tiles; ++t) {
      part const r = a.rows(s, t);
      std::uint32_t const* const b = panel + s.head + (from + d) * s.nr;
      T* const to = sums + t * s.mr * s.nr;
      T const* start = to;
      index_t pitch = s.nr;
      if (d == 0) start = starts && from == 0 ? reinterpret_cast<T const*>(panel) : nullptr, pitch = 0;
      word_product<P> const x{
          a.words + t * s.tile + (from + d) * tile_rows(r.size, s.mr), r.size, b, now, start, to, s.nr};
      char const* const behind = reinterpret_cast<char const*>(b);
      index_t const apart = line / a.tiles, ahead = a.tiles > 1 ? now * (line + t * apart) : decode_ahead_bytes;
      dispatch_isa(packed_pass_body<P>{}, packed_pass<P>{x, pitch, behind + ahead, apart});
    }
  }
}

/// The sums of one panel in pieces along the tree. `sums` has room for tiles of all rows per slot.
template <class P>
HEDDLE_FN void sum_packed_panel(word_sizes const& s, decode_tiles const& a, std::uint32_t const* panel,
                                typename P::sum* sums) {
  using T = typename P::sum;
  index_t const pieces = (s.steps + s.piece - 1) / s.piece, size = a.tiles * s.mr * s.nr;
  tree_accumulate tree(pieces, 0, pieces);
  for (index_t p = 0; p < pieces; ++p) {
    index_t const from = p * s.piece, left = s.steps - from;
    int slot = tree.next_slot();
    sum_packed_piece<P>(s, a, panel, from, left < s.piece ? left : s.piece, sums + slot * size);
    for (int merges = tree.push(); merges > 0; --merges, --slot)
      dispatch_isa(add_body<T>{}, static_cast<T const*>(sums + slot * size), sums + (slot - 1) * size, size);
  }
}

}  // namespace detail

/// Submits a product of few rows with a packed b. Pre: m, n, k >= 1.
template <class P, class E, class I, class O>
HEDDLE_FN void submit_packed_decode(E& exec, I const& in, O const& out) {
  using T = typename P::sum;
  word_sizes const s = word_sizes_of<P>(in.k);
  index_t const tiles = (in.m + s.mr - 1) / s.mr, panels = (in.n + s.nr - 1) / s.nr, workers = exec.concurrency();
  index_t const pieces = (s.steps + s.piece - 1) / s.piece;
  index_t const sums_size = tree_slots(pieces, 0, pieces) * tiles * s.mr * s.nr;
  scratch_frame<E> frame(exec);
  std::uint32_t* const rows = frame.template take<std::uint32_t>(tiles * s.tile);
  T* const sums = frame.template take<T>(workers * sums_size);
  exec.for_each_tile(tiles, [=](index_t t, int) {
    part const r = word_tile(in.m, s.mr, t);
    dispatch_isa(detail::word_rows_body<P>{}, in.a, r.offset, r.size, in.k, rows + t * s.tile);
  });
  index_t const shares = workers == 1 ? 1 : 4 * workers < panels ? 4 * workers : panels;
  exec.for_each_tile(shares, [=](index_t i, int worker) {
    part const mine = balanced_part(panels, shares, i);
    detail::decode_tiles const a{in.m, tiles, rows};
    T* const at = sums + worker * sums_size;
    for (index_t p = mine.offset; p < mine.end(); ++p) {
      detail::sum_packed_panel<P>(s, a, in.panels + p * s.panel, at);
      index_t const col = p * s.nr, columns = in.n - col < s.nr ? in.n - col : s.nr;
      for (index_t t = 0; t < tiles; ++t) {
        part const r = a.rows(s, t);
        detail::store_words(out, static_cast<T const*>(at + t * s.mr * s.nr), s.nr, r.offset, r.size, col, columns);
      }
    }
  });
}

}  // namespace cpu
}  // namespace heddle
