// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/backend/cpu/tile_operands.hpp>

#include <utility>

/// @file
/// The matmul operations of the cpu tile context: operands packed into slivers, and a register tile that runs over
/// them. Row r of a lies in sliver r / mr at [depth][r % mr], column c of b in sliver c / nr at [depth][c % nr], a sum
/// in the micro tile of its slivers.

namespace heddle {
namespace tile {
namespace detail {

// Multiples of every register tile below, so that the memory of a program is the same for all instruction sets; the
// three blocks of floats fill about half of an L2 cache of 1 MiB.
inline constexpr int cpu_mt = 168, cpu_nt = 256, cpu_kt = 256;

template <class T>
struct packed_a {
  index_t rows;
  alignas(64) T at[cpu_mt * cpu_kt];
};
template <class T>
struct packed_b {
  index_t columns;
  alignas(64) T at[cpu_kt * cpu_nt];
};
template <class T>
struct packed_sums {
  using element = T;
  alignas(64) T at[cpu_mt * cpu_nt];
};

/// The register tile: mr rows of nv vectors, and where things lie in the blocks.
template <class Isa, class T>
struct micro_shape {
  static constexpr int lanes = Isa::template lanes<T>;
  static constexpr int mr = Isa::register_bytes == 64 ? 14 : Isa::register_bytes == 32 ? 6 : 4;
  static constexpr int nv = 2;
  static constexpr int nr = nv * lanes;
  static_assert(cpu_mt % mr == 0 && cpu_nt % nr == 0);
  using vector = vec<T, lanes, lanes>;

  static HEDDLE_SHIM index_t row_offset(index_t r) { return (r / mr) * mr * cpu_nt + (r % mr) * nr; }
  static HEDDLE_SHIM index_t column_offset(index_t c) { return (c / nr) * mr * nr + c % nr; }
};

template <class Isa, class T, matrix_view V>
HEDDLE_SHIM void pack_rows(packed_a<T>& o, V const& a, index_t i, index_t k) {
  constexpr index_t mr = micro_shape<Isa, T>::mr;
  index_t const depth = smaller(a.extent(1) - k, cpu_kt), rs = a.stride(0), ks = a.stride(1);
  o.rows = smaller(a.extent(0) - i, cpu_mt);
  for (index_t r0 = 0; r0 < o.rows; r0 += mr) {
    auto const* from = a.data() + ((i + r0) * rs + k * ks);
    T* to = o.at + r0 * cpu_kt;
    if (r0 + mr <= o.rows) {
      for (index_t d = 0; d < depth; ++d, from += ks, to += mr)
        for (index_t r = 0; r < mr; ++r) to[r] = widen(from[r * rs]);
    } else {
      for (index_t d = 0; d < depth; ++d, from += ks, to += mr)
        for (index_t r = 0; r < mr; ++r) to[r] = r0 + r < o.rows ? widen(from[r * rs]) : T(0);
    }
  }
}

template <class Isa, class T, matrix_view V>
HEDDLE_SHIM void pack_columns(packed_b<T>& o, V const& b, index_t k, index_t j) {
  using shape = micro_shape<Isa, T>;
  using L = typename shape::vector;
  index_t const depth = smaller(b.extent(0) - k, cpu_kt), ks = b.stride(0), cs = b.stride(1);
  o.columns = smaller(b.extent(1) - j, cpu_nt);
  for (index_t d = 0; d < depth; ++d) {
    auto const* from = b.data() + ((k + d) * ks + j * cs);
    for (index_t c0 = 0; c0 < o.columns; c0 += shape::nr) {
      T* to = o.at + c0 * cpu_kt + d * shape::nr;
      if (cs == 1) {
        for (index_t c = 0; c < shape::nr; c += shape::lanes)
          load_as<L>(from + (c0 + c), o.columns - c0 - c).store(to + c);
      } else {
        for (index_t c = 0; c < shape::nr; ++c) to[c] = c0 + c < o.columns ? widen(from[(c0 + c) * cs]) : T(0);
      }
    }
  }
}

template <class Shape, class T, int... X>
HEDDLE_SHIM void multiply_step(std::integer_sequence<int, X...>, typename Shape::vector* acc, T const* a,
                               typename Shape::vector const (&b)[Shape::nv]) {
  using V = typename Shape::vector;
  ((acc[X] = fma(V::splat(a[X / Shape::nv]), b[X % Shape::nv], acc[X])), ...);
}
template <class Shape, class T, int... X>
HEDDLE_SHIM void load_sums(std::integer_sequence<int, X...>, typename Shape::vector* acc, T const* sums) {
  ((acc[X] = Shape::vector::load(sums + X * Shape::lanes)), ...);
}
template <class Shape, class T, int... X>
HEDDLE_SHIM void store_sums(std::integer_sequence<int, X...>, typename Shape::vector const* acc, T* sums) {
  (acc[X].store(sums + X * Shape::lanes), ...);
}

template <class Shape, class T>
HEDDLE_SHIM void micro_tile(T* sums, T const* a, T const* b, index_t depth) {
  using V = typename Shape::vector;
  using all = std::make_integer_sequence<int, Shape::mr * Shape::nv>;
  static_assert(Shape::nv == 2);
  V acc[Shape::mr * Shape::nv];
  load_sums<Shape>(all{}, acc, sums);
  for (index_t d = 0; d < depth; ++d, a += Shape::mr, b += Shape::nr) {
    V const columns[2] = {V::load(b), V::load(b + Shape::lanes)};
    multiply_step<Shape>(all{}, acc, a, columns);
  }
  store_sums<Shape>(all{}, acc, sums);
}

template <class Isa, class T>
HEDDLE_SHIM void multiply_packed(packed_sums<T>& sums, packed_a<T> const& a, packed_b<T> const& b, index_t depth) {
  using shape = micro_shape<Isa, T>;
  for (index_t c = 0; c < b.columns; c += shape::nr)
    for (index_t r = 0; r < a.rows; r += shape::mr)
      micro_tile<shape>(sums.at + r * cpu_nt + c * shape::mr, a.at + r * cpu_kt, b.at + c * cpu_kt, depth);
}

}  // namespace detail
}  // namespace tile
}  // namespace heddle
