// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/detail/select_program.hpp>
#include <heddle/algorithm/detail/top_k_rows.hpp>
#include <heddle/core/overlap.hpp>
#include <heddle/tile/run.hpp>

namespace heddle {

/// Which elements are best.
enum class best { largest, smallest };

/// How top_k orders a row. By default a NaN is taken only where fewer than k numbers are.
struct top_k_options {
  best want = best::largest;
  nan_placement nan = nan_placement::last;
};

/// The k best elements of each row and their indices, best first; of equal ones the lower index.
///
/// Shapes: x [m, n], values and indices [m, k], strides free; k = 0 writes nothing. Types: integers, float, double and
/// the narrow floats; indices of an integer type that holds n - 1. Pre: k <= n; the outputs overlap nothing. Errors:
/// contract_error. Complexity: one pass over a row for k <= 64, else one per byte of an element. Sync: submits.
/// Determinism: exact; the list of k begins that of k + 1. Memory: scratch of k entries for each part of a long row,
/// for k > 64 of twice the outputs. Numerics: -0 equals +0, infinities are ordinary, a NaN never beats a number unless
/// `nan_placement::first` is asked for.
struct top_k_fn {
  template <executor E, matrix_view X, matrix_view Values, matrix_view Indices>
    requires(writable_view<Values>&& writable_view<Indices>&& scalar<typename X::value_type>&& std::same_as<
             typename X::value_type, typename Values::value_type>&& std::integral<typename Indices::value_type>)
  HEDDLE_FN void operator()(E& exec, X const& x, Values const& values, Indices const& indices,
                            top_k_options const& options = {}) const {
    using T = typename X::value_type;
    using I = typename Indices::value_type;
    index_t const m = x.extent(0), n = x.extent(1), k = values.extent(1);
    HEDDLE_EXPECTS(values.extent(0) == m && indices.extent(0) == m && indices.extent(1) == k,
                   "top_k: values and indices are [m, k] for rows [m, n]", m, values.extent(0), indices.extent(0), k,
                   indices.extent(1));
    expect_apart("top_k", values, x, indices);
    expect_apart("top_k", indices, x);
    HEDDLE_EXPECTS(k <= n, "top_k: a row has no more than n best elements", k, n);
    HEDDLE_EXPECTS(n == 0 || static_cast<index_t>(static_cast<I>(n - 1)) == n - 1,
                   "top_k: the index type must hold the last index", n);
    if (m == 0 || k == 0) return;
    sort_options const order{options.want == best::largest ? sort_direction::descending : sort_direction::ascending,
                             options.nan};
    run_kernel<top_k_fn>(exec, detail::top_k_operands<T, I>{canonical_input(x), canonical(values), canonical(indices),
                                                            detail::key_order<T>(order)});
  }

  /// Rows by one worker each, without vectors.
  template <executor E, class T, class I>
  static HEDDLE_FN void generic(E& exec, detail::top_k_operands<T, I> const& all) {
    using list = detail::best_list<typename detail::key_order<T>::key>;
    scratch_frame<E> frame(exec);
    index_t const m = all.x.extent(0), n = all.x.extent(1), parts = parts_of(m, n, exec.concurrency());
    if (all.k() <= list::most && parts == 1) return tile::run(exec, detail::top_k_list_program<T, I>{all});
    if (all.k() <= list::most) {
      using look = detail::top_k_parts_program<T, I, false>;
      auto* const best = frame.template take<detail::top_k_entry<T>>(m * parts * all.k());
      tile::run(exec, look{all, n / parts, parts, best});
      return tile::run(exec, detail::top_k_parts_program<T, I, true>{all, n / parts, parts, best});
    }
    index_t const held = checked_product(m, all.k());
    detail::records<T, I> const first{frame.template take<T>(held), frame.template take<I>(held)};
    detail::records<T, I> const second{frame.template take<T>(held), frame.template take<I>(held)};
    tile::run(exec, detail::top_k_select_program<T, I>{all, first, second});
  }

  /// Into how many parts a row is cut: one, unless rows are fewer than workers can share and long.
  static HEDDLE_FN index_t parts_of(index_t m, index_t n, int workers) {
    constexpr index_t least_part = index_t{1} << 14;
    index_t const wanted = tile::ceil_div(index_t{2} * workers, m), most = n / least_part;
    return workers == 1 || m >= workers || most < 2 ? 1 : wanted < most ? wanted : most;
  }
};

/// result = element k of the sorted vector, without sorting it: k = 0 is the first.
///
/// Shapes: in a vector, adjacent elements; result a view of one element. Types: as sort. Pre: 0 <= k < n. Errors:
/// contract_error. Complexity: one pass per 11 bits of an element, and one over a part. Sync: submits; `read` fetches
/// the result. Determinism: exact: of equal elements (-0 and +0, NaN) the one that a stable sort puts there. Memory:
/// tables that grow with the workers.
struct select_kth_fn {
  template <executor E, vector_view In, any_view R>
    requires(writable_view<R>&& scalar<typename In::value_type>&&
                 std::same_as<typename R::value_type, typename In::value_type>)
  HEDDLE_FN void operator()(E& exec, In const& in, index_t k, R const& result, sort_options const& options = {}) const {
    HEDDLE_EXPECTS(result.size() == 1, "a selection writes one element", result.size());
    HEDDLE_EXPECTS(k >= 0 && k < in.extent(0), "select_kth: k counts from 0 and lies inside the vector", k,
                   in.extent(0));
    expect_apart("select_kth", result, in);
    detail::select_to(exec, canonical_input(in), k, result.data(), options);
  }
};

inline constexpr top_k_fn top_k{};
inline constexpr select_kth_fn select_kth{};

}  // namespace heddle
