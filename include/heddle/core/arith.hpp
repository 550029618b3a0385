// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/config.hpp>

#include <concepts>
#include <cstdint>
#include <type_traits>

/// @file
/// Arithmetic of one number whose bits do not depend on flags: a product is either fused into the following sum or
/// kept out of it, by name. tile/vec.hpp gives the same names to vectors, so that one template serves both.

namespace heddle {

/// A built-in number.
template <class T>
concept arithmetic = std::is_arithmetic_v<T>;

/// Neither infinite nor NaN.
template <std::floating_point T>
HEDDLE_HD_FN constexpr bool is_finite(T x) noexcept {
  return x - x == 0;
}

namespace detail {
template <int Bytes>
struct bits_of_size;
template <>
struct bits_of_size<1> {
  using i = std::int8_t;
  using u = std::uint8_t;
};
template <>
struct bits_of_size<2> {
  using i = std::int16_t;
  using u = std::uint16_t;
};
template <>
struct bits_of_size<4> {
  using i = std::int32_t;
  using u = std::uint32_t;
};
template <>
struct bits_of_size<8> {
  using i = std::int64_t;
  using u = std::uint64_t;
};

#if !defined(__CUDA_ARCH__)
// The barrier keeps g++ from contracting the product into a sum that follows; the register class is the target's.
template <class T>
HEDDLE_SHIM T product_barrier(T p) {
#if defined(__x86_64__)
  asm("" : "+x"(p));
#elif defined(__aarch64__)
  asm("" : "+w"(p));
#else
  asm("" : "+m"(p));
#endif
  return p;
}

#if defined(__x86_64__)
HEDDLE_SHIM float hardware_sqrt(float x) {
  typedef float raw __attribute__((vector_size(16)));
  raw r = {x, 0, 0, 0};
  return __builtin_ia32_sqrtss(r)[0];
}
HEDDLE_SHIM double hardware_sqrt(double x) {
  typedef double raw __attribute__((vector_size(16)));
  raw r = {x, 0};
  return __builtin_ia32_sqrtsd(r)[0];
}
#else
HEDDLE_SHIM float hardware_sqrt(float x) { return __builtin_sqrtf(x); }
HEDDLE_SHIM double hardware_sqrt(double x) { return __builtin_sqrt(x); }
#endif
#endif
}  // namespace detail

/// The signed and unsigned integers of the size of T.
template <class T>
using int_bits_t = typename detail::bits_of_size<sizeof(T)>::i;
template <class T>
using uint_bits_t = typename detail::bits_of_size<sizeof(T)>::u;

/// The same bits as another type of the same size.
template <class To, class From>
  requires(arithmetic<To>&& arithmetic<From> && sizeof(To) == sizeof(From))
HEDDLE_TILE constexpr To bit_cast(From const& x) { return __builtin_bit_cast(To, x); }

/// a * b + c, rounded once. Integers wrap.
HEDDLE_TILE float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
HEDDLE_TILE double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
template <std::integral T>
HEDDLE_TILE constexpr T fma(T a, T b, T c) {
  using wide = std::common_type_t<std::make_unsigned_t<T>, unsigned>;  // no promotion to a signed type on the way
  return static_cast<T>(static_cast<wide>(a) * static_cast<wide>(b) + static_cast<wide>(c));
}

/// a * b, rounded, whatever is done with it afterwards. Integers wrap.
HEDDLE_DEVICE_PASS_QUIET
template <std::floating_point T>
HEDDLE_TILE T mul(T a, T b) {
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(T) == 4)
    return __fmul_rn(a, b);
  else
    return __dmul_rn(a, b);
#else
  return detail::product_barrier(static_cast<T>(a * b));
#endif
}
template <std::integral T>
HEDDLE_TILE constexpr T mul(T a, T b) {
  using wide = std::common_type_t<std::make_unsigned_t<T>, unsigned>;
  return static_cast<T>(static_cast<wide>(a) * static_cast<wide>(b));
}

/// a + b. Integers wrap.
template <arithmetic T>
HEDDLE_TILE constexpr T add(T a, T b) {
  if constexpr (std::floating_point<T>) {
    return a + b;
  } else {
    using wide = std::common_type_t<std::make_unsigned_t<T>, unsigned>;
    return static_cast<T>(static_cast<wide>(a) + static_cast<wide>(b));
  }
}

/// a where the condition holds, else b.
template <arithmetic T>
HEDDLE_TILE constexpr T select(bool condition, T a, T b) {
  return condition ? a : b;
}

/// The larger number; NaN if either is NaN, and -0 < +0.
///
/// Both orders of one comparison differ only for zeros and NaN. The sign is then the AND (so +0 wins) and the rest
/// the OR, which keeps a NaN a NaN; nothing depends on the order of the operands.
template <arithmetic T>
HEDDLE_TILE constexpr T max(T a, T b) {
  if constexpr (std::floating_point<T>) {
    using bits = uint_bits_t<T>;
    constexpr bits sign = bits{1} << (sizeof(T) * 8 - 1);
    bits const p = bit_cast<bits>(a > b ? a : b), q = bit_cast<bits>(b > a ? b : a);
    return bit_cast<T>(static_cast<bits>((p | q) & ((p & q) | ~sign)));
  } else {
    return a > b ? a : b;
  }
}

/// The smaller number; NaN if either is NaN, and -0 < +0.
template <arithmetic T>
HEDDLE_TILE constexpr T min(T a, T b) {
  if constexpr (std::floating_point<T>) {
    using bits = uint_bits_t<T>;
    return bit_cast<T>(static_cast<bits>(bit_cast<bits>(a < b ? a : b) | bit_cast<bits>(b < a ? b : a)));
  } else {
    return a < b ? a : b;
  }
}

/// The magnitude: a float loses its sign bit, NaN included; the smallest integer stays.
template <arithmetic T>
HEDDLE_TILE constexpr T abs(T a) {
  if constexpr (std::floating_point<T>) {
    using bits = uint_bits_t<T>;
    return bit_cast<T>(static_cast<bits>(bit_cast<bits>(a) & ~(bits{1} << (sizeof(T) * 8 - 1))));
  } else if constexpr (std::is_signed_v<T>) {
    using wide = std::make_unsigned_t<T>;
    return a < 0 ? static_cast<T>(wide{0} - static_cast<wide>(a)) : a;
  } else {
    return a;
  }
}

/// The square root, correctly rounded; NaN below zero, -0 for -0.
HEDDLE_DEVICE_PASS_QUIET
template <std::floating_point T>
HEDDLE_TILE T sqrt(T a) {
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(T) == 4)
    return __fsqrt_rn(a);
  else
    return __dsqrt_rn(a);
#else
  return detail::hardware_sqrt(a);
#endif
}

/// Shifted by one number of bits, fixed at compile time; right shifts of signed numbers keep the sign.
template <int Count, class T>
requires std::integral<T> HEDDLE_TILE constexpr T shift_left(T a) {
  return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) << Count);
}
template <int Count, class T>
requires std::integral<T> HEDDLE_TILE constexpr T shift_right(T a) { return static_cast<T>(a >> Count); }

/// Whether a condition holds everywhere, or anywhere: the condition itself for one number.
HEDDLE_TILE constexpr bool all(bool condition) { return condition; }
HEDDLE_TILE constexpr bool any(bool condition) { return condition; }

/// Lanes of a value: what a scalar and a vector have in common for templates over both.
template <class V>
struct lanes_of {
  using scalar = V;
  template <class U>
  using rebind = U;
  static constexpr int count = 1;
  static HEDDLE_TILE constexpr V splat(V x) { return x; }
};
template <class V>
using lane_t = typename lanes_of<V>::scalar;
template <class V, class U>
using rebind_lanes = typename lanes_of<V>::template rebind<U>;

/// A value of type V, scalar or vector, with every lane x.
template <class V>
HEDDLE_TILE constexpr V splat(lane_t<V> x) {
  return lanes_of<V>::splat(x);
}

/// Converts every lane by value, as static_cast does; a float must be inside the range of an integer target.
template <arithmetic To, arithmetic From>
HEDDLE_TILE constexpr To convert(From x) {
  return static_cast<To>(x);
}

}  // namespace heddle
