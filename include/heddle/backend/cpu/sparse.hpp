// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/sparse.hpp>
#include <heddle/backend/cpu/detail/gather.hpp>
#include <heddle/backend/cpu/tile_context.hpp>
#include <heddle/tile/targets.hpp>

namespace heddle {
namespace detail {

/// Pieces of y = A x with eight lanes in registers of at most 32 bytes, for which gathers are fastest.
struct spmv_body {
  template <class Isa, class T>
  using lanes =
      vec<T, sparse_lanes, (Isa::register_bytes > 32 ? 32 : Isa::register_bytes) / static_cast<int>(sizeof(T))>;

  template <class Isa, class Work>
  HEDDLE_SHIM void operator()(Isa, Work const& w, index_t const& piece) const {
    using T = typename Work::number;
    using V = lanes<Isa, T>;
    auto const* const values = w.a.values.data();
    auto const* const columns = w.a.columns.data();
    T const* const x = w.x.data();
    spmv_piece(w, piece, [&](index_t first, index_t end) HEDDLE_LAMBDA {
      V sum = V::zero();
      index_t e = first;
      for (; e + sparse_lanes <= end; e += sparse_lanes)
        sum = fma(V::load(values + e), gather<V>(x, columns + e, sparse_lanes), sum);
      if (e < end) sum = fma(V::load(values + e, end - e), gather<V>(x, columns + e, end - e), sum);
      return tree_sum(sum);
    });
  }
};

/// One row of C = A B, a strip of columns in registers.
struct spmm_body {
  template <class Isa, class Work>
  HEDDLE_SHIM void operator()(Isa, Work const& w, index_t const& piece, index_t const& strip) const {
    using T = typename Work::number;
    constexpr int R = Isa::template lanes<T>;
    index_t const j = strip * Work::strip, left = w.c.extent(1) - j;
    index_t const n = left < Work::strip ? left : Work::strip;
    for (index_t row = w.first_row(piece), end = w.first_row(piece + 1); row < end; ++row) {
      index_t at = 0;
      for (; at + 4 * R <= n; at += 4 * R) columns<vec<T, 4 * R, R>>(w, row, j + at, 4 * R);
      for (; at < n; at += R) columns<vec<T, R, R>>(w, row, j + at, n - at);
    }
  }

 private:
  template <class V, class Work>
  static HEDDLE_SHIM V chain(Work const& w, index_t first, index_t end, index_t j, index_t n) {
    V sum = V::zero();
    auto const* const b = w.b.data() + j;
    for (index_t e = first; e < end; ++e)
      sum =
          fma(V::splat(w.a.values.data()[e * w.a.values.stride(0)]), V::load(b + w.column(e) * w.b.stride(0), n), sum);
    return sum;
  }
  template <class V, class Work>
  static HEDDLE_SHIM void columns(Work const& w, index_t row, index_t j, index_t n) {
    using T = typename Work::number;
    constexpr index_t block = tile::block_elements;
    index_t const begin = w.offset(row), end = w.offset(row + 1);
    V sum;
    if (HEDDLE_LIKELY(end - begin <= block)) {
      sum = chain<V>(w, begin, end, j, n);
    } else {
      sum = tile::detail::stream_tree<V>(tile::ceil_div(end - begin, block), plus<>{}, [&](index_t k) HEDDLE_LAMBDA {
        index_t const first = begin + k * block;
        return chain<V>(w, first, end - first < block ? end : first + block, j, n);
      });
    }
    sum = select(sum == sum, sum, V::splat(canonical_nan<T>()));
    sum.store(w.c.data() + (row * w.c.stride(0) + j), n);
  }
};

template <class T, class I>
HEDDLE_FN bool has_unit_strides(csr_view<T, I> const& a) {
  return tile::has_unit_columns(a.columns, a.values);
}

}  // namespace detail

/// Sparse products on CPUs, instruction set chosen at run time. They give the bits of the generic forms.
template <>
struct kernel<spmv_fn, cpu_tag> {
  template <class Executor, class Work>
  HEDDLE_FN static void run(Executor& exec, Work const& work) {
    detail::spmv_program<Work, false> const program{work};
    if (!detail::has_unit_strides(work.a) || !tile::has_unit_columns(work.x)) return tile::run(exec, program);
    observed_span<Executor> const scope(exec, [&program] { return program.work(); });
    exec.for_each_tile(work.pieces, [work](index_t piece, int) { dispatch_isa(detail::spmv_body{}, work, piece); });
  }
};

template <>
struct kernel<spmm_fn, cpu_tag> {
  template <class Executor, class Work>
  HEDDLE_FN static void run(Executor& exec, Work const& work) {
    detail::spmm_program<Work> const program{work};
    if (!tile::has_unit_columns(work.b, work.c)) return tile::run(exec, program);
    observed_span<Executor> const scope(exec, [&program] { return program.work(); });
    index_t const strips = work.strips();
    exec.for_each_tile(work.pieces * strips, [work, strips](index_t i, int) {
      dispatch_isa(detail::spmm_body{}, work, i / strips, i % strips);
    });
  }
};

}  // namespace heddle
