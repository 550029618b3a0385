// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/mesh/placement.hpp>

/// @file
/// Which placement an operation's result has on one mesh axis, as type functions. What is not in the table would give
/// a wrong value or a wrong gradient, and does not compile; the message names the step that is missing.

namespace heddle {

/// Why an operation on these placements is refused.
enum class refusal {
  none,
  replicated_beside_others,  ///< a replicated operand meets another placement: cast it to varying first
  partial_twice,             ///< a product of two sums is not the sum of products: resolve one first
  partial_in_nonlinear,      ///< only a linear operation may be applied term by term: resolve first
  partial_beside_whole,      ///< the whole operand would be added once per coordinate: resolve the partial one first
  contraction_not_matched,   ///< the contracted dimension must be sharded alike in both operands
  two_outputs_on_one_axis,   ///< rows and columns can't both lie on one axis: gather one operand
  sharded_beside_whole,      ///< slice the whole operand like the sharded one first
  layouts_differ,            ///< both operands must be cut alike: redistribute one
  not_differentiable,        ///< partial max, min, lse and welford have rules of their own
};

namespace detail {
template <class P>
inline constexpr bool is_r = std::is_same_v<P, replicated>;
template <class P>
inline constexpr bool is_v = std::is_same_v<P, varying>;
template <class P>
inline constexpr bool is_sum = std::is_same_v<P, partial<red::sum>>;
template <class P>
inline constexpr bool is_home = std::is_same_v<P, resident>;
template <class P, std::size_t Dim>
inline constexpr bool is_shard_on = false;
template <std::size_t Dim, class Layout>
inline constexpr bool is_shard_on<shard<Dim, Layout>, Dim> = true;

template <class From, std::size_t Dim>
struct moved_shard {
  using type = From;
};
template <std::size_t Old, class Layout, std::size_t Dim>
struct moved_shard<shard<Old, Layout>, Dim> {
  using type = shard<Dim, Layout>;
};

template <class A, class B>
consteval bool same_layout() {
  if constexpr (is_shard<A> && is_shard<B>)
    return std::is_same_v<typename A::layout, typename B::layout>;
  else
    return false;
}

template <class A, class B>
consteval refusal refuse_matmul() {
  constexpr bool odd = (is_partial<A> && !is_sum<A>) || (is_partial<B> && !is_sum<B>);
  if (odd) return refusal::not_differentiable;
  if ((is_r<A> && is_r<B>) || (is_v<A> && is_v<B>) || (is_home<A> && is_home<B>)) return refusal::none;
  if (is_r<A> || is_r<B> || is_home<A> || is_home<B>) return refusal::replicated_beside_others;
  if (is_sum<A> && is_sum<B>) return refusal::partial_twice;
  if ((is_sum<A> && is_v<B>) || (is_v<A> && is_sum<B>)) return refusal::none;
  if (is_sum<A> || is_sum<B>) return refusal::partial_twice;
  if ((is_shard_on<A, 0> && is_v<B>) || (is_v<A> && is_shard_on<B, 1>)) return refusal::none;
  if (is_shard_on<A, 1> && is_shard_on<B, 0>)
    return same_layout<A, B>() ? refusal::none : refusal::layouts_differ;
  if (is_shard_on<A, 0> && is_shard_on<B, 1>) return refusal::two_outputs_on_one_axis;
  return refusal::contraction_not_matched;
}

template <class A, class B>
consteval refusal refuse_add() {
  if ((is_partial<A> && !is_sum<A>) || (is_partial<B> && !is_sum<B>)) return refusal::not_differentiable;
  if (std::is_same_v<A, B>) return refusal::none;
  if (is_sum<A> || is_sum<B>) return refusal::partial_beside_whole;
  if (is_shard<A> && is_shard<B>) return refusal::layouts_differ;
  if (is_shard<A> || is_shard<B>) return refusal::sharded_beside_whole;
  return refusal::replicated_beside_others;
}

template <class A, class B>
consteval refusal refuse_multiply() {
  if ((is_partial<A> && !is_sum<A>) || (is_partial<B> && !is_sum<B>)) return refusal::not_differentiable;
  if (is_sum<A> && is_sum<B>) return refusal::partial_twice;
  if (std::is_same_v<A, B>) return refusal::none;
  if ((is_sum<A> && is_v<B>) || (is_v<A> && is_sum<B>)) return refusal::none;
  if (is_r<A> || is_r<B> || is_home<A> || is_home<B>) return refusal::replicated_beside_others;
  if (is_sum<A> || is_sum<B>) return refusal::partial_twice;
  if (is_shard<A> && is_shard<B>) return refusal::layouts_differ;
  return refusal::sharded_beside_whole;
}

template <class A>
consteval refusal refuse_nonlinear() {
  if (is_partial<A>) return is_sum<A> ? refusal::partial_in_nonlinear : refusal::not_differentiable;
  return refusal::none;
}

template <refusal Why>
consteval bool legal() {
  static_assert(Why != refusal::replicated_beside_others,
                "a replicated operand meets another placement, so its gradient would miss a reduction: "
                "redistribute<varying> it first (free; all-reduce in the backward pass)");
  static_assert(Why != refusal::partial_twice,
                "a partial sum can't be multiplied by a partial sum or a shard: "
                "redistribute<varying> it first (all-reduce)");
  static_assert(Why != refusal::partial_in_nonlinear,
                "a non-linear operation on a partial sum: "
                "redistribute it first (all-reduce, or reduce-scatter to a shard)");
  static_assert(Why != refusal::partial_beside_whole,
                "a whole operand would be added once per rank to a partial sum: redistribute the partial sum first");
  static_assert(Why != refusal::contraction_not_matched,
                "the contracted dimension must be sharded in both operands or in none: redistribute one");
  static_assert(Why != refusal::two_outputs_on_one_axis,
                "rows and columns of the result would lie on one mesh axis: gather one operand to varying first");
  static_assert(Why != refusal::sharded_beside_whole,
                "a sharded operand meets a whole one: slice the whole one to the same shard first");
  static_assert(Why != refusal::layouts_differ,
                "the operands are cut differently: redistribute one to the other's layout");
  static_assert(Why != refusal::not_differentiable, "this partial operation has no rule here: resolve it first");
  return Why == refusal::none;
}

template <class A, class B>
struct matmul_result {
  using type = std::conditional_t<is_sum<A> || is_sum<B> || (is_shard_on<A, 1> && is_shard_on<B, 0>), partial<red::sum>,
                                  std::conditional_t<is_shard<A>, A, std::conditional_t<is_shard<B>, B, A>>>;
};
template <refusal Why, class Result>
struct result_if_legal {
  static_assert(legal<Why>());
  using type = Result;
};
}  // namespace detail

/// Why C[m,n] = A[m,k]·B[k,n] on placements A and B is refused, or refusal::none.
template <placement A, placement B>
inline constexpr refusal matmul_refusal = detail::refuse_matmul<A, B>();
/// The placement of C on one axis. Does not compile where the product is refused.
template <placement A, placement B>
using matmul_placement =
    typename detail::result_if_legal<matmul_refusal<A, B>, typename detail::matmul_result<A, B>::type>::type;

/// The same for a + b, element by element.
template <placement A, placement B>
inline constexpr refusal add_refusal = detail::refuse_add<A, B>();
template <placement A, placement B>
using add_placement = typename detail::result_if_legal<add_refusal<A, B>, A>::type;

/// The same for a·b, element by element.
template <placement A, placement B>
inline constexpr refusal multiply_refusal = detail::refuse_multiply<A, B>();
template <placement A, placement B>
using multiply_placement =
    typename detail::result_if_legal<multiply_refusal<A, B>, std::conditional_t<detail::is_sum<B>, B, A>>::type;

/// The same for a non-linear function of each element.
template <placement A>
inline constexpr refusal nonlinear_refusal = detail::refuse_nonlinear<A>();
template <placement A>
using nonlinear_placement = typename detail::result_if_legal<nonlinear_refusal<A>, A>::type;

/// The placement after swapping the two dimensions of a matrix.
template <placement A>
using transposed = typename detail::moved_shard<A, detail::is_shard_on<A, 0> ? 1 : 0>::type;

namespace detail {
template <class A, class B, class Axis>
using matmul_on = matmul_placement<placement_on<A, Axis>, placement_on<B, Axis>>;
}  // namespace detail

/// The placements of a product, axis by axis.
template <placement_spec A, placement_spec B>
using matmul_spec = spec<detail::matmul_on<A, B, axis::pp>, detail::matmul_on<A, B, axis::dp>,
                         detail::matmul_on<A, B, axis::cp>, detail::matmul_on<A, B, axis::tp>,
                         detail::matmul_on<A, B, axis::ep>>;

}  // namespace heddle
