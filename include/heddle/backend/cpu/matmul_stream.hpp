// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/backend/cpu/matmul_pack.hpp>

/// @file
/// The CPU matrix product of few to many rows and a b that no cache holds: b is read once, in blocks that fit the L2
/// cache, and the sums of a strip of columns wait there between blocks. While one block is multiplied the next one is
/// asked for, a run of memory at a time.

namespace heddle {
namespace cpu {

/// Rows up to which reading b once beats packing it for reuse.
inline constexpr index_t streamed_rows = 256;
/// Register tiles up to which each asks for a share of what comes next: all at once would be more than memory gives.
inline constexpr index_t sharing_tiles = 8;

/// How one product is streamed. Units: elements.
struct stream_plan {
  index_t mr = 0, nr = 0;     ///< the register tile
  index_t nv = 0;             ///< its vectors
  index_t tiles = 0;          ///< register tiles of rows
  index_t strip = 0;          ///< columns of one strip, a multiple of nr
  index_t steps = 0;          ///< steps of k in one block
  bool in_place = false;      ///< b is not packed, except its last columns
  bool along_columns = true;  ///< columns of b are adjacent in memory, otherwise steps of k
};

/// The rows of register tile i: full ones first; the last two share the rest, because a tile of one or two rows takes
/// as long as one of four.
HEDDLE_FN constexpr part row_tile(index_t m, index_t mr, index_t i) {
  index_t const tiles = (m + mr - 1) / mr, full = tiles > 2 ? tiles - 2 : 0;
  if (i < full) return {i * mr, mr};
  part const rest = balanced_part(m - full * mr, tiles - full, i - full);
  return {full * mr + rest.offset, rest.size};
}

/// The cuts of one product, by shape and number of workers.
template <class I>
HEDDLE_FN stream_plan plan_stream(I const& in, index_t mr, index_t nv, index_t nr, int workers) {
  stream_plan plan{};
  plan.mr = mr, plan.nv = nv, plan.nr = nr, plan.tiles = (in.m + mr - 1) / mr;
  plan.along_columns = in.b_column == 1;
  plan.in_place = plan.along_columns && std::is_same_v<decltype(in.b), typename I::number const*>;
  index_t const block = 32768 * 4 / static_cast<index_t>(sizeof(typename I::number));
  index_t strip = 256;
  if (plan.in_place && plan.tiles <= 2)
    plan.steps = nv > 2 ? 16 : 32, strip = plan.steps * nr;
  else if (plan.in_place)  // with many rows the sums of a strip are as large as the block
    plan.steps = block / strip * (in.m > 128 ? 2 : 1);
  else
    plan.steps = block / (plan.along_columns ? 256 : 128), strip = block / plan.steps;
  // Every worker takes as many strips as the others.
  index_t const strips = round_up((in.n + strip - 1) / strip, workers);
  plan.strip = round_up((in.n + strips - 1) / strips, nr);
  while (plan.strip > 2 * nr && (in.n + plan.strip - 1) / plan.strip % workers != 0) plan.strip -= nr;
  return plan;
}

/// Register tiles of few rows are wider, so that as many sums are under way.
template <class Isa, class T, int Nv>
struct stream_tile {
  using base = register_tile<Isa, T>;
  static constexpr int mr = base::mr, lanes = base::lanes, nv = Nv, nr = Nv * lanes;
  static constexpr int registers = Isa::register_bytes == 64 ? 32 : 16;
  /// Rows up to which the sums, a step of b and one broadcast fit the registers; even.
  static constexpr int rows = (registers - 1 - Nv) / Nv / 2 * 2 < mr ? (registers - 1 - Nv) / Nv / 2 * 2 : mr;
  using vector = typename base::vector;
};
/// Vectors of the widest tile for so many rows.
template <class Isa, class T>
HEDDLE_FN constexpr int stream_vectors(index_t rows) {
  return rows <= stream_tile<Isa, T, 4>::rows ? 4 : rows <= stream_tile<Isa, T, 3>::rows ? 3 : 2;
}

namespace detail {

/// The register tile for so many rows: its columns in vectors, rows at most, columns.
struct panel_size_body {
  template <class Isa, class T>
  HEDDLE_SHIM void operator()(Isa, T const&, index_t const& m, index_t* const& nv, index_t* const& mr,
                              index_t* const& nr) const {
    *mr = register_tile<Isa, T>::mr;
    *nv = m <= *mr ? stream_vectors<Isa, T>(m) : 2;
    *nr = *nv * register_tile<Isa, T>::lanes;
  }
};

template <class V, class T, int... X>
HEDDLE_SHIM void load_vectors(std::integer_sequence<int, X...>, T const* from, V* to) {
  ((to[X] = V::load(from + X * V::width)), ...);
}

/// One panel of a block of b under one register tile of rows.
template <class T>
struct panel_product {
  T const* rows;     ///< packed rows of a, mr apart
  index_t count;     ///< of them, at most mr
  T const* columns;  ///< of b, nr of them
  index_t step;      ///< between steps of k in b
  index_t steps;
  T const* sums;  ///< so far; null: they start here
  index_t pitch;  ///< between rows of sums
  T* to;
  index_t to_pitch;
};

/// What is asked for meanwhile: lines of memory, each as long as b's share of `run` steps. Only every so many steps
/// ask, after `wait` ones that don't.
struct lines_ahead {
  char const* from;
  index_t apart;  ///< bytes between lines
  index_t run;
  index_t every, wait;
};

/// The sums of a panel. B is the type that b has in memory. Kept to one panel: with a loop over panels around it the
/// compiler runs out of registers.
template <class T, class B, int Nv>
struct panel_body {
  template <class Isa>
  HEDDLE_SHIM void operator()(Isa, panel_product<T> const& x, lines_ahead const& ahead) const {
    if constexpr (!is_fallback<Isa>()) pick<stream_tile<Isa, T, Nv>::rows, stream_tile<Isa, T, Nv>>(x, ahead);
  }

 private:
  /// The least even number of rows that the plan gives to this width.
  template <class Tile>
  static constexpr int least = Nv == 4   ? 2
                               : Nv == 3 ? Tile::registers / 5 / 2 * 2 + 2
                                         : Tile::mr / 2 + Tile::mr / 2 % 2;
  template <int Rows, class Tile>
  HEDDLE_SHIM void pick(panel_product<T> const& x, lines_ahead const& ahead) const {
    if constexpr (Rows > least<Tile>)
      if (x.count <= Rows - 2) return pick<Rows - 2, Tile>(x, ahead);
    run<Rows, Tile>(x, ahead);
  }

  template <int Rows, class Tile>
  HEDDLE_SHIM void run(panel_product<T> const& x, lines_ahead const& ahead) const {
    using V = typename Tile::vector;
    using all = std::make_integer_sequence<int, Rows * Tile::nv>;
    constexpr int bytes = Tile::nr * static_cast<int>(sizeof(B));
    V acc[Rows * Tile::nv];
    if (x.sums == nullptr)
      clear(all{}, acc);
    else
      load_tile<Tile>(all{}, x.sums, x.pitch, acc);
    T const *a = x.rows, *b = x.columns;
    char const* line = ahead.from;
    index_t const step = x.step;
    index_t wait = ahead.wait;
    for (index_t left = x.steps; left > 0; left -= ahead.run, line += ahead.apart) {
      char const* next = line;
      for (index_t i = left < ahead.run ? left : ahead.run; i > 0; --i, a += Tile::mr, b += step, next += bytes) {
        if (--wait < 0) {
          for (int at = 0; at < bytes; at += 64) __builtin_prefetch(next + at, 0, 2);
          wait += ahead.every;
        }
        V right[Nv];
        load_vectors(std::make_integer_sequence<int, Nv>{}, b, right);
        multiply_step<Tile>(all{}, acc, a, right);
      }
    }
    store_sums<Tile>(all{}, acc, x.to, x.to_pitch);
  }
};

/// The block that follows (k, col) in a strip of `columns` columns: what its first panel asks for, and how far the
/// panels' shares lie apart.
struct block_ahead {
  lines_ahead first;
  index_t share;
};
template <class I>
HEDDLE_FN block_ahead block_after(I const& in, stream_plan const& plan, index_t k, index_t col, index_t columns) {
  constexpr index_t size = sizeof(*in.b);
  index_t const next = k + plan.steps < in.k ? k + plan.steps : 0, panels = (columns + plan.nr - 1) / plan.nr;
  if (next == 0) col += columns;
  char const* const from = reinterpret_cast<char const*>(in.b + next * in.b_step + col * in.b_column);
  if (plan.along_columns) {
    index_t const apart = in.b_step * size;
    return {{from, apart, panels, 1, 0}, (plan.steps + panels - 1) / panels * apart};
  }
  index_t const apart = in.b_column * size, run = plan.steps / plan.nr;
  return {{from, apart, run > 0 ? run : 1, 1, 0}, plan.nr * apart};
}

/// Where finished sums go without a stop in scratch: the first column of a strip of c, null where they stop.
template <class T>
struct strip_of_c {
  T* at;
  index_t row;

  /// Whether a row tile is written so. A register tile has an even number of rows, or all.
  HEDDLE_FN bool takes(part const& rows, index_t mr) const {
    return at != nullptr && (rows.size == mr || rows.size % 2 == 0);
  }
};

/// One block of a strip under all row tiles. `block` holds its packed panels from panel `whole` on.
template <class B, class I>
HEDDLE_FN void multiply_block(I const& in, I const& part, stream_plan const& plan, index_t k, index_t col,
                              index_t columns, index_t whole, bool first, strip_of_c<typename I::number> const& c,
                              typename I::number const* rows, index_t rows_size, typename I::number const* block,
                              typename I::number* sums) {
  using T = typename I::number;
  index_t const panels = (columns + plan.nr - 1) / plan.nr;
  block_ahead const next = block_after(in, plan, k, col, columns);
  // The row tiles share the requests of a panel, or take turns where there are many and a line would fall to pieces.
  bool const shares = plan.tiles <= sharing_tiles;
  for (index_t t = 0; t < plan.tiles; ++t) {
    heddle::part const lines = row_tile(in.m, plan.mr, t);
    T* mine = sums + t * plan.mr * plan.strip;
    T* out = c.takes(lines, plan.mr) ? c.at + lines.offset * c.row : nullptr;
    panel_product<T> x{
        rows + t * rows_size + k * plan.mr, lines.size, block, plan.nr, part.k, nullptr, plan.strip, nullptr, 0};
    lines_ahead ahead = next.first;
    if (shares) ahead.every = plan.tiles, ahead.wait = t;
    // Many packed rows don't fit the L2 cache beside b: whoever asks for nothing else asks for them.
    lines_ahead const rows_ahead{reinterpret_cast<char const*>(x.rows), 0, part.k, 1, 0};
    for (index_t p = 0; p < panels; ++p, ahead.from += next.share) {
      bool const finished = out != nullptr && (p + 1) * plan.nr <= columns;
      lines_ahead const& now = shares || p % plan.tiles == t ? ahead : rows_ahead;
      x.sums = first ? nullptr : mine + p * plan.nr;
      x.to = (finished ? out : mine) + p * plan.nr, x.to_pitch = finished ? c.row : plan.strip;
      x.columns = block + (p - whole) * plan.nr * part.k, x.step = plan.nr;
      if constexpr (std::is_same_v<T, B>)
        if (p < whole) x.columns = part.b + col + p * plan.nr, x.step = in.b_step;
      if (plan.nv == 4)
        dispatch_isa(panel_body<T, B, 4>{}, x, now);
      else if (plan.nv == 3)
        dispatch_isa(panel_body<T, B, 3>{}, x, now);
      else
        dispatch_isa(panel_body<T, B, 2>{}, x, now);
    }
  }
}

/// One strip of columns [col, col + columns): all sums, to `sums`, tile by tile of `mr` rows, `strip` apart, or to
/// c what it takes. `block` has room for a packed block.
template <class I>
HEDDLE_FN void sum_strip(I const& in, stream_plan const& plan, strip_of_c<typename I::number> const& c,
                         typename I::number const* rows, index_t rows_size, typename I::number* sums,
                         typename I::number* block, index_t col, index_t columns) {
  using T = typename I::number;
  using B = std::remove_cv_t<std::remove_pointer_t<decltype(in.b)>>;
  index_t const pieces = in.chains().count(), panels = (columns + plan.nr - 1) / plan.nr;
  index_t const whole = plan.in_place ? columns / plan.nr : 0, slot_size = plan.tiles * plan.mr * plan.strip;
  tree_accumulate tree(pieces, 0, pieces);
  for (index_t piece = 0; piece < pieces; ++piece) {
    int slot = tree.next_slot();
    T* const mine = sums + slot * slot_size;
    index_t const from = in.chains().at(piece).offset, to = in.chains().at(piece).end();
    for (index_t k = from; k < to || k == from; k += plan.steps) {
      I part = in;
      part.b += k * in.b_step, part.k = to - k < plan.steps ? to - k : plan.steps;
      index_t const panel_size = plan.nr * part.k;
      for (index_t p = whole; p < panels; ++p)
        pack_columns(part, plan.nr, block + (p - whole) * panel_size, col + p * plan.nr);
      strip_of_c<T> const out{k + plan.steps >= in.k ? c.at : nullptr, c.row};
      multiply_block<B>(in, part, plan, k, col, columns, whole, k == from, out, rows, rows_size, block, mine);
    }
    for (int merges = tree.push(); merges > 0; --merges, --slot)
      dispatch_isa(add_body<T>{}, static_cast<T const*>(sums + slot * slot_size), sums + (slot - 1) * slot_size,
                   slot_size);
  }
}

}  // namespace detail

/// Bands of rows, each of which reads b once.
struct row_bands {
  index_t first, rows, count;

  HEDDLE_FN part operator[](index_t i) const {
    part const p = balanced_part(rows, count, i);
    return {first + p.offset, p.size};
  }
};

namespace detail {

/// One strip of one band: its sums, then what c did not take on the way.
template <class I, class O>
HEDDLE_FN void run_strip(I const& in, O const& out, stream_plan const& all, part const& band, index_t strip,
                         typename I::number const* rows, index_t rows_size, typename I::number* sums,
                         typename I::number* block) {
  using T = typename I::number;
  I mine = in;
  stream_plan plan = all;
  mine.m = band.size, plan.tiles = (band.size + plan.mr - 1) / plan.mr;
  index_t const col = strip * plan.strip, columns = in.n - col < plan.strip ? in.n - col : plan.strip;
  strip_of_c<T> c{nullptr, out.c_row};
  if constexpr (std::is_same_v<decltype(out.c), T*>)
    if (in.chains().count() == 1 && out.direct()) c.at = out.c + band.offset * out.c_row + col;
  sum_strip(mine, plan, c, rows, rows_size, sums, block, col, columns);
  for (index_t t = 0; t < plan.tiles; ++t) {
    part const r = row_tile(mine.m, plan.mr, t);
    index_t const written = c.takes(r, plan.mr) ? columns / plan.nr * plan.nr : 0;
    if (written < columns)
      dispatch_isa(store_body{}, out, static_cast<T const*>(sums + t * plan.mr * plan.strip + written), plan.strip,
                   band.offset + r.offset, r.size, col + written, columns - written);
  }
}

}  // namespace detail

/// Packs the rows of some bands, `tiles` register tiles of `size` elements each.
template <class E, class I>
HEDDLE_FN void submit_band_packing(E& exec, I const& in, row_bands const& bands, index_t mr, index_t tiles,
                                   typename I::number* rows, index_t size) {
  exec.for_each_tile(bands.count * tiles, [=](index_t i, int) {
    part const band = bands[i / tiles];
    index_t const t = i % tiles;
    if (t * mr >= band.size) return;  // a shorter band may have a tile less
    part const r = row_tile(band.size, mr, t);
    detail::pack_rows(in, mr, rows + i * size, band.offset + r.offset, band.offset + r.offset + r.size);
  });
}

/// Submits the rows of some bands. Their rows of a are packed first.
template <class E, class I, class O>
HEDDLE_FN void submit_streamed(E& exec, I const& in, O const& out, row_bands const& bands) {
  using T = typename I::number;
  I largest = in;
  largest.m = bands[0].size;
  index_t mr = 0, nv = 0, nr = 0;
  dispatch_isa(detail::panel_size_body{}, T{}, largest.m, &nv, &mr, &nr);
  stream_plan const plan = plan_stream(largest, mr, nv, nr, exec.concurrency());
  constexpr index_t beyond = 64 / sizeof(T);  // what packing may write past the end
  index_t const rows_size = round_up(mr * in.k + beyond, beyond), pieces = in.chains().count();
  index_t const sums_size = tree_slots(pieces, 0, pieces) * plan.tiles * mr * plan.strip;
  index_t const block_size = (plan.in_place ? nr : plan.strip) * plan.steps + beyond, workers = exec.concurrency();
  scratch_frame<E> frame(exec);
  T* const rows = frame.template take<T>(bands.count * plan.tiles * rows_size);
  T* const sums = frame.template take<T>(workers * sums_size);
  T* const blocks = frame.template take<T>(workers * block_size);
  submit_band_packing(exec, in, bands, mr, plan.tiles, rows, rows_size);
  index_t const strips = (in.n + plan.strip - 1) / plan.strip;
  exec.for_each_tile(bands.count * strips, [=](index_t i, int worker) {
    index_t const band = i / strips;
    detail::run_strip(in, out, plan, bands[band], i % strips, rows + band * plan.tiles * rows_size, rows_size,
                      sums + worker * sums_size, blocks + worker * block_size);
  });
}

}  // namespace cpu
}  // namespace heddle
