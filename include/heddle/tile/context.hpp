// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/tile/functions.hpp>
#include <heddle/tile/operand.hpp>

#include <concepts>
#include <type_traits>

namespace heddle {
namespace tile {

namespace detail {
struct probe_shared {
  float unused;
};
}  // namespace detail

/// Whether the last dimension of every operand is adjacent in memory, so that vectors can be loaded from it.
template <any_view... V>
HEDDLE_HD_FN bool has_unit_columns(V const&... v) {
  return ((v.stride(V::rank() - 1) == 1 || v.extent(V::rank() - 1) <= 1) && ...);
}

/// What a tile program sees of the machine: one tile of the work, executed by one CPU worker or one thread block.
///
/// Valid expressions, with `ctx` a context, `c` a `column_of<T>`, `s` a `tile_of<T, Columns>`, `in...` operands, `out`
/// a writable operand with a shape, `f` a callable marked HEDDLE_LAMBDA and generic in its arguments, `m` a monoid on T
/// whose combine takes vectors:
/// - constants `rows` (rows of a tile), `strip` (columns of a strip), and for matmul `mt`, `nt`, `kt`, `stages`;
/// - `ctx.tile()`, `ctx.shared<S>()`, `ctx.sync()`;
/// - lazy operands `ref(matrix, i, j, n)`, `ref_flat(vector, base, width)`, `ref_row(vector, j)`,
///   `ref_column(vector, i)`, `ref_strip(matrix, j)`, `one_hot<T>(indices, i)`;
/// - `map_to(out, f, in...)`, `reduce_of(c, f, m, in...)`, `map_reduce_to(out, c, f, m, in...)`;
/// - `load(s, in)`, `map(s, f, in...)`, `row_reduce(c, m, s)`, `map_reduce(s, c, f, m, in...)`,
///   `store(matrix, i, j, s)`, `store(vector, i, c)`;
/// - `fill(c, value)`, `map(c, f, columns...)`, `column_reduce(c, m, count)`, `tree_reduce(values, n, m)`,
///   `reduce_strip(vector, j, f, m, in...)`, `store_scalar(pointer, value)`, `for_each(n, f)`;
/// - `copy_async(operand, matrix, i, j)`, `commit()`, `wait<N>()`, `zero(acc)`, `mma(acc, a, b)`,
///   `store(matrix, i, j, acc, f)` with `operand_a<T, M, K>`, `operand_b<T, K, N>`, `accumulator<T, M, N>`.
///
/// Meaning: an operation works on whole tiles; its shape is that of `out`, else of the first operand that has one, and
/// operands without a shape (columns, rows, one-hot) are broadcast. Element-wise operations may run in place.
/// Reductions follow the canonical order of tile/canonical.hpp, so every model gives the same bits. Callables get
/// numbers or vectors of them, in any grouping, and must be pure. Values in columns, tiles and accumulators are seen by
/// the next operation; `sync()` is needed only between `copy_async` data and its readers, see docs/tile.md.
/// Models: reference_context, cpu_context<Target>, block_tile_context<BlockContext> (simulator and CUDA).
template <class C>
concept tile_context = requires(C& ctx, typename C::template column_of<float>& c, matrix_ref<float> const& m,
                                pass_fn const& f, plus<float> const& op, view<float, 2> const& v) {
  { C::rows } -> std::convertible_to<int>;
  { C::strip } -> std::convertible_to<int>;
  { ctx.tile() } -> std::same_as<index_t>;
  { ctx.template shared<detail::probe_shared>() } -> std::same_as<detail::probe_shared&>;
  ctx.sync();
  { ctx.ref(v, index_t{0}, index_t{0}, index_t{1}) } -> std::same_as<matrix_ref<float>>;
  ctx.map_to(m, f, m);
  ctx.reduce_of(c, f, op, m);
  ctx.map_reduce_to(m, c, f, op, m);
  ctx.fill(c, 0.0f);
};

/// A kernel written once. `shared<Ctx>` is the memory that one tile needs, `tiles<Ctx>()` how many tiles there are, and
/// the call operator does one of them. Trivially copyable, at most 384 bytes.
/// Optional: `unit_columns()`, false where an operand's columns are not adjacent in memory; a type `plain`, where its
/// callables know no vectors: both choose plain loops on the CPU. `span work() const`, what it is and does as observers
/// and plans see it (exec/observer.hpp).
template <class P, class Ctx>
concept tile_program = std::is_trivially_copyable_v<P> &&(sizeof(P) <= 384) && requires(P const& p, Ctx& ctx) {
  typename P::template shared<Ctx>;
  { p.template tiles<Ctx>() } -> std::same_as<index_t>;
  p(ctx);
};

/// Base of a program whose tile is `Ctx::rows` rows of its matrices, `rows` in all.
struct over_rows {
  index_t rows;

  template <class Ctx>
  struct shared {};
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return ceil_div(rows, Ctx::rows);
  }
};

/// Base of a program whose tile is `Ctx::strip` columns of its matrices, `columns` in all.
struct over_strips {
  index_t columns;

  template <class Ctx>
  struct shared {};
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return ceil_div(columns, Ctx::strip);
  }
};

/// The lazy operands, the same for every context: contexts inherit them.
template <int Rows, int Strip>
struct operand_makers {
  static constexpr int rows = Rows;
  static constexpr int strip = Strip;

  /// Rows [i, i + rows) and columns [j, j + n) of a matrix, cut at its last row.
  template <matrix_view V>
  static HEDDLE_TILE matrix_ref<typename V::element_type> ref(V const& v, index_t i, index_t j, index_t n) {
    index_t const left = v.extent(0) - i;
    return {v.data() + (i * v.stride(0) + j * v.stride(1)),
            left < Rows ? left : index_t{Rows},
            n,
            n,
            v.stride(0),
            v.stride(1)};
  }

  /// A vector folded into rows of `width` elements: row r of the tile starts at base + r * width.
  template <vector_view V>
  static HEDDLE_TILE matrix_ref<typename V::element_type> ref_flat(V const& v, index_t base, index_t width) {
    index_t const left = v.extent(0) - base;
    index_t const count = left < Rows * width ? ceil_div(left, width) : index_t{Rows};
    index_t const last = left < count * width ? left - (count - 1) * width : width;
    return {v.data() + base * v.stride(0), count, width, last, width * v.stride(0), v.stride(0)};
  }

  /// Elements [j, ...) of a vector, the same in every row.
  template <vector_view V>
  static HEDDLE_TILE row_ref<typename V::element_type> ref_row(V const& v, index_t j) {
    return {v.data() + j * v.stride(0), v.stride(0)};
  }

  /// Elements [i, ...) of a vector, the same in every column.
  template <vector_view V>
  static HEDDLE_TILE column_ref<typename V::element_type> ref_column(V const& v, index_t i) {
    return {v.data() + i * v.stride(0), v.stride(0)};
  }

  /// All rows of a matrix, columns [j, j + strip) cut at its last column.
  template <matrix_view V>
  static HEDDLE_TILE matrix_ref<typename V::element_type> ref_strip(V const& v, index_t j) {
    index_t const left = v.extent(1) - j;
    index_t const n = left < Strip ? left : index_t{Strip};
    return {v.data() + j * v.stride(1), v.extent(0), n, n, v.stride(0), v.stride(1)};
  }

  /// T{1} where a row's column is indices(i + row) - first_column, T{0} elsewhere.
  template <class T, vector_view V>
  static HEDDLE_TILE one_hot_ref<T, typename V::element_type> one_hot(V const& indices, index_t i,
                                                                      index_t first_column = 0) {
    return {indices.data() + i * indices.stride(0), indices.stride(0), first_column};
  }
};

}  // namespace tile
}  // namespace heddle
