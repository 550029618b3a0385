// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/linalg/matmul.hpp>
#include <heddle/linalg/row_statistics.hpp>

namespace heddle {

/// A product that also gives statistics of the rows of c, taken from its elements while they are in registers: what a
/// norm or a quantisation of c would read c for (nn/from_statistics.hpp).
///
/// Shapes: a [m, k], b [k, n], c [m, n], each view of `to` [m] or empty. Types: as matmul with sums in float or double;
/// the statistics are of that type. b may be packed or coded. Pre: as matmul; no statistic lies over a, b or c.
/// Post: statistics of what c holds, rounded to its type. Errors: contract_error.
/// Complexity: as matmul, and 2 (sum and squares) or 1 operations for each element and statistic. Sync: submits.
/// Determinism: c has the bits of `matmul`, the statistics those of `compute_row_statistics` of c.
/// Memory: scratch of matmul, and for each statistic m n / 16 numbers with AVX-512 (n / 8, n / 4 in narrower
/// registers).
struct matmul_row_statistics_fn {
  template <executor E, matrix_view A, class B, matrix_view C, vector_view V, class Epilogue = no_epilogue>
    requires(writable_view<V>&& std::floating_point<typename V::value_type>)
  HEDDLE_FN void operator()(E& exec, A const& a, B const& b, C const& c, row_statistics<V> const& to,
                            matmul_options const& options = {}, Epilogue const& epilogue = {}) const {
    static_assert(
        std::is_same_v<typename V::value_type, product_number_t<typename A::value_type, typename C::value_type>>,
        "matmul_row_statistics: statistics have the type of the sums");
    linalg::detail::check_statistics("matmul_row_statistics", c, to);
    linalg::detail::check_epilogue(epilogue, c.extent(0), c.extent(1));
    // The product and the combination have the figures.
    observed_span<E> const scope(exec, [&]() -> span {
      return {.operation = "matmul_row_statistics", .shape = {c.extent(0), c.extent(1), a.extent(1)}};
    });
    run_kernel<matmul_row_statistics_fn>(
        exec, a, b, canonical(c), row_statistics{canonical(to.sum), canonical(to.sum_squares), canonical(to.max_abs)},
        options, epilogue);
  }

  /// For run_kernel: the product, then a pass over c.
  template <class E, class A, class B, class C, class V, class Epilogue>
  static HEDDLE_FN void generic(E& exec, A const& a, B const& b, C const& c, row_statistics<V> const& to,
                                matmul_options const& options, Epilogue const& epilogue) {
    matmul(exec, a, b, c, options, epilogue);
    linalg::detail::submit_statistics(exec,
                                      linalg::detail::elements_as_parts<typename C::value_type>{canonical_input(c)}, to,
                                      c.extent(0), c.extent(1), element_bytes(c));
  }
};
inline constexpr matmul_row_statistics_fn matmul_row_statistics{};

}  // namespace heddle
