// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/detail/search_program.hpp>
#include <heddle/algorithm/merge.hpp>
#include <heddle/tile/run.hpp>

namespace heddle {

namespace detail {

/// How many elements of a sorted vector stand before each query: those less than it, or those not greater.
template <class T, class Q, class I, class Less, bool Upper>
struct bound_program {
  using plain = void;
  static constexpr index_t grain = 1024;

  view<T const, 1> sorted;
  view<Q const, 1> queries;
  view<I, 1> positions;
  Less less;

  template <class Ctx>
  struct shared {};
  HEDDLE_FN span work() const {
    index_t steps = 1;
    while ((index_t{1} << steps) <= sorted.extent(0)) ++steps;
    return {.operation = Upper ? "upper_bound" : "lower_bound",
            .shape = {sorted.extent(0), queries.extent(0)},
            .bytes = element_bytes(sorted, queries, positions),
            .flops = queries.extent(0) * steps};
  }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return tile::ceil_div(queries.extent(0), grain);
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const first = ctx.tile() * grain, left = queries.extent(0) - first;
    ctx.for_each(left < grain ? left : grain, [this, first](index_t q) { find(first + q); });
  }

 private:
  // The length halves whatever the comparison says, so that the step is a selection and no jump.
  HEDDLE_DEVICE_PASS_QUIET
  HEDDLE_HD_FN void find(index_t at) const {
    Q const& query = queries.data()[at * queries.stride(0)];
    index_t low = 0, count = sorted.extent(0);
    while (count > 0) {
      index_t const half = count / 2;
      low = before(sorted.data()[(low + half) * sorted.stride(0)], query) ? low + (count - half) : low;
      count = half;
    }
    positions.data()[at * positions.stride(0)] = static_cast<I>(low);
  }
  HEDDLE_DEVICE_PASS_QUIET
  HEDDLE_TILE bool before(T const& x, Q const& query) const {
    if constexpr (Upper)
      return !less(query, x);
    else
      return less(x, query);
  }
};

template <bool Upper, executor E, class Sorted, class Queries, class Positions, class Less>
HEDDLE_FN void bounds(E& exec, Sorted const& sorted, Queries const& queries, Positions const& positions,
                      Less const& less) {
  using I = typename Positions::value_type;
  using program = bound_program<typename Sorted::value_type, typename Queries::value_type, I, Less, Upper>;
  index_t const n = sorted.extent(0);
  HEDDLE_EXPECTS(queries.extent(0) == positions.extent(0), "one position for each query", queries.extent(0),
                 positions.extent(0));
  char const* const operation = Upper ? "upper_bound" : "lower_bound";
  expect_apart_or_same(operation, positions, queries);
  expect_apart(operation, positions, sorted);
  HEDDLE_EXPECTS(static_cast<index_t>(static_cast<I>(n)) == n, "the type of positions must hold the extent", n);
  if (!queries.empty())
    tile::run(exec, program{canonical_input(sorted), canonical_input(queries), canonical(positions), less});
}

template <class Sorted, class Queries, class Positions, class Less>
concept bound_operands =
    writable_view<Positions> && std::integral<typename Positions::value_type> && std::is_trivially_copyable_v<Less> &&
    std::is_invocable_r_v<bool, Less const&, typename Sorted::value_type const&, typename Queries::value_type const&> &&
    std::is_invocable_r_v<bool, Less const&, typename Queries::value_type const&, typename Sorted::value_type const&>;

template <class V>
HEDDLE_FN void check_found(V const& result) {
  HEDDLE_EXPECTS(result.size() == 1, "a search writes one element", result.size());
}

}  // namespace detail

/// positions[q] = how many elements of a sorted vector are less than queries[q]: where it could be inserted first.
///
/// Shapes: sorted [n], queries and positions [m], strides free. Types: any with `<` or a `less` of both; positions of
/// an integer type that holds n. Pre: sorted is sorted by `less`. Errors: contract_error. Complexity: m log n. Sync:
/// submits. Determinism: exact.
struct lower_bound_fn {
  template <executor E, vector_view Sorted, vector_view Queries, vector_view Positions, class Less = detail::less_fn>
  requires detail::bound_operands<Sorted, Queries, Positions, Less> HEDDLE_FN void operator()(
      E& exec, Sorted const& sorted, Queries const& queries, Positions const& positions, Less const& less = {}) const {
    detail::bounds<false>(exec, sorted, queries, positions, less);
  }
};
/// positions[q] = how many elements are not greater than queries[q]. Otherwise as lower_bound.
struct upper_bound_fn {
  template <executor E, vector_view Sorted, vector_view Queries, vector_view Positions, class Less = detail::less_fn>
  requires detail::bound_operands<Sorted, Queries, Positions, Less> HEDDLE_FN void operator()(
      E& exec, Sorted const& sorted, Queries const& queries, Positions const& positions, Less const& less = {}) const {
    detail::bounds<true>(exec, sorted, queries, positions, less);
  }
};

/// result = the lowest index whose element satisfies the predicate, or -1.
///
/// Shapes: in a vector, stride free; result a view of one element. Types: any elements; a trivially copyable pure
/// predicate that runs where the executor does; result of a signed integer type that holds the extent. Errors:
/// contract_error. Complexity: blocks of 4096 elements, each left at its first hit. Sync: submits; `read` fetches the
/// result. Determinism: exact. Memory: one index per block, of the arena.
struct find_if_fn {
  template <executor E, vector_view In, any_view R, class F>
  requires detail::search_operands<In, R, F> HEDDLE_FN void operator()(E& exec, In const& in, R const& result,
                                                                       F const& f) const {
    detail::check_found(result);
    detail::search(exec, "find_if", in, result, detail::pick_first<F>{f});
  }
};
/// result = the highest such index, or -1. Otherwise as find_if.
struct find_last_if_fn {
  template <executor E, vector_view In, any_view R, class F>
  requires detail::search_operands<In, R, F> HEDDLE_FN void operator()(E& exec, In const& in, R const& result,
                                                                       F const& f) const {
    detail::check_found(result);
    detail::search(exec, "find_last_if", in, result, detail::pick_last<F>{f});
  }
};
/// result = how many elements satisfy the predicate. Otherwise as find_if.
struct count_if_fn {
  template <executor E, vector_view In, any_view R, class F>
  requires detail::search_operands<In, R, F> HEDDLE_FN void operator()(E& exec, In const& in, R const& result,
                                                                       F const& f) const {
    detail::check_found(result);
    detail::search(exec, "count_if", in, result, detail::pick_count<F>{f});
  }
};
/// result = whether any element satisfies the predicate; no element does of an empty vector. Otherwise as find_if, with
/// a result of any integer type or bool.
struct any_of_fn {
  template <executor E, vector_view In, any_view R, class F>
  requires detail::question_operands<In, R, F> HEDDLE_FN void operator()(E& exec, In const& in, R const& result,
                                                                         F const& f) const {
    detail::check_found(result);
    detail::search(exec, "any_of", in, result, detail::pick_any<F, true, true>{f});
  }
};
/// result = whether all elements satisfy the predicate; those of an empty vector do. Otherwise as any_of.
struct all_of_fn {
  template <executor E, vector_view In, any_view R, class F>
  requires detail::question_operands<In, R, F> HEDDLE_FN void operator()(E& exec, In const& in, R const& result,
                                                                         F const& f) const {
    detail::check_found(result);
    detail::search(exec, "all_of", in, result, detail::pick_any<F, false, false>{f});
  }
};
/// result = whether no element satisfies the predicate. Otherwise as any_of.
struct none_of_fn {
  template <executor E, vector_view In, any_view R, class F>
  requires detail::question_operands<In, R, F> HEDDLE_FN void operator()(E& exec, In const& in, R const& result,
                                                                         F const& f) const {
    detail::check_found(result);
    detail::search(exec, "none_of", in, result, detail::pick_any<F, true, false>{f});
  }
};

/// result = the index of the smallest element: the lowest among equals; of floats that of the first NaN if there is
/// one. -1 of an empty vector.
///
/// Shapes: in a vector, stride free; result a view of one element. Types: numbers, or any type with an order `less`;
/// result of a signed integer type that holds the extent. Errors: contract_error. Complexity: n comparisons. Sync:
/// submits; `read` fetches the result. Determinism: exact. Memory: one index per 4096 elements, of the arena. Numerics:
/// -0 equals +0.
struct min_element_fn {
  template <executor E, vector_view In, any_view R>
    requires(scalar<typename In::value_type>&& detail::index_result<R>)
  HEDDLE_FN void operator()(E& exec, In const& in, R const& result) const {
    detail::check_found(result);
    using K = typename In::value_type;
    detail::less_by_key<K> const less{
        detail::key_order<K>({.direction = sort_direction::ascending, .nan = nan_placement::first})};
    detail::search(exec, "min_element", in, result, detail::pick_least<decltype(less)>{less});
  }
  template <executor E, vector_view In, any_view R, class Less>
    requires(detail::index_result<R>&& order_of<Less, typename In::value_type>)
  HEDDLE_FN void operator()(E& exec, In const& in, R const& result, Less const& less) const {
    detail::check_found(result);
    detail::search(exec, "min_element", in, result, detail::pick_least<Less>{less});
  }
};
/// result = the index of the largest element: the lowest among equals. Otherwise as min_element.
struct max_element_fn {
  template <executor E, vector_view In, any_view R>
    requires(scalar<typename In::value_type>&& detail::index_result<R>)
  HEDDLE_FN void operator()(E& exec, In const& in, R const& result) const {
    detail::check_found(result);
    using K = typename In::value_type;
    detail::less_by_key<K> const less{
        detail::key_order<K>({.direction = sort_direction::descending, .nan = nan_placement::first})};
    detail::search(exec, "max_element", in, result, detail::pick_least<decltype(less)>{less});
  }
  template <executor E, vector_view In, any_view R, class Less>
    requires(detail::index_result<R>&& order_of<Less, typename In::value_type>)
  HEDDLE_FN void operator()(E& exec, In const& in, R const& result, Less const& less) const {
    detail::check_found(result);
    detail::greater_by<Less> const greater{less};
    detail::search(exec, "max_element", in, result, detail::pick_least<detail::greater_by<Less>>{greater});
  }
};

inline constexpr lower_bound_fn lower_bound{};
inline constexpr upper_bound_fn upper_bound{};
inline constexpr find_if_fn find_if{};
inline constexpr find_last_if_fn find_last_if{};
inline constexpr count_if_fn count_if{};
inline constexpr any_of_fn any_of{};
inline constexpr all_of_fn all_of{};
inline constexpr none_of_fn none_of{};
inline constexpr min_element_fn min_element{};
inline constexpr max_element_fn max_element{};

}  // namespace heddle
