// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/extents.hpp>

#include <type_traits>

/// @file
/// The alphabet of placements: how a tensor lies on one axis of a mesh, and which placement its cotangent has.

namespace heddle {

/// How a sharded dimension of N elements is cut over n coordinates. Two shards with different layouts are
/// different types.
namespace layout {
struct balanced {};  ///< floor(N/n) elements, one more on the first N mod n coordinates
struct ceil {};      ///< blocks of ceil(N/n); the tail is short or empty
// Named, so that programs can speak of them, and refused by every cut: see `cuttable_layout`.
struct cyclic {};    ///< element i on coordinate i mod n
struct zigzag {};    ///< 2n balanced chunks, coordinate r holds chunks r and 2n-1-r
}  // namespace layout

/// A layout whose shards are single ranges, which is what box arithmetic needs.
template <class L>
concept cuttable_layout = std::is_same_v<L, layout::balanced> || std::is_same_v<L, layout::ceil>;

/// How the terms of a partial value are combined.
namespace red {
struct sum {};
struct max {};
struct min {};
struct lse {};         ///< (output, log-sum-exp) pairs
struct welford {};     ///< (count, mean, M2)
struct onehot_sum {};  ///< at most one coordinate holds a non-zero: bitwise or
}  // namespace red

/// The same value on every coordinate, computed identically.
struct replicated {};

/// The same value on every coordinate, but each uses it for different work; its cotangent is a sum of terms.
///
/// Elsewhere "varying" may mean values that differ between ranks; here the values are equal and the use differs.
struct varying {};

/// A range of dimension `Dim` on each coordinate; concatenation in axis order gives the whole.
template <std::size_t Dim, class Layout = layout::balanced>
struct shard {
  static constexpr std::size_t dim = Dim;
  using layout = Layout;
};

/// One term on each coordinate; combining all with `Op` gives the value. Legal in flight, never at rest.
template <class Op>
struct partial {
  using op = Op;
};

/// Whole on the home coordinates of a leaf, an empty box elsewhere; the only placement on `pp` at rest.
struct resident {};

namespace detail {
template <class P>
struct dual_of {
  // A static_assert here would fire in overload resolution; an incomplete type keeps `has_dual` a plain test.
};
template <>
struct dual_of<replicated> {
  using type = replicated;
};
template <>
struct dual_of<varying> {
  using type = partial<red::sum>;
};
template <>
struct dual_of<partial<red::sum>> {
  using type = varying;
};
template <>
struct dual_of<resident> {
  using type = resident;
};
template <std::size_t Dim, class Layout>
struct dual_of<shard<Dim, Layout>> {
  using type = shard<Dim, Layout>;
};

template <class P>
inline constexpr bool is_shard = false;
template <std::size_t Dim, class Layout>
inline constexpr bool is_shard<shard<Dim, Layout>> = true;
template <class P>
inline constexpr bool is_partial = false;
template <class Op>
inline constexpr bool is_partial<partial<Op>> = true;
}  // namespace detail

/// One of the five placements.
template <class P>
concept placement = std::is_same_v<P, replicated> || std::is_same_v<P, varying> || std::is_same_v<P, resident> ||
                    detail::is_shard<P> || detail::is_partial<P>;

/// A placement that parameters, optimizer state and checkpoint entries may have.
template <class P>
concept at_rest_placement = std::is_same_v<P, replicated> || std::is_same_v<P, resident> || detail::is_shard<P>;

/// A placement whose cotangent has a placement of the alphabet. partial<max>, <lse>, <welford> have none: their
/// backward pass needs more than the cotangent.
template <class P>
concept has_dual = requires { typename detail::dual_of<P>::type; };

/// The placement of the cotangent of a value placed as P. An involution.
template <has_dual P>
using dual = typename detail::dual_of<P>::type;

static_assert(std::is_same_v<dual<replicated>, replicated> && std::is_same_v<dual<resident>, resident>);
static_assert(std::is_same_v<dual<varying>, partial<red::sum>> && std::is_same_v<dual<dual<varying>>, varying>);
static_assert(std::is_same_v<dual<shard<1, layout::ceil>>, shard<1, layout::ceil>>);

/// The five named axes of every mesh, outermost first.
namespace axis {
struct pp {  ///< pipeline stages
  static constexpr std::size_t position = 0;
};
struct dp {  ///< data parallel
  static constexpr std::size_t position = 1;
};
struct cp {  ///< context parallel
  static constexpr std::size_t position = 2;
};
struct tp {  ///< tensor parallel
  static constexpr std::size_t position = 3;
};
struct ep {  ///< expert parallel
  static constexpr std::size_t position = 4;
};
}  // namespace axis

/// Every mesh has all of them, some of size 1.
inline constexpr std::size_t num_axes = 5;

/// A tag of one of the five axes.
template <class A>
concept mesh_axis = std::is_same_v<A, axis::pp> || std::is_same_v<A, axis::dp> || std::is_same_v<A, axis::cp> ||
                    std::is_same_v<A, axis::tp> || std::is_same_v<A, axis::ep>;

namespace detail {
template <std::size_t I, class... P>
struct placement_at {
  using type = replicated;
};
template <class First, class... Rest>
struct placement_at<0, First, Rest...> {
  using type = First;
};
template <std::size_t I, class First, class... Rest>
  requires(I > 0)
struct placement_at<I, First, Rest...> : placement_at<I - 1, Rest...> {};

template <class... P>
consteval bool one_partial_op() {
  bool same = true;
  auto check = [&]<class A, class B>(A*, B*) {
    if constexpr (is_partial<A> && is_partial<B>) same = same && std::is_same_v<A, B>;
  };
  auto against_all = [&]<class A>(A* a) { (check(a, static_cast<P*>(nullptr)), ...); };
  (against_all(static_cast<P*>(nullptr)), ...);
  return same;
}
}  // namespace detail

/// One placement per mesh axis in the order pp, dp, cp, tp, ep; axes that are not named are replicated.
///
/// Pre: at most five; no two different partial operations (their order would change the value).
template <placement... P>
struct spec {
  static_assert(sizeof...(P) <= num_axes, "a mesh has five axes: pp, dp, cp, tp, ep");
  static_assert(detail::one_partial_op<P...>(),
                "two different partial operations on one tensor: resolve one of them first");

  template <mesh_axis A>
  using on = typename detail::placement_at<A::position, P...>::type;
};

namespace detail {
template <class S>
inline constexpr bool is_spec = false;
template <class... P>
inline constexpr bool is_spec<spec<P...>> = true;

template <class S, template <class> class F>
using map_spec = spec<F<typename S::template on<axis::pp>>, F<typename S::template on<axis::dp>>,
                      F<typename S::template on<axis::cp>>, F<typename S::template on<axis::tp>>,
                      F<typename S::template on<axis::ep>>>;

template <class P>
using shared_in_use = std::conditional_t<std::is_same_v<P, replicated>, varying, P>;
}  // namespace detail

/// A `spec<...>`.
template <class S>
concept placement_spec = detail::is_spec<S>;

/// The placement of a tensor on one axis.
template <placement_spec S, mesh_axis A>
using placement_on = typename S::template on<A>;

/// A placement that a leaf may have at rest: resident on pp, replicated or sharded on the others.
template <class S>
concept at_rest_spec =
    placement_spec<S> && std::is_same_v<placement_on<S, axis::pp>, resident> &&
    at_rest_placement<placement_on<S, axis::dp>> && at_rest_placement<placement_on<S, axis::cp>> &&
    at_rest_placement<placement_on<S, axis::tp>> && at_rest_placement<placement_on<S, axis::ep>> &&
    !std::is_same_v<placement_on<S, axis::dp>, resident> && !std::is_same_v<placement_on<S, axis::cp>, resident> &&
    !std::is_same_v<placement_on<S, axis::tp>, resident> && !std::is_same_v<placement_on<S, axis::ep>, resident>;

/// The placements of the cotangent, axis by axis.
template <placement_spec S>
using dual_spec = detail::map_spec<S, dual>;

/// A leaf while a layer uses it: what is replicated at rest on the axes that cut tokens (dp, cp) is varying in use.
template <at_rest_spec S>
using in_use = spec<placement_on<S, axis::pp>, detail::shared_in_use<placement_on<S, axis::dp>>,
                    detail::shared_in_use<placement_on<S, axis::cp>>, placement_on<S, axis::tp>,
                    placement_on<S, axis::ep>>;

/// The gradient that one rank computes for a leaf: the dual of the leaf in use, partial over dp and cp.
template <at_rest_spec S>
using gradient = dual_spec<in_use<S>>;

}  // namespace heddle
