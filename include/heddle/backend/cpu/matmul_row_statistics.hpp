// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/backend/cpu/matmul.hpp>
#include <heddle/backend/cpu/tile_context.hpp>
#include <heddle/linalg/matmul_row_statistics.hpp>

/// @file
/// Statistics of rows on the way of a product: every vector of c leaves its own in scratch, by the tree of its lanes,
/// whichever worker stores it; a second program goes on along the tree.

namespace heddle {
namespace cpu {
namespace detail {

/// Elements of c as memory holds them.
template <class C, class V>
HEDDLE_TILE V value_in_memory(V const& v) {
  return rounded_to<C>(linalg::detail::stored_number<C>(v));
}

struct lane_count_body {
  template <class Isa, class T>
  HEDDLE_SHIM void operator()(Isa, T const&, index_t* const& lanes) const {
    *lanes = Isa::template lanes<T>;
  }
};

/// An epilogue that passes on what another one gives, and keeps the statistics of each vector of C.
template <class C, class T, class Epilogue>
struct vector_statistics {
  static constexpr bool takes_rows = true;

  Epilogue epilogue;
  T* parts[linalg::detail::row_statistic_count];  // null: not wanted
  index_t pitch;

  template <class V>
  HEDDLE_TILE V operator()(V const& value, index_t row, index_t col, index_t n) const {
    V const y = epilogue(value, row, col, n);
    if constexpr (is_vec<V>) keep(value_in_memory<C>(y), row * pitch + col / V::width, n);
    return y;
  }

 private:
  template <class V>
  HEDDLE_TILE void keep(V const& stored, index_t at, index_t n) const {
    // What lies behind the end is anything.
    V const v = n < V::width ? V(select(V::iota() < V::splat(static_cast<T>(n)), stored, V::zero())) : stored;
    if (parts[0]) parts[0][at] = tree_reduce(v, plus<>{});
    if (parts[1]) parts[1][at] = tree_reduce(mul(v, v), plus<>{});
    if (parts[2]) parts[2][at] = tree_reduce(abs(v), maximum<>{});
  }
};

}  // namespace detail
}  // namespace cpu

template <>
struct kernel<matmul_row_statistics_fn, cpu_tag> {
  template <class E, class A, class B, class C, class V, class Epilogue>
  static HEDDLE_FN void run(E& exec, A const& a, B const& b, C const& c, row_statistics<V> const& to,
                            matmul_options const& options, Epilogue const& epilogue) {
    using T = typename V::value_type;
    index_t const rows = c.extent(0), n = c.extent(1);
    if (c.size() == 0 || c.stride(1) != 1)
      return matmul_row_statistics_fn::generic(exec, a, b, c, to, options, epilogue);
    index_t lanes = 0;
    dispatch_isa(cpu::detail::lane_count_body{}, T{}, &lanes);
    index_t const pitch = (n + lanes - 1) / lanes, size = checked_product(rows, pitch);
    scratch_frame<E> frame(exec);
    T* const sum = to.sum.empty() ? nullptr : frame.template take<T>(size);
    T* const squares = to.sum_squares.empty() ? nullptr : frame.template take<T>(size);
    T* const peak = to.max_abs.empty() ? nullptr : frame.template take<T>(size);
    matmul(exec, a, b, c, options,
           cpu::detail::vector_statistics<typename C::value_type, T, Epilogue>{epilogue, {sum, squares, peak}, pitch});
    index_t const wanted = (sum ? 1 : 0) + (squares ? 1 : 0) + (peak ? 1 : 0);
    linalg::detail::submit_statistics(exec, linalg::detail::parts_in_scratch<T>{{sum, squares, peak}, pitch, lanes}, to,
                                      rows, n, wanted * size * static_cast<index_t>(sizeof(T)));
  }
};

}  // namespace heddle
