// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/arith.hpp>

#include <concepts>
#include <type_traits>

/// @file
/// Associative operations with a neutral element: one vocabulary for algorithms, tile programs and collectives.

namespace heddle {

/// An associative operation with a neutral element, on values of one type: the accumulator of a reduction or scan.
///
/// Valid: `typename M::value_type`, `m.identity()`, `m.combine(left, right)`, `M::commutative`, `M::exact`.
/// Meaning: combine is associative (of floats: up to rounding) and identity changes nothing. `commutative` allows
/// elements to change places, `exact` says that the order leaves no trace. Trivially copyable, callable on the device.
/// A member `lanewise`, true, says that combine takes vectors too (tile/vec.hpp) and is marked HEDDLE_TILE.
/// Models: plus<T>, multiplies<T>, minimum<T>, maximum<T>, monoid_of.
template <class M>
concept monoid = std::is_trivially_copyable_v<M> && requires(M const& m, typename M::value_type const& v) {
  { m.identity() } -> std::same_as<typename M::value_type>;
  { m.combine(v, v) } -> std::same_as<typename M::value_type>;
  { M::commutative } -> std::convertible_to<bool>;
  { M::exact } -> std::convertible_to<bool>;
};

/// A monoid on values of type T.
template <class M, class T>
concept monoid_on = monoid<M> && std::same_as<typename M::value_type, T>;

/// Whether the values of a monoid can be worked on in vectors.
template <class M>
inline constexpr bool is_lanewise = false;
template <class M>
  requires requires { M::lanewise; }
inline constexpr bool is_lanewise<M> = M::lanewise && arithmetic<typename M::value_type>;

namespace detail {

/// The end of the range of T on one side: infinite for floats.
template <class T>
HEDDLE_HD_FN constexpr T range_end(bool high) {
  if constexpr (std::floating_point<T>)
    return high ? static_cast<T>(__builtin_inff()) : -static_cast<T>(__builtin_inff());
  else if constexpr (std::is_signed_v<T>)
    return static_cast<T>(high ? static_cast<std::make_unsigned_t<T>>(-1) >> 1
                               : std::make_unsigned_t<T>(1) << (sizeof(T) * 8 - 1));
  else
    return high ? static_cast<T>(-1) : T(0);
}

/// A monoid on T from an operation on any numbers that knows its identity; callable as that operation is.
template <arithmetic T, class Operation>
struct operation_on : Operation {
  using value_type = T;
  static constexpr bool commutative = true, exact = std::integral<T> || Operation::selects, lanewise = true;
  HEDDLE_HD_FN constexpr T identity() const { return Operation::template identity_of<T>(); }
  HEDDLE_DEVICE_PASS_QUIET
  template <class V>
  HEDDLE_TILE constexpr V combine(V const& a, V const& b) const noexcept {
    return (*this)(a, b);
  }
};

/// The combine of a monoid as a callable.
template <class M>
struct combine_with {
  M m;
  HEDDLE_DEVICE_PASS_QUIET
  template <class V>
  HEDDLE_TILE V operator()(V const& a, V const& b) const noexcept(noexcept(m.combine(a, b))) {
    return m.combine(a, b);
  }
};

}  // namespace detail

// The named operations, as in <functional>: plus<T> is a monoid on T, plus<> a callable for two numbers, or vectors of
// numbers, of any one type. Both give the same bits.
template <class T = void>
struct plus;
template <class T = void>
struct multiplies;
template <class T = void>
struct minimum;
template <class T = void>
struct maximum;

/// a + b. Integers wrap.
template <>
struct plus<void> {
  static constexpr bool selects = false;  ///< whether the result is one of the operands
  template <class T>
  HEDDLE_HD_FN static constexpr T identity_of() {
    return T(0);
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class V>
  HEDDLE_TILE constexpr V operator()(V const& a, V const& b) const noexcept {
    return add(a, b);
  }
};

/// a * b, rounded before anything is added to it. Integers wrap.
template <>
struct multiplies<void> {
  static constexpr bool selects = false;
  template <class T>
  HEDDLE_HD_FN static constexpr T identity_of() {
    return T(1);
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class V>
  HEDDLE_TILE constexpr V operator()(V const& a, V const& b) const noexcept {
    return mul(a, b);
  }
};

/// The smaller one; NaN if either is NaN, and -0 < +0.
template <>
struct minimum<void> {
  static constexpr bool selects = true;
  template <class T>
  HEDDLE_HD_FN static constexpr T identity_of() {
    return detail::range_end<T>(true);
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class V>
  HEDDLE_TILE constexpr V operator()(V const& a, V const& b) const noexcept {
    return min(a, b);
  }
};

/// The larger one; NaN if either is NaN, and -0 < +0.
template <>
struct maximum<void> {
  static constexpr bool selects = true;
  template <class T>
  HEDDLE_HD_FN static constexpr T identity_of() {
    return detail::range_end<T>(false);
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class V>
  HEDDLE_TILE constexpr V operator()(V const& a, V const& b) const noexcept {
    return max(a, b);
  }
};

template <class T>
struct plus : detail::operation_on<T, plus<>> {};
template <class T>
struct multiplies : detail::operation_on<T, multiplies<>> {};
template <class T>
struct minimum : detail::operation_on<T, minimum<>> {};
template <class T>
struct maximum : detail::operation_on<T, maximum<>> {};

/// A monoid from its parts: any trivially copyable value and a function of two values.
/// Order is kept unless Commutative says otherwise.
template <class T, class F, bool Commutative = false>
struct monoid_of {
  using value_type = T;
  static constexpr bool commutative = Commutative, exact = false;
  T neutral;
  F function;
  HEDDLE_HD_FN constexpr T identity() const { return neutral; }
  HEDDLE_DEVICE_PASS_QUIET
  HEDDLE_HD_FN constexpr T combine(T const& a, T const& b) const { return function(a, b); }
};
template <class T, class F>
monoid_of(T, F) -> monoid_of<T, F>;

}  // namespace heddle
