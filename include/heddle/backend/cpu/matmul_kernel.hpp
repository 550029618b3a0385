// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/tree.hpp>
#include <heddle/linalg/matmul.hpp>
#include <heddle/tile/targets.hpp>
#include <heddle/tile/vec.hpp>

#include <utility>

/// @file
/// The register tile of the CPU matrix product: mr rows of nv vectors that run over packed rows of a and over columns
/// of b, packed or in place. Every element is one chain of fused multiply-adds, k ascending from +0.
///
/// Sums, packing and stores are bodies of their own: the sums are compiled once per number type, whatever the element
/// types and the epilogue are, and an epilogue costs the compiler one short loop.

namespace heddle {
namespace cpu {

/// Depth up to which writing c costs more than reading b again.
inline constexpr index_t short_depth = 64;

/// The multiple of `step` at or above x.
HEDDLE_FN constexpr index_t round_up(index_t x, index_t step) { return (x + step - 1) / step * step; }

/// Parts that `tiles` are dealt out in, at least `least`. Every worker takes as many parts as the others, and of up to
/// eight each the most, so that one that is late is helped, which give the first worker no more tiles than fewer would.
HEDDLE_FN constexpr index_t even_parts(index_t tiles, index_t least, index_t workers) {
  index_t best = 0, most = 0;
  for (index_t each = 1; each <= 8; ++each) {
    index_t const parts = each * workers, rest = tiles % parts,
                  mine = tiles / parts * each + (rest < each ? rest : each);
    if (parts < least || (best > 0 && (parts > tiles || mine > most))) continue;
    best = parts, most = mine;
  }
  if (best == 0) best = round_up(least, workers);
  return best < tiles ? best : tiles;
}

/// The inputs of one product as kernels see them: raw pointers and 64-bit strides.
template <class A>
struct inputs {
  using element = A;
  using number = accumulator_t<A>;
  A const* a;
  A const* b;
  index_t a_row, a_step, b_step, b_column;
  index_t m, n, k;
  index_t leaves = 0;  ///< chains that k is cut into; 0: at multiples of 4096

  /// The chains of one element, at least one; added along the canonical tree.
  HEDDLE_FN linalg::detail::chain_cuts chains() const { return {k, leaves}; }
};

/// Where sums go, and what is done with them on the way.
template <class C, class T, class Epilogue>
struct output {
  using number = T;
  C* c;
  index_t c_row, c_column;
  number alpha, beta;
  bool swapped;  ///< rows of the sums are columns of c
  Epilogue epilogue;

  /// Whether a product may run as the transposed one.
  static constexpr bool can_swap = !linalg::detail::takes_rows<Epilogue>;

  /// Whether sums may be written to c as they are.
  HEDDLE_FN bool direct() const {
    return std::is_same_v<Epilogue, no_epilogue> && std::is_same_v<C, T> && c_column == 1 && !swapped &&
           alpha == number(1) && beta == number(0);
  }
};

/// Register tiles per instruction set: mr * nv accumulators, nv columns of b and one broadcast fit the registers.
template <class Isa, class T>
struct register_tile {
  static constexpr int lanes = Isa::template lanes<T>;
  static constexpr int mr = Isa::register_bytes == 64 ? 14 : Isa::register_bytes == 32 ? 6 : 4;
  static constexpr int nv = 2;
  static constexpr int nr = nv * lanes;
  static constexpr int size = mr * nv;
  using vector = vec<T, lanes, lanes>;
  using all = std::make_integer_sequence<int, size>;
};
/// Bytes of the largest tile of sums.
inline constexpr index_t largest_tile_bytes = 14 * 2 * 64;

namespace detail {

/// A value about which the compiler knows nothing: what follows from it is computed where it is used, not kept from
/// loop to loop in registers that the sums need.
template <class X>
HEDDLE_SHIM X fresh(X x) {
#if !defined(__CUDA_ARCH__)
  asm volatile("" : "+r"(x));
#endif
  return x;
}

/// The register tile in use.
struct tile_size_body {
  template <class Isa, class T>
  HEDDLE_SHIM void operator()(Isa, T const&, index_t* const& mr, index_t* const& nr) const {
    *mr = register_tile<Isa, T>::mr, *nr = register_tile<Isa, T>::nr;
  }
};

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
template <class Tile, class V, class T, int... X>
HEDDLE_SHIM void store_sums(std::integer_sequence<int, X...>, V const* acc, T* to, index_t pitch) {
  (acc[X].store(to + X / Tile::nv * pitch + X % Tile::nv * Tile::lanes), ...);
}

template <class Tile, class V, class T, int... X>
HEDDLE_SHIM void load_tile(std::integer_sequence<int, X...>, T const* from, index_t pitch, V* acc) {
  ((acc[X] = V::load(from + X / Tile::nv * pitch + X % Tile::nv * Tile::lanes)), ...);
}

/// One chain of a register tile: packed rows of a times nr columns of b whose steps are b_step apart, over `depth`
/// steps, to lines that are `pitch` apart.
template <class T>
struct chain_body {
  template <class Isa>
  HEDDLE_SHIM void operator()(Isa, T const* const& rows, T const* const& columns, index_t const& b_step,
                              index_t const& depth, T* const& to, index_t const& pitch) const {
    using Tile = register_tile<Isa, T>;
    using V = typename Tile::vector;
    using all = typename Tile::all;
    T const *a = rows, *b = columns;
    V acc[Tile::size];
    clear(all{}, acc);
    for (index_t d = 0; d < depth; ++d, a += Tile::mr, b += b_step) {
      V const right[Tile::nv] = {V::load(b), V::load(b + Tile::lanes)};
      multiply_step<Tile>(all{}, acc, a, right);
    }
    store_sums<Tile>(all{}, acc, to, pitch);
  }
};

/// to = to + other, n numbers in whole vectors. A sum of two has one value, whichever comes first.
template <class T>
struct add_body {
  template <class Isa>
  HEDDLE_SHIM void operator()(Isa, T const* const& other, T* const& to, index_t const& n) const {
    constexpr int lanes = Isa::template lanes<T>;
    using V = vec<T, lanes, lanes>;
    for (index_t i = 0; i < n; i += lanes) (V::load(to + i) + V::load(other + i)).store(to + i);
  }
};

template <class O>
using element_of = std::remove_pointer_t<decltype(O::c)>;

/// alpha, beta and the epilogue on n elements of a row, then the store.
template <class O, class V>
HEDDLE_SHIM void finish(O const& out, V const& sum, index_t row, index_t col, index_t n) {
  using number = typename O::number;
  V value = sum;
  if (out.alpha != number(1)) value = mul(V::splat(out.alpha), value);
  if constexpr (linalg::detail::stores_itself<decltype(O::epilogue)>) {
    out.epilogue.store(value, row, col, n);
  } else {
    auto* const to = out.c + row * out.c_row + col;
    if (out.beta != number(0)) {
      V const before = load_as<V>(to, n);
      value = out.beta == number(1) ? value + before : fma(V::splat(out.beta), before, value);
    }
    store_as(to, linalg::detail::stored_number<element_of<O>>(out.epilogue(value, row, col, n)), n);
  }
}
/// The same for an output whose columns are not adjacent, element by element.
template <class O>
HEDDLE_SHIM void finish_one(O const& out, typename O::number value, index_t row, index_t col) {
  using number = typename O::number;
  if (out.alpha != number(1)) value = mul(out.alpha, value);
  if constexpr (linalg::detail::stores_itself<decltype(O::epilogue)>) {
    out.epilogue.store(value, row, col, index_t{1});
  } else {
    using C = element_of<O>;
    C* const to = out.c + row * out.c_row + col * out.c_column;
    if (out.beta != number(0)) {
      number const before = static_cast<number>(*to);
      value = out.beta == number(1) ? value + before : fma(out.beta, before, value);
    }
    *to = static_cast<C>(linalg::detail::stored_number<C>(out.epilogue(value, row, col, index_t{1})));
  }
}

/// Stores sums[rows, columns], whose lines are `pitch` apart and filled up to whole vectors, at (row, col) of the sums.
struct store_body {
  template <class Isa, class O>
  HEDDLE_SHIM void operator()(Isa, O const& out, typename O::number const* const& sums, index_t const& pitch,
                              index_t const& row, index_t const& rows, index_t const& col,
                              index_t const& columns) const {
    constexpr int lanes = Isa::template lanes<typename O::number>;
    constexpr int step = lanes * linalg::detail::registers_at_once<decltype(O::epilogue)>;
    using V = vec<typename O::number, step, lanes>;
    bool const by_vector = out.c_column == 1 && !out.swapped;
    for (index_t r = 0; r < rows; ++r) {
      auto const* const line = sums + r * pitch;
      if (by_vector) {
        for (index_t c = 0; c < columns; c += step) {
          index_t const n = columns - c < step ? columns - c : index_t{step};
          if constexpr (step == lanes)
            finish(out, V::load(line + c), row + r, col + c, n);
          else
            finish(out, V::load(line + c, n), row + r, col + c, n);
        }
        continue;
      }
      for (index_t c = 0; c < columns; ++c)
        finish_one(out, line[c], out.swapped ? col + c : row + r, out.swapped ? row + r : col + c);
    }
  }
};

}  // namespace detail
}  // namespace cpu
}  // namespace heddle
