// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/copy.hpp>
#include <heddle/core/math_activation.hpp>
#include <heddle/linalg/matmul.hpp>

namespace heddle {

namespace linalg::detail {
/// An element of a Y.
template <class Y>
struct stored_swiglu {
  static constexpr index_t flops = swiglu_value::flops;
  HEDDLE_DEVICE_PASS_QUIET
  template <class V>
  HEDDLE_TILE V operator()(V const& gate, V const& up) const {
    return stored_number<Y>(swiglu_value{}(gate, up));
  }
};

/// Columns first, first + 2, ... of a matrix.
template <matrix_view V>
HEDDLE_FN auto every_other_column(V const& v, index_t first) {
  index_t const n = v.extent(1) / 2;
  return view<typename V::element_type, 2, typename V::space>(n == 0 ? v.data() : v.data() + first * v.stride(1),
                                                              dims<2>(v.extent(0), n), v.stride(0), 2 * v.stride(1));
}
}  // namespace linalg::detail

/// Two matrices as one whose columns take turns: w[:, 2 j] = gate[:, j], w[:, 2 j + 1] = up[:, j].
///
/// Shapes: gate, up [rows, n], w [rows, 2 n]; for weights whose rows are outputs, transposed views. Types: any. Pre: w
/// overlaps neither. Sync: submits.
struct interleave_columns_fn {
  template <executor E, matrix_view X, matrix_view W>
  requires writable_view<W> HEDDLE_FN void operator()(E& exec, X const& gate, X const& up, W const& w) const {
    HEDDLE_EXPECTS(gate.extents() == up.extents() && w.extent(0) == gate.extent(0) && w.extent(1) == 2 * gate.extent(1),
                   "interleave_columns: w has the columns of both", gate.extent(0), gate.extent(1), up.extent(0),
                   up.extent(1), w.extent(0), w.extent(1));
    expect_apart("interleave_columns", w, gate, up);
    copy(exec, gate, linalg::detail::every_other_column(w, 0));
    copy(exec, up, linalg::detail::every_other_column(w, 1));
  }
};
inline constexpr interleave_columns_fn interleave_columns{};

/// SwiGLU of one product: y[r, j] = SiLU((x w)[r, 2 j]) (x w)[r, 2 j + 1], without the product in memory.
///
/// Shapes: x [m, k], w [k, 2 n] with gate and up taking turns (`interleave_columns`), y [m, n]; strides free. w may be
/// packed or coded. Types: as matmul with sums in float or double; y of any type that such a product has. Pre: extents
/// agree; y overlaps neither x nor w; `options.beta` is 0. Errors: contract_error.
/// Complexity: 4 m n k flops. Sync: submits. Determinism: the bits of `matmul` into the accumulator's type, then SiLU
/// and the product of both, rounded to y once. Memory: scratch of matmul; where the backend has no form of its own
/// also the product. Source: Shazeer 2020.
struct matmul_swiglu_fn {
  template <executor E, matrix_view X, class W, matrix_view Y>
    requires(writable_view<Y> && (any_view<W> || encoded_matrix<W>))
  HEDDLE_FN void operator()(E& exec, X const& x, W const& w, Y const& y, matmul_options const& options = {}) const {
    static_assert(product_results<typename X::value_type, element<W>, typename Y::value_type> &&
                      std::floating_point<number<X, Y>>,
                  "matmul_swiglu: types as matmul, with sums in float or double");
    HEDDLE_EXPECTS(x.extent(0) == y.extent(0) && x.extent(1) == w.extent(0) && w.extent(1) == 2 * y.extent(1),
                   "matmul_swiglu: x [m, k] times w [k, 2 n] gives y [m, n]", x.extent(0), x.extent(1), w.extent(0),
                   w.extent(1), y.extent(0), y.extent(1));
    HEDDLE_EXPECTS(options.beta == 0, "matmul_swiglu: y is written whole, beta is 0", options.beta);
    expect_apart("matmul_swiglu", y, x, linalg::detail::memory_of(w));
    // What the form submits has the figures.
    observed_span<E> const scope(exec, [&]() -> span {
      return {.operation = "matmul_swiglu", .shape = {y.extent(0), y.extent(1), x.extent(1)}};
    });
    if (y.size() != 0) run_kernel<matmul_swiglu_fn>(exec, x, w, canonical(y), options);
  }

  /// For run_kernel: the product in scratch, then the gates.
  template <class E, class X, class W, class Y>
  static HEDDLE_FN void generic(E& exec, X const& x, W const& w, Y const& y, matmul_options const& options) {
    using T = number<X, Y>;
    scratch_frame<E> frame(exec);
    view<T, 2, typename Y::space> const both(frame.template take<T>(checked_product(y.extent(0), 2 * y.extent(1))),
                                             dims<2>(y.extent(0), 2 * y.extent(1)));
    matmul(exec, x, w, both, options);
    detail::transform_as(exec, "swiglu", y, linalg::detail::stored_swiglu<typename Y::value_type>{},
                         linalg::detail::every_other_column(both, 0), linalg::detail::every_other_column(both, 1));
  }

 private:
  template <class X, class Y>
  using number = product_number_t<typename X::value_type, typename Y::value_type>;
  template <class W>
  struct element_of {
    using type = typename W::operand_type;
  };
  template <any_view W>
  struct element_of<W> {
    using type = typename W::value_type;
  };
  template <class W>
  using element = typename element_of<W>::type;
};
inline constexpr matmul_swiglu_fn matmul_swiglu{};

}  // namespace heddle
