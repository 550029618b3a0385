// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/tile/targets.hpp>
#include <heddle/tile/vec.hpp>
#include <heddle/core/tree.hpp>
#include <heddle/linalg/matmul.hpp>

#include <utility>

/// @file
/// The register tile of the CPU matrix product: mr rows of nv vectors that run over packed rows of a and over columns
/// of b, packed or in place. Every element is one chain of fused multiply-adds, k ascending from +0.

namespace heddle {
namespace cpu {

/// Depth of one chain; longer products are cut here and the pieces added along the canonical tree.
inline constexpr index_t chain_depth = 4096;

/// One product of a batch as kernels see it: raw pointers and 64-bit strides.
template <class A, class B, class C, class Epilogue>
struct product {
  using number = accumulator_t<A>;
  A const* a;
  B const* b;
  C* c;
  index_t a_row, a_step, b_step, b_column, c_row, c_column;
  index_t m, n, k;
  number alpha, beta;
  Epilogue epilogue;
};

/// Register tiles per instruction set: mr * nv accumulators, nv columns of b and one broadcast fit the registers.
template <class Isa, class T, int Rows = 0>
struct register_tile {
  static constexpr int lanes = Isa::template lanes<T>;
  static constexpr int mr = Rows > 0 ? Rows : Isa::register_bytes == 64 ? 14 : Isa::register_bytes == 32 ? 6 : 4;
  static constexpr int nv = 2;
  static constexpr int nr = nv * lanes;
  static constexpr int size = mr * nv;
  using vector = vec<T, lanes, lanes>;
  using all = std::make_integer_sequence<int, size>;
};

namespace detail {

template <class Tile, class T, class V, int... X>
HEDDLE_SHIM void multiply_step(std::integer_sequence<int, X...>, V* acc, T const* a, V const* b) {
  ((acc[X] = fma(V::splat(a[X / Tile::nv]), b[X % Tile::nv], acc[X])), ...);
}
template <class V, int... X>
HEDDLE_SHIM void clear(std::integer_sequence<int, X...>, V* acc) {
  ((acc[X] = V::zero()), ...);
}
template <class V, int... X>
HEDDLE_SHIM void move(std::integer_sequence<int, X...>, V const* from, V* to) {
  ((to[X] = from[X]), ...);
}
template <class V, int... X>
HEDDLE_SHIM void add(std::integer_sequence<int, X...>, V const* left, V* right) {
  ((right[X] = left[X] + right[X]), ...);
}

/// One chain: acc += packed rows of a times columns of b. `columns` counts the valid ones where b lies in place.
template <class Tile, bool InPlace, class T, class B>
HEDDLE_SHIM void chain(typename Tile::vector* out, T const* a, B const* b, index_t b_step, index_t depth,
                       index_t columns) {
  using V = typename Tile::vector;
  using all = typename Tile::all;
  V acc[Tile::size];
  clear(all{}, acc);
  if (!InPlace || columns >= Tile::nr) {
    for (index_t d = 0; d < depth; ++d, a += Tile::mr, b += b_step) {
      V const right[2] = {load_as<V>(b), load_as<V>(b + Tile::lanes)};
      multiply_step<Tile>(all{}, acc, a, right);
    }
  } else {
    for (index_t d = 0; d < depth; ++d, a += Tile::mr, b += b_step) {
      V const right[2] = {load_as<V>(b, columns),
                          load_as<V>(b + Tile::lanes, columns - Tile::lanes)};
      multiply_step<Tile>(all{}, acc, a, right);
    }
  }
  move(all{}, acc, out);
}

/// The whole product of one register tile, over all pieces of k.
template <class Tile, bool InPlace, class T, class B>
HEDDLE_SHIM void sums(typename Tile::vector* acc, T const* a, B const* b, index_t b_step, index_t k, index_t columns) {
  using V = typename Tile::vector;
  using all = typename Tile::all;
  if (k <= chain_depth) return chain<Tile, InPlace>(acc, a, b, b_step, k, columns);
  index_t const pieces = (k + chain_depth - 1) / chain_depth;
  constexpr int levels = 24;  // partial sums that wait for their right neighbour: more than log2 of any depth
  V waiting[levels][Tile::size];
  tree_accumulate tree(pieces, 0, pieces);
  for (index_t p = 0; p < pieces; ++p) {
    index_t const from = p * chain_depth, depth = k - from < chain_depth ? k - from : chain_depth;
    chain<Tile, InPlace>(acc, a + from * Tile::mr, b + from * b_step, b_step, depth, columns);
    int slot = tree.next_slot();
    for (int merges = tree.push(); merges > 0; --merges) add(all{}, waiting[--slot], acc);
    move(all{}, acc, waiting[slot]);
  }
}

/// alpha, beta and the epilogue on n elements of a row, then the store.
template <class P, class V>
HEDDLE_SHIM void finish(P const& p, V const& sum, index_t row, index_t col, index_t n) {
  using number = typename P::number;
  V value = sum;
  auto* const to = p.c + row * p.c_row + col;
  if (p.alpha != number(1)) value = mul(V::splat(p.alpha), value);
  if (p.beta != number(0)) {
    V const before = load_as<V>(to, n);
    value = p.beta == number(1) ? value + before : fma(V::splat(p.beta), before, value);
  }
  store_as(to, p.epilogue(value, row, col, n), n);
}
/// The same for an output whose columns are not adjacent, element by element.
template <class P>
HEDDLE_SHIM void finish_one(P const& p, typename P::number value, index_t row, index_t col) {
  using number = typename P::number;
  auto* const to = p.c + row * p.c_row + col * p.c_column;
  if (p.alpha != number(1)) value = mul(p.alpha, value);
  if (p.beta != number(0)) {
    number const before = static_cast<number>(*to);
    value = p.beta == number(1) ? value + before : fma(p.beta, before, value);
  }
  *to = static_cast<std::remove_reference_t<decltype(*to)>>(p.epilogue(value, row, col, index_t{1}));
}

template <class Tile, class P>
HEDDLE_SHIM void store_tile(P const& p, typename Tile::vector const* acc, index_t row, index_t col) {
  index_t const rows = p.m - row < Tile::mr ? p.m - row : index_t{Tile::mr};
  for (index_t r = 0; r < rows; ++r)
    for (int v = 0; v < Tile::nv; ++v) {
      index_t const at = col + v * Tile::lanes;
      index_t const n = p.n - at < Tile::lanes ? p.n - at : index_t{Tile::lanes};
      if (n <= 0) continue;
      auto const& value = acc[r * Tile::nv + v];
      if (p.c_column == 1) {
        finish(p, value, row + r, at, n);
      } else {
        for (index_t i = 0; i < n; ++i) finish_one(p, value[static_cast<int>(i)], row + r, at + i);
      }
    }
}

/// Packs `rows` rows of a from `row` on as [k][mr]; missing rows are zero.
template <class Tile, class P, class T>
HEDDLE_SHIM void pack_rows(P const& p, index_t row, T* to) {
  index_t const rows = p.m - row < Tile::mr ? p.m - row : index_t{Tile::mr};
  auto const* from = p.a + row * p.a_row;
  if (p.a_step == 1 && rows == Tile::mr) {
    // Rows are read along k, a few elements at a time, so that each cache line is used at once.
    for (index_t d = 0; d < p.k; ++d)
      for (index_t r = 0; r < Tile::mr; ++r) to[d * Tile::mr + r] = static_cast<T>(from[r * p.a_row + d]);
    return;
  }
  for (index_t d = 0; d < p.k; ++d)
    for (index_t r = 0; r < Tile::mr; ++r)
      to[d * Tile::mr + r] = r < rows ? static_cast<T>(from[r * p.a_row + d * p.a_step]) : T(0);
}

/// Packs one panel of nr columns of b from `col` on, steps [from, end) of k, as [k][nr]; missing columns are zero.
template <class Tile, class P, class T>
HEDDLE_SHIM void pack_columns(P const& p, index_t col, index_t from, index_t end, T* to) {
  using V = typename Tile::vector;
  index_t const columns = p.n - col < Tile::nr ? p.n - col : index_t{Tile::nr};
  for (index_t d = from; d < end; ++d) {
    auto const* row = p.b + d * p.b_step + col * p.b_column;
    T* const at = to + d * Tile::nr;
    if (p.b_column == 1) {
      for (int v = 0; v < Tile::nv; ++v)
        load_as<V>(row + v * Tile::lanes, columns - v * Tile::lanes).store(at + v * Tile::lanes);
    } else {
      for (index_t c = 0; c < Tile::nr; ++c) at[c] = c < columns ? static_cast<T>(row[c * p.b_column]) : T(0);
    }
  }
}

}  // namespace detail
}  // namespace cpu
}  // namespace heddle
