// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/backend/cpu/matmul_kernel.hpp>
#include <heddle/backend/cpu/matmul_rows.hpp>

/// @file
/// The CPU matrix product: which regime a shape takes, how it is cut into tiles, and what is packed where.
/// Bits do not depend on any of these choices: every element is the same chain in all of them.

namespace heddle {
namespace cpu {

/// How one product is cut. Units: elements, except where the name says bytes.
struct matmul_plan {
  index_t row_block = 0;    ///< rows that one tile packs and runs over
  index_t panel = 0;        ///< columns of one packed panel of b
  index_t chunk = 0;        ///< columns of b that are packed before they are used; 0: b is read in place
  index_t column_split = 1; ///< parts that the columns of a chunk are dealt out in
};

/// Half of an L2 cache, and a share of the last-level cache; fixed, so that a plan depends on shapes alone.
inline constexpr index_t l2_budget_bytes = 448 * 1024, shared_budget_bytes = 8 * 1024 * 1024;
/// b is read in place below this size: it then stays in the L2 cache by itself.
inline constexpr index_t in_place_bytes = 1024 * 1024;

template <class Tile, class P>
HEDDLE_FN matmul_plan plan_matmul(P const& p, int workers) {
  using T = typename P::number;
  constexpr index_t size = sizeof(T);
  auto const up = [](index_t x, index_t step) { return (x + step - 1) / step * step; };
  matmul_plan plan;
  plan.panel = Tile::nr;
  index_t const depth = p.k > 0 ? p.k : 1;
  bool const in_place = p.b_column == 1 && sizeof(*p.b) == sizeof(T) && p.k * p.n * size <= in_place_bytes;
  if (!in_place) {
    index_t const fits = shared_budget_bytes / (depth * size) / Tile::nr * Tile::nr;
    plan.chunk = fits < Tile::nr ? index_t{Tile::nr} : fits;
    if (plan.chunk > up(p.n, Tile::nr)) plan.chunk = up(p.n, Tile::nr);
  }
  index_t const fits = l2_budget_bytes / (depth * size) / Tile::mr * Tile::mr;
  plan.row_block = fits < Tile::mr ? index_t{Tile::mr} : fits;
  if (plan.row_block > up(p.m, Tile::mr)) plan.row_block = up(p.m, Tile::mr);
  // At least three tiles per worker where there are that many: first smaller row blocks, then parts of the columns.
  index_t const wanted = 3 * workers;
  if (workers > 1) {
    while (plan.row_block > 2 * Tile::mr && (p.m + plan.row_block - 1) / plan.row_block < wanted)
      plan.row_block = up(plan.row_block / 2, Tile::mr);
    index_t const row_tiles = (p.m + plan.row_block - 1) / plan.row_block;
    if (row_tiles < wanted) plan.column_split = (wanted + row_tiles - 1) / row_tiles;
  }
  return plan;
}

namespace detail {

/// Packs panel `panel` of the chunk that starts at column `first`.
struct pack_body {
  template <class Isa, class P>
  HEDDLE_SHIM void operator()(Isa, P const& p, typename P::number* const& packed, index_t const& first,
                              index_t const& panel) const {
    using Tile = register_tile<Isa, typename P::number>;
    pack_columns<Tile>(p, first + panel * Tile::nr, 0, p.k, packed + panel * Tile::nr * p.k);
  }
};

/// One tile: packs its rows of a, then runs over the panels of its columns.
struct tile_body {
  template <class Isa, class P>
  HEDDLE_SHIM void operator()(Isa, P const& p, typename P::number* const& rows, typename P::number const* const& packed,
                              index_t const& row, index_t const& row_end, index_t const& first, index_t const& col,
                              index_t const& col_end) const {
    using T = typename P::number;
    using Tile = register_tile<Isa, T>;
    for (index_t r = row; r < row_end; r += Tile::mr) pack_rows<Tile>(p, r, rows + (r - row) * p.k);
    typename Tile::vector acc[Tile::size];
    for (index_t c = col; c < col_end; c += Tile::nr)
      for (index_t r = row; r < row_end; r += Tile::mr) {
        T const* const left = rows + (r - row) * p.k;
        if (packed != nullptr)
          sums<Tile, false>(acc, left, packed + (c - first) * p.k, index_t{Tile::nr}, p.k, index_t{Tile::nr});
        else
          sums<Tile, true>(acc, left, p.b + c, p.b_step, p.k, p.n - c);
        store_tile<Tile>(p, acc, r, c);
      }
  }
};

/// What the plan needs to know of the register tile in use.
struct plan_body {
  template <class Isa, class P>
  HEDDLE_SHIM void operator()(Isa, P const& p, int const& workers, matmul_plan& plan) const {
    plan = plan_matmul<register_tile<Isa, typename P::number>>(p, workers);
  }
};

}  // namespace detail

/// Submits one product of a batch.
template <class E, class P>
HEDDLE_FN void submit_product(E& exec, P const& p) {
  using T = typename P::number;
  if (p.m <= few_rows && p.b_column == 1) return submit_few_rows(exec, p);
  matmul_plan plan;
  int workers = exec.concurrency();
  dispatch_isa(detail::plan_body{}, p, workers, plan);
  scratch_frame<E> frame(exec);
  index_t const rows_size = plan.row_block * p.k;
  T* const rows = frame.template take<T>(rows_size * workers);
  T* const packed = plan.chunk > 0 ? frame.template take<T>(plan.chunk * p.k) : nullptr;
  index_t const chunk = plan.chunk > 0 ? plan.chunk : p.n;
  for (index_t first = 0; first < p.n; first += chunk) {
    index_t const columns = p.n - first < chunk ? p.n - first : chunk;
    index_t const panels = (columns + plan.panel - 1) / plan.panel;
    if (packed != nullptr)
      exec.for_each_tile(panels, [p, packed, first](index_t panel, int) {
        dispatch_isa(detail::pack_body{}, p, packed, first, panel);
      });
    index_t const row_tiles = (p.m + plan.row_block - 1) / plan.row_block;
    index_t const split = plan.column_split < panels ? plan.column_split : panels;
    exec.for_each_tile(row_tiles * split, [=](index_t tile, int worker) {
      index_t const row = tile / split * plan.row_block, part = tile % split;
      auto const range = balanced_part(panels, split, part);
      index_t const row_end = row + plan.row_block < p.m ? row + plan.row_block : p.m;
      index_t const col = first + range.offset * plan.panel;
      index_t const end = first + range.end() * plan.panel, last = first + columns;
      dispatch_isa(detail::tile_body{}, p, rows + worker * rows_size, static_cast<T const*>(packed), row, row_end,
                   first, col, end < last ? end : last);
    });
  }
}

}  // namespace cpu

/// The packed, vectorised product on any threading.
template <>
struct kernel<matmul_fn, cpu_tag> {
  template <class E, class A, class B, class C, class Epilogue>
  static HEDDLE_FN void run(E& exec, A const& a, B const& b, C const& c, matmul_options const& options,
                            Epilogue const& epilogue) {
    using number = accumulator_t<typename A::value_type>;
    using product = cpu::product<typename A::value_type, typename B::value_type, typename C::value_type, Epilogue>;
    number const alpha = static_cast<number>(options.alpha);
    for (index_t i = 0; i < c.extent(0); ++i)
      cpu::submit_product(
          exec, product{a.data() + i * a.stride(0), b.data() + i * b.stride(0), c.data() + i * c.stride(0), a.stride(1),
                        a.stride(2), b.stride(1), b.stride(2), c.stride(1), c.stride(2), c.extent(1), c.extent(2),
                        // With alpha 0 nothing of a and b may be read: the product of no columns.
                        alpha == number(0) ? 0 : a.extent(2), alpha == number(0) ? number(1) : alpha,
                        static_cast<number>(options.beta), epilogue});
  }
};

}  // namespace heddle
