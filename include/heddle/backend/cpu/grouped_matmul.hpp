// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/backend/cpu/matmul_panels.hpp>
#include <heddle/linalg/grouped_matmul.hpp>

/// @file
/// The CPU grouped products: one flat list of (group, chunk of rows, strip of columns), cut into shares of equal work
/// once the offsets are known. Rows are packed once for all strips of a chunk. Under few rows a strip is streamed in
/// blocks (matmul_stream.hpp), under more it is one panel (matmul_panels.hpp).

namespace heddle {
namespace cpu {

/// Bytes of packed rows that a worker holds; fixed, so that cuts depend on shapes alone.
inline constexpr index_t packed_rows_bytes = 8 * 1024 * 1024;
/// Register tiles of rows up to which a matrix is read where it lies, as fast as memory gives it.
inline constexpr index_t streamed_tiles = 3;
/// Shares per worker, so that one that is late is helped.
inline constexpr index_t shares_per_worker = 4;

/// All products of one call. `in` and `out` are those of a group that begins at row 0, with all rows.
template <class I, class O>
struct grouped_problem {
  I in;
  O out;
  linalg::detail::row_groups groups;
  index_t b_group, c_group;  ///< between the matrices of two groups
  bool weight;               ///< groups cut k, not the rows of the output

  /// Work of one group, in rows: reading the matrix of a small group costs as much as some rows.
  HEDDLE_FN index_t cost(index_t e) const {
    index_t const rows = groups.end(e) - groups.begin(e);
    if (e == groups.groups) return weight ? 0 : (rows + 7) / 8;
    return rows > 0 || weight ? rows + 24 : 0;
  }
};

namespace detail {

/// What a worker needs for units of products of up to m rows and k steps. Units: elements.
struct unit_scratch {
  index_t mr, tiles;  ///< the register tile; how many of them a chunk has at most
  index_t rows, sums, block;

  template <class T>
  HEDDLE_FN unit_scratch(T const&, index_t m, index_t n, linalg::detail::chain_cuts const& k, index_t mr_, index_t nr)
      : mr(mr_), tiles(1), rows(0), sums(0), block(0) {
    constexpr index_t budget = packed_rows_bytes / sizeof(T), blocked = 32768 * 4 / sizeof(T), beyond = 64 / sizeof(T);
    index_t const pieces = k.count(), tile = tile_rows<T>(mr, k), all = (m + mr - 1) / mr;
    tiles = streamed_rows / mr < all ? streamed_rows / mr : all;
    if (tiles > budget / tile) tiles = budget / tile;
    if (tiles < 1) tiles = 1;
    rows = tiles * tile * (tiles * tile * pieces <= budget ? pieces : 1);
    // The strips of plan_stream: wide ones for one or two register tiles that read b in place, at most 256 for more.
    index_t const most = round_up(n, 2 * nr), wide = 34 * nr < most ? 34 * nr : most;
    index_t const narrow = 256 + 2 * nr < most ? 256 + 2 * nr : most;
    index_t const few = (tiles < streamed_tiles ? tiles : streamed_tiles) * wide, many = tiles * narrow;
    sums = round_up(tree_slots(pieces, 0, pieces) * mr * (few > many ? few : many), beyond);
    block = round_up(blocked + 2 * nr * (blocked / 128) + beyond, 2 * beyond);
    index_t const pair = 2 * panels_at_once * panel_size<T>(nr, panel_steps);
    if (block < pair) block = pair;
  }
  /// One register tile of packed rows over a piece of k.
  template <class T>
  static HEDDLE_FN index_t tile_rows(index_t mr, linalg::detail::chain_cuts const& k) {
    constexpr index_t beyond = 64 / sizeof(T);  // what packing may write past the end
    return round_up(mr * k.longest() + beyond, beyond);
  }
  HEDDLE_FN index_t total() const { return rows + sums + block; }
};

/// One group's product and its units: chunks of rows by strips of columns.
template <class P>
struct group_units {
  using input = decltype(P::in);
  using number = typename input::number;
  input in;
  decltype(P::out) out;
  decltype(input::b) after;  ///< the matrix that probably comes next
  index_t first_row, tiles, chunks, strips;
  bool panels;  ///< a strip is a panel
  stream_plan plan;

  HEDDLE_FN group_units(P const& p, unit_scratch const& scratch, index_t e)
      : in(p.in), out(p.out), after(nullptr), first_row(0), tiles(0), chunks(1), strips(0), panels(false), plan{} {
    index_t const from = p.groups.begin(e), rows = p.groups.end(e) - from;
    if (p.weight) {
      in.a += from * in.a_step, in.b += from * in.b_step, in.k = in.k == 0 ? 0 : rows;
      after = in.b + rows * in.b_step, out.c += e * p.c_group;
    } else {
      in.a += from * in.a_row, in.b += e * p.b_group, in.m = rows;
      after = in.b + p.b_group, first_row = from;
    }
    tiles = (in.m + scratch.mr - 1) / scratch.mr, chunks = (tiles + scratch.tiles - 1) / scratch.tiles;
    index_t mr = 0, nv = 0, nr = 0, m = balanced_part(tiles, chunks, 0).size * scratch.mr;
    input first = in;
    first.m = m < in.m ? m : in.m;
    dispatch_isa(panel_size_body{}, number{}, first.m, &nv, &mr, &nr);
    plan = plan_stream(first, mr, nv, nr, 1);
    panels = plan.tiles > streamed_tiles || uses_fallback();
    if (panels) {
      dispatch_isa(tile_size_body{}, number{}, &plan.mr, &plan.nr);
      index_t const all = round_up(in.n, plan.nr), some = panels_at_once * plan.nr;
      plan.strip = all < some ? all : some;
    }
    strips = (in.n + plan.strip - 1) / plan.strip;
  }
  HEDDLE_FN index_t count() const { return chunks * strips; }
  /// Steps of k in the first block of a strip, and whole panels of the strip at column `col`.
  HEDDLE_FN index_t first_steps() const {
    index_t const first = in.chains().at(0).size;
    return first < panel_steps ? first : panel_steps;
  }
  HEDDLE_FN index_t panels_of(index_t col) const {
    return (in.n - col < plan.strip ? in.n - col : plan.strip) / plan.nr;
  }
  /// The first block of unit `unit`.
  HEDDLE_FN next_block<typename input::element> block_of(index_t unit) const {
    index_t const col = unit % strips * plan.strip;
    return {in.b + col * in.b_column, first_steps(), panels_of(col), true};
  }
};

/// Packs the rows of one piece of k for all register tiles of a chunk.
template <class I>
HEDDLE_FN void pack_chunk(I const& in, stream_plan const& plan, typename I::number* rows, index_t tile_size) {
  for (index_t t = 0; t < plan.tiles; ++t) {
    part const r = row_tile(in.m, plan.mr, t);
    pack_rows(in, plan.mr, rows + t * tile_size, r.offset, r.offset + r.size);
  }
}

/// The part of a product that piece `piece` of k adds.
template <class I>
HEDDLE_FN I piece_of(I const& in, index_t piece) {
  I part = in;
  heddle::part const at = in.chains().at(piece);
  part.a += at.offset * in.a_step, part.b += at.offset * in.b_step, part.k = at.size, part.leaves = 1;
  return part;
}

/// Memory of one worker, and a chunk of a group's product in it.
template <class I>
struct chunk_work {
  using T = typename I::number;
  I in;  ///< with the rows of the chunk
  stream_plan plan;
  index_t tile_size;  ///< of packed rows over one piece of k
  bool packed;        ///< all pieces lie in `rows`, otherwise each is packed there when it is wanted
  T *rows, *sums, *block;

  HEDDLE_FN index_t slot_size() const { return plan.tiles * plan.mr * plan.strip; }
  HEDDLE_FN void pack_all() const {
    for (index_t p = 0; p < in.chains().count(); ++p) pack_chunk(piece_of(in, p), plan, rows_of(p), tile_size);
  }
  HEDDLE_FN T* rows_of(index_t piece) const { return rows + (packed ? piece * plan.tiles * tile_size : 0); }

  /// Calls sum(part, piece, rows, sums) for every piece of k and adds the pieces up.
  template <class Sum>
  HEDDLE_FN void sum_pieces(Sum const& sum) const {
    index_t const pieces = in.chains().count(), size = slot_size();
    tree_accumulate tree(pieces, 0, pieces);
    for (index_t piece = 0; piece < pieces; ++piece) {
      I const part = piece_of(in, piece);
      if (!packed) pack_chunk(part, plan, rows_of(piece), tile_size);
      int slot = tree.next_slot();
      sum(part, piece, rows_of(piece), sums + slot * size);
      for (int merges = tree.push(); merges > 0; --merges, --slot)
        dispatch_isa(add_body<T>{}, static_cast<T const*>(sums + slot * size), sums + (slot - 1) * size, size);
    }
  }
};

/// One strip of a chunk, streamed in blocks.
template <class I, class O>
HEDDLE_FN void run_blocks(chunk_work<I> const& w, O const& out, index_t row, index_t col, index_t columns) {
  using T = typename I::number;
  index_t const mr = w.plan.mr, nr = w.plan.nr, strip = w.plan.strip;
  strip_of_c<T> c{nullptr, out.c_row};
  if constexpr (std::is_same_v<decltype(out.c), T*>)
    if (out.direct() && w.in.chains().count() == 1) c.at = out.c + row * out.c_row + col;
  w.sum_pieces([&](I const& part, index_t, T const* rows, T* sums) {
    sum_strip(part, w.plan, c, rows, w.tile_size, sums, w.block, col, columns);
  });
  for (index_t t = 0; t < w.plan.tiles; ++t) {
    part const r = row_tile(w.in.m, mr, t);
    index_t const written = c.takes(r, mr) ? columns / nr * nr : 0;
    if (written < columns)
      dispatch_isa(store_body{}, out, static_cast<T const*>(w.sums + t * mr * strip + written), strip, row + r.offset,
                   r.size, col + written, columns - written);
  }
}

/// One strip of a chunk, in panels. `after`: the block that comes next.
template <class I, class O>
HEDDLE_FN void run_panels(chunk_work<I> const& w, O const& out, index_t row, index_t col, index_t columns,
                          block_pair<typename I::number>& pair, next_block<typename I::element> const& after) {
  using T = typename I::number;
  index_t const mr = w.plan.mr, nr = w.plan.nr;
  strip_of_panels<T> s{mr, nr, w.plan.tiles, col, columns, panel_steps, w.sums, {nullptr, out.c_row}};
  if constexpr (std::is_same_v<decltype(out.c), T*>)
    if (out.direct() && w.in.chains().count() == 1) s.c.at = out.c + row * out.c_row + col;
  w.sum_pieces([&](I const& part, index_t piece, T const* rows, T* sums) {
    auto next = after;
    if (piece + 1 < w.in.chains().count()) {
      index_t const left = w.in.chains().at(piece + 1).size;
      next = {part.b + part.k * part.b_step + col * part.b_column, left < panel_steps ? left : panel_steps,
              columns / nr, true};
    }
    s.sums = sums;
    sum_panels(part, s, rows, w.tile_size, pair, next);
  });
  for (index_t p = 0; p < s.panels(); ++p)
    for (index_t t = 0; t < w.plan.tiles; ++t) {
      part const r = row_tile(w.in.m, mr, t);
      index_t const at = p * nr, n = columns - at < nr ? columns - at : nr;
      if (!s.finishes(p, r))
        dispatch_isa(store_body{}, out, static_cast<T const*>(w.sums + (p * w.plan.tiles + t) * mr * nr), nr,
                     row + r.offset, r.size, col + at, n);
    }
}

/// Some units of one group. `after`: the block that is wanted when they are done.
template <class P>
HEDDLE_FN void run_units(group_units<P> const& g, unit_scratch const& scratch, typename group_units<P>::number* memory,
                         block_pair<typename group_units<P>::number>& pair, part const& units,
                         next_block<typename group_units<P>::input::element> const& after) {
  using I = typename group_units<P>::input;
  using T = typename I::number;
  index_t const pieces = g.in.chains().count(), tile_size = unit_scratch::tile_rows<T>(scratch.mr, g.in.chains());
  T* const block = memory + scratch.rows + scratch.sums;
  for (index_t unit = units.offset; unit < units.end();) {
    index_t const chunk = unit / g.strips, next = (chunk + 1) * g.strips, end = next < units.end() ? next : units.end();
    part const tiles = balanced_part(g.tiles, g.chunks, chunk);
    index_t const row = tiles.offset * scratch.mr, row_end = tiles.end() * scratch.mr;
    chunk_work<I> w{g.in, g.plan, tile_size, false, memory, memory + scratch.rows, block};
    w.in.a += row * g.in.a_row, w.in.m = (row_end < g.in.m ? row_end : g.in.m) - row;
    w.plan.tiles = tiles.size;
    w.packed = pieces * tiles.size * tile_size <= scratch.rows;
    if (w.packed) w.pack_all();
    for (; unit < end; ++unit) {
      index_t const strip = w.plan.strip, col = unit % g.strips * strip;
      index_t const columns = g.in.n - col < strip ? g.in.n - col : strip;
      if (!g.panels)
        run_blocks(w, g.out, g.first_row + row, col, columns), pair.ready = 0;
      else
        run_panels(w, g.out, g.first_row + row, col, columns, pair,
                   unit + 1 < units.end() ? g.block_of(unit + 1) : after);
    }
  }
}

/// Rows [row, row_end) of the output become 0.
template <class O>
HEDDLE_FN void clear_rows(O const& out, index_t row, index_t row_end, index_t n) {
  using C = std::remove_reference_t<decltype(*out.c)>;
  for (; row < row_end; ++row)
    for (index_t j = 0; j < n; ++j) out.c[row * out.c_row + j * out.c_column] = static_cast<C>(typename O::number(0));
}

/// The units between two costs.
template <class P>
class cost_range {
 public:
  HEDDLE_FN cost_range(P const& p, unit_scratch const& scratch, index_t const* costs, index_t begin, index_t end)
      : p_(&p), scratch_(&scratch), costs_(costs), begin_(begin), end_(end) {}

  /// The first group at or after e that has work here, or the end of all.
  HEDDLE_FN index_t next(index_t e) const {
    index_t const all = p_->groups.groups + 1;
    while (e < all && (costs_[e + 1] == costs_[e] || costs_[e + 1] <= begin_)) ++e;
    return e < all && costs_[e] < end_ ? e : all;
  }
  /// The units of group e that begin here, of `count`.
  HEDDLE_FN part units(index_t e, index_t count) const {
    index_t const lo = unit_at(begin_, e, count);
    return {lo, unit_at(end_, e, count) - lo};
  }
  HEDDLE_FN group_units<P> group(index_t e) const { return group_units<P>(*p_, *scratch_, e); }
  /// The block that is wanted when group e is done.
  HEDDLE_FN auto block_after(group_units<P> const& g, index_t e) const {
    next_block<typename group_units<P>::input::element> block{g.after, g.first_steps(), g.panels_of(0), false};
    index_t const following = next(e + 1);
    if (following >= p_->groups.groups) return block;
    group_units<P> const n = group(following);
    if (!n.panels || units(following, n.count()).size == 0) return block;
    return decltype(block){n.in.b, n.first_steps(), n.panels_of(0), true};
  }

 private:
  HEDDLE_FN index_t unit_at(index_t cost, index_t e, index_t count) const {
    if (cost <= costs_[e]) return 0;
    return cost >= costs_[e + 1] ? count : (cost - costs_[e]) * count / (costs_[e + 1] - costs_[e]);
  }

  P const* p_;
  unit_scratch const* scratch_;
  index_t const* costs_;
  index_t begin_, end_;
};

/// Share `share` of `shares` of all units. `costs[e]` is the cost of the groups before e.
template <class P>
HEDDLE_FN void run_share(P const& p, unit_scratch const& scratch, index_t const* costs,
                         typename group_units<P>::number* memory, index_t share, index_t shares) {
  using T = typename group_units<P>::number;
  index_t const slack = p.groups.groups;
  part const mine = balanced_part(costs[slack + 1], shares, share);
  cost_range<P> const range(p, scratch, costs, mine.offset, mine.end());
  index_t e = 0;
  for (index_t hi = slack + 1; hi - e > 1;) {  // the last group that begins at or before this share
    index_t const middle = e + (hi - e) / 2;
    (costs[middle] <= mine.offset ? e : hi) = middle;
  }
  T* const block = memory + scratch.rows + scratch.sums;
  block_pair<T> pair{block, block + scratch.block / 2, 0};
  for (e = range.next(e); e < slack; e = range.next(e + 1)) {
    group_units<P> const g = range.group(e);
    part const units = range.units(e, g.count());
    run_units(g, scratch, memory, pair, units, range.block_after(g, e));
  }
  if (e == slack) {
    index_t const from = p.groups.begin(e);
    part const rows = range.units(e, p.groups.rows - from);
    clear_rows(p.out, from + rows.offset, from + rows.end(), p.in.n);
  }
}

}  // namespace detail

/// Submits all products. m and k are the largest that a group can have.
template <class E, class I, class O>
HEDDLE_FN void submit_grouped(E& exec, grouped_problem<I, O> const& p) {
  using T = typename I::number;
  index_t mr = 0, nr = 0;
  dispatch_isa(detail::tile_size_body{}, T{}, &mr, &nr);
  detail::unit_scratch const scratch(T{}, p.in.m, p.in.n, p.in.chains(), mr, nr);
  index_t const shares = shares_per_worker * exec.concurrency(), size = scratch.total();
  scratch_frame<E> frame(exec);
  index_t* const costs = frame.template take<index_t>(p.groups.groups + 2);
  T* const memory = frame.template take<T>(size * exec.concurrency());
  exec.for_each_tile(1, [p, costs](index_t, int) {
    costs[0] = 0;
    for (index_t e = 0; e <= p.groups.groups; ++e) costs[e + 1] = costs[e] + p.cost(e);
  });
  exec.for_each_tile(shares, [p, scratch, costs, memory, size, shares](index_t share, int worker) {
    detail::run_share(p, scratch, costs, memory + worker * size, share, shares);
  });
}

}  // namespace cpu

/// Rows times the matrices of their groups, on any threading.
template <>
struct kernel<grouped_matmul_fn, cpu_tag> {
  template <class E, class A, class B, class O, class C, class Epilogue>
  static HEDDLE_FN void run(E& exec, A const& a, B const& b, O const& offsets, C const& c,
                            matmul_options const& options, Epilogue const& epilogue) {
    using element = typename A::value_type;
    using number = accumulator_t<element>;
    using in = cpu::inputs<element>;
    using out = cpu::output<typename C::value_type, number, Epilogue>;
    number const alpha = static_cast<number>(options.alpha), beta = static_cast<number>(options.beta);
    index_t const k = alpha == number(0) ? 0 : a.extent(1);
    cpu::submit_grouped(
        exec, cpu::grouped_problem<in, out>{in{a.data(), b.data(), a.stride(0), a.stride(1), b.stride(1), b.stride(2),
                                               c.extent(0), c.extent(1), k, options.cuts(k).leaves},
                                            out{c.data(), c.stride(0), c.stride(1),
                                                alpha == number(0) ? number(1) : alpha, beta, false, epilogue},
                                            linalg::detail::row_groups(offsets, c.extent(0)), b.stride(0), 0, false});
  }
};

/// The gradient of the matrices, on any threading.
template <>
struct kernel<grouped_matmul_weight_fn, cpu_tag> {
  template <class E, class A, class B, class O, class C>
  static HEDDLE_FN void run(E& exec, A const& a, B const& b, O const& offsets, C const& c,
                            matmul_options const& options) {
    using element = typename A::value_type;
    using number = accumulator_t<element>;
    using in = cpu::inputs<element>;
    using out = cpu::output<typename C::value_type, number, no_epilogue>;
    number const alpha = static_cast<number>(options.alpha), beta = static_cast<number>(options.beta);
    index_t const k = alpha == number(0) ? 0 : a.extent(0);
    cpu::submit_grouped(
        exec, cpu::grouped_problem<in, out>{
                  in{a.data(), b.data(), a.stride(1), a.stride(0), b.stride(0), b.stride(1), c.extent(1), c.extent(2),
                     k, options.cuts(k).leaves},
                  out{c.data(), c.stride(1), c.stride(2), alpha == number(0) ? number(1) : alpha, beta, false, {}},
                  linalg::detail::row_groups(offsets, a.extent(0)), 0, c.stride(0), true});
  }
};

}  // namespace heddle
