// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/extents.hpp>
#include <heddle/core/monoid.hpp>

#include <concepts>
#include <type_traits>

/// @file
/// What reductions over ranks combine with: the named operations of core/monoid.hpp, `mean`, and what users bring; and
/// the type in which each accumulates.

namespace heddle {
struct bf16;
struct fp16;

namespace detail {

/// Storage floats of 16 bits: they accumulate in fp32 and round once.
template <class T>
inline constexpr bool is_half = std::is_same_v<T, bf16> || std::is_same_v<T, fp16>;

template <class T>
struct sum_accumulator {
  using type = T;
};
template <class T>
  requires is_half<T>
struct sum_accumulator<T> {
  using type = float;
};
template <std::integral T>
struct sum_accumulator<T> {
  using type = std::make_unsigned_t<T>;
};
template <>
struct sum_accumulator<bool> {
  using type = void;  // a sum of truth values has no meaning
};

template <class T>
using exact_accumulator_t = std::conditional_t<is_half<T>, float, T>;
}  // namespace detail

/// Sum divided once by the number of terms; integers in 64 bits, toward zero. No monoid: the division comes last.
struct mean {
  template <class T>
  using accumulator =
      std::conditional_t<std::is_integral_v<T>, std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>,
                         detail::exact_accumulator_t<T>>;
  template <class A>
  HEDDLE_HD_FN constexpr A operator()(A a, A b) const noexcept {
    return add(a, b);
  }
  template <class A>
  HEDDLE_HD_FN constexpr A finish(A a, index_t terms) const noexcept {
    return a / static_cast<A>(terms);
  }
};

namespace detail {

// A user's operation: its own `accumulator`, else fp32 for 16-bit floats where it takes fp32, else the element.
template <class Op, class T>
struct reduction_accumulator_of {
  using type = std::conditional_t<is_half<T> && std::is_invocable_r_v<float, Op const&, float, float>, float, T>;
};
template <class Op, class T>
  requires requires { typename Op::template accumulator<T>; }
struct reduction_accumulator_of<Op, T> {
  using type = typename Op::template accumulator<T>;
};
template <monoid Op, class T>
struct reduction_accumulator_of<Op, T> {
  using type = typename Op::value_type;
};
template <class T>
struct reduction_accumulator_of<plus<>, T> : sum_accumulator<T> {};
template <class T>
struct reduction_accumulator_of<multiplies<>, T> : sum_accumulator<T> {};
template <class T>
struct reduction_accumulator_of<minimum<>, T> {
  using type = exact_accumulator_t<T>;
};
template <class T>
struct reduction_accumulator_of<maximum<>, T> {
  using type = exact_accumulator_t<T>;
};

// What is called on accumulators.
template <class Op>
using reduction_operation_t = std::conditional_t<monoid<Op>, combine_with<Op>, Op>;
template <class Op>
HEDDLE_FN reduction_operation_t<Op> reduction_operation(Op const& op) {
  return {op};
}
}  // namespace detail

/// The type in which `Op` combines elements of type T.
template <class Op, class T>
using reduction_accumulator_t = typename detail::reduction_accumulator_of<Op, T>::type;

/// An operation that a reduction of `T` over ranks can use.
///
/// Valid: `op(a, b)` on `reduction_accumulator_t<Op, T>`; optional `op.finish(a, terms)`, `Op::accumulator<T>`. Or a
/// monoid: elements convert to its value type, in which they are combined, and the result converts back.
/// Meaning: associative; need not be commutative: the lower rank is always the left operand. Trivially copyable and
/// acting alike on all ranks, since any rank may run it. It may throw.
/// Models: plus<>, multiplies<>, minimum<>, maximum<> (core/monoid.hpp), mean, monoids, lambdas.
template <class Op, class T>
concept reduction_for = std::is_trivially_copyable_v<Op> && std::is_trivially_copyable_v<T> &&
                        requires(detail::reduction_operation_t<Op> const& op, reduction_accumulator_t<Op, T> const& a) {
                          { op(a, a) } -> std::convertible_to<reduction_accumulator_t<Op, T>>;
                        };

}  // namespace heddle
