// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/linalg/matmul.hpp>

namespace heddle {

/// Matrix times vector: y = alpha a x + beta y.
///
/// Shapes: a [m, k], x [k], y [m]; all strides are free, so a transposed matrix is a transposed view, read at the same
/// speed. Zero sizes are legal: k = 0 gives beta y.
/// Types: as matmul. Pre: extents agree; y overlaps neither a nor x. Errors: contract_error.
/// Complexity: 2 m k flops, one pass over a. Sync: submits to `exec`; does not block where work is queued.
/// Determinism: the bits of `matmul` with x and y as matrices of one column, or of one row with a transposed.
/// Memory: as matmul. Numerics: as matmul.
struct gemv_fn {
  template <executor E, matrix_view A, vector_view X, vector_view Y>
    requires matmul_elements<A, X, Y>
  HEDDLE_FN void operator()(E& exec, A const& a, X const& x, Y const& y, matmul_options const& options = {}) const {
    static_assert(can_agree<A, Y>(0, 0), "gemv: y must have the rows of a");
    static_assert(can_agree<A, X>(1, 0), "gemv: x must have the columns of a");
    HEDDLE_EXPECTS(a.extent(0) == y.extent(0), "gemv: y must have the rows of a", a.extent(0), y.extent(0));
    HEDDLE_EXPECTS(a.extent(1) == x.extent(0), "gemv: x must have the columns of a", a.extent(1), x.extent(0));
    matmul(exec, a, column(x), column(y), options);
  }

 private:
  template <vector_view V>
  static HEDDLE_FN auto column(V const& v) {
    return view<typename V::element_type, 2, typename V::space>(v.data(), dims<2>(v.extent(0), 1), v.stride(0),
                                                                index_t{1});
  }
};
inline constexpr gemv_fn gemv{};

}  // namespace heddle
