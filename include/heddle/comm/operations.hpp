// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/arith.hpp>
#include <heddle/core/extents.hpp>

#include <concepts>
#include <type_traits>

/// @file
/// The operations of reductions over ranks, and the type in which each accumulates.

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
struct sum_accumulator<bool>;  // a sum of truth values has no meaning

template <class T>
using exact_accumulator_t = std::conditional_t<is_half<T>, float, T>;
}  // namespace detail

/// Sum. Integers wrap.
struct plus {
  template <class T>
  using accumulator = typename detail::sum_accumulator<T>::type;
  template <class A>
  HEDDLE_HD_FN constexpr A operator()(A a, A b) const noexcept {
    return static_cast<A>(a + b);
  }
};

/// Sum divided once by the number of terms; integers in 64 bits, toward zero.
struct mean {
  template <class T>
  using accumulator =
      std::conditional_t<std::is_integral_v<T>, std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>,
                         detail::exact_accumulator_t<T>>;
  template <class A>
  HEDDLE_HD_FN constexpr A operator()(A a, A b) const noexcept {
    if constexpr (std::is_same_v<A, std::int64_t>)  // wraps, so that no sum is undefined
      return static_cast<A>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
    else
      return a + b;
  }
  template <class A>
  HEDDLE_HD_FN constexpr A finish(A a, index_t terms) const noexcept {
    return a / static_cast<A>(terms);
  }
};

/// Product. Integers wrap.
struct multiplies {
  template <class T>
  using accumulator = typename detail::sum_accumulator<T>::type;
  template <class A>
  HEDDLE_HD_FN A operator()(A a, A b) const noexcept {
    return heddle::mul(a, b);
  }
};

/// The smaller value; NaN wins over numbers, -0 is below +0.
struct minimum {
  template <class T>
  using accumulator = detail::exact_accumulator_t<T>;
  template <class A>
  HEDDLE_HD_FN constexpr A operator()(A a, A b) const noexcept {
    return heddle::min(a, b);
  }
};

/// The larger value; NaN wins over numbers, +0 is above -0.
struct maximum {
  template <class T>
  using accumulator = detail::exact_accumulator_t<T>;
  template <class A>
  HEDDLE_HD_FN constexpr A operator()(A a, A b) const noexcept {
    return heddle::max(a, b);
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
}  // namespace detail

/// The type in which `Op` combines elements of type T.
template <class Op, class T>
using reduction_accumulator_t = typename detail::reduction_accumulator_of<Op, T>::type;

/// An operation that a reduction of `T` over ranks can use.
///
/// Valid: `op(a, b)` on `reduction_accumulator_t<Op, T>`; optional `op.finish(a, terms)`, `Op::accumulator<T>`.
/// Meaning: associative; need not be commutative: the lower rank is always the left operand. Trivially copyable and
/// acting alike on all ranks, since any rank may run it. It may throw.
/// Models: plus, mean, multiplies, minimum, maximum, lambdas.
template <class Op, class T>
concept reduction_for = std::is_trivially_copyable_v<Op> && std::is_trivially_copyable_v<T> &&
                        requires(Op const& op, reduction_accumulator_t<Op, T> const& a) {
                          { op(a, a) } -> std::convertible_to<reduction_accumulator_t<Op, T>>;
                        };

}  // namespace heddle
