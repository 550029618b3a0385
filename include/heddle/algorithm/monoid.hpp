// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/scalar.hpp>

#include <concepts>
#include <type_traits>

namespace heddle {

/// An associative operation with a neutral element, on values of one type: the accumulator of a reduction or scan.
///
/// Valid: `typename M::value_type`, `m.identity()`, `m.combine(left, right)`, `M::commutative`, `M::exact`.
/// Meaning: combine is associative (of floats: up to rounding) and identity changes nothing. `commutative` allows
/// elements to change places, `exact` says that the order leaves no trace. Trivially copyable, callable on the device.
/// A member `lanewise`, true, says that combine takes vectors too (tile/vec.hpp) and is marked HEDDLE_TILE.
/// Models: sum, product, greatest, least, monoid_of.
template <class M>
concept monoid = std::is_trivially_copyable_v<M> && requires(M const& m, typename M::value_type const& v) {
  { m.identity() } -> std::same_as<typename M::value_type>;
  { m.combine(v, v) } -> std::same_as<typename M::value_type>;
  { M::commutative } -> std::convertible_to<bool>;
  { M::exact } -> std::convertible_to<bool>;
};

/// Whether the values of a monoid can be worked on in vectors.
template <class M>
inline constexpr bool is_lanewise = false;
template <class M>
  requires requires { M::lanewise; }
inline constexpr bool is_lanewise<M> = M::lanewise && arithmetic<typename M::value_type>;

/// Addition in T. Integers wrap.
template <arithmetic T>
struct sum {
  using value_type = T;
  static constexpr bool commutative = true, exact = std::integral<T>, lanewise = true;
  HEDDLE_HD_FN constexpr T identity() const { return T(0); }
  HEDDLE_DEVICE_PASS_QUIET
  template <class V>
  HEDDLE_TILE V combine(V const& a, V const& b) const {
    return add(a, b);
  }
};

/// Multiplication in T. Integers wrap.
template <arithmetic T>
struct product {
  using value_type = T;
  static constexpr bool commutative = true, exact = std::integral<T>, lanewise = true;
  HEDDLE_HD_FN constexpr T identity() const { return T(1); }
  HEDDLE_DEVICE_PASS_QUIET
  template <class V>
  HEDDLE_TILE V combine(V const& a, V const& b) const {
    return mul(a, b);
  }
};

namespace detail {
// The end of the range of T on one side: infinite for floats.
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
}  // namespace detail

/// The larger one; NaN if either is NaN, and -0 < +0.
template <arithmetic T>
struct greatest {
  using value_type = T;
  static constexpr bool commutative = true, exact = true, lanewise = true;
  HEDDLE_HD_FN constexpr T identity() const { return detail::range_end<T>(false); }
  HEDDLE_DEVICE_PASS_QUIET
  template <class V>
  HEDDLE_TILE V combine(V const& a, V const& b) const {
    return max(a, b);
  }
};

/// The smaller one; NaN if either is NaN, and -0 < +0.
template <arithmetic T>
struct least {
  using value_type = T;
  static constexpr bool commutative = true, exact = true, lanewise = true;
  HEDDLE_HD_FN constexpr T identity() const { return detail::range_end<T>(true); }
  HEDDLE_DEVICE_PASS_QUIET
  template <class V>
  HEDDLE_TILE V combine(V const& a, V const& b) const {
    return min(a, b);
  }
};

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
