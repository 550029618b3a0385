// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/bf16.hpp>
#include <heddle/core/fp16.hpp>
#include <heddle/core/fp8.hpp>

/// @file
/// What operations ask about element types.

namespace heddle {

/// A float that is stored narrow and worked on as float.
template <class T>
concept storage_float = requires(T x, std::uint32_t code, float f) {
  x.bits;
  { T::widen(code) } -> std::same_as<float>;
  { T::narrow(f) } -> std::same_as<std::uint32_t>;
};

/// An element of a tensor that arithmetic is done on.
/// Models: float, double, all integers but bool, bf16, fp16, fp8_e4m3, fp8_e5m2.
template <class T>
concept scalar = (arithmetic<T> && !std::is_same_v<T, bool>) || storage_float<T>;

/// float, double or one that is stored narrow.
template <class T>
concept floating_scalar = std::floating_point<T> || storage_float<T>;

namespace detail {
template <scalar T>
struct accumulator_of {
  using type = T;
};
template <storage_float T>
struct accumulator_of<T> {
  using type = float;
};

template <scalar T>
struct scalar_facts {
  static constexpr char const* name = std::is_signed_v<T> ? sizeof(T) == 1   ? "i8"
                                                            : sizeof(T) == 2 ? "i16"
                                                            : sizeof(T) == 4 ? "i32"
                                                                             : "i64"
                                      : sizeof(T) == 1    ? "u8"
                                      : sizeof(T) == 2    ? "u16"
                                      : sizeof(T) == 4    ? "u32"
                                                          : "u64";
  static constexpr int mantissa_bits = 0;
};
template <>
struct scalar_facts<float> {
  static constexpr char const* name = "f32";
  static constexpr int mantissa_bits = 23;
  static constexpr float largest = 3.402823466e38f;
  static constexpr std::uint32_t nan = 0x7FC00000u;
};
template <>
struct scalar_facts<double> {
  static constexpr char const* name = "f64";
  static constexpr int mantissa_bits = 52;
  static constexpr double largest = 1.7976931348623157e308;
  static constexpr std::uint64_t nan = 0x7FF8000000000000u;
};
template <>
struct scalar_facts<bf16> {
  static constexpr char const* name = "bf16";
  static constexpr int mantissa_bits = 7;
  static constexpr bf16 largest = bf16::from_bits(0x7F7F);
  static constexpr std::uint16_t nan = 0x7FC0;
};
template <>
struct scalar_facts<fp16> {
  static constexpr char const* name = "f16";
  static constexpr int mantissa_bits = 10;
  static constexpr fp16 largest = fp16::from_bits(0x7BFF);
  static constexpr std::uint16_t nan = 0x7E00;
};
template <>
struct scalar_facts<fp8_e4m3> {
  static constexpr char const* name = "f8_e4m3";
  static constexpr int mantissa_bits = 3;
  static constexpr fp8_e4m3 largest = fp8_e4m3::from_bits(0x7E);
  static constexpr std::uint8_t nan = 0x7F;
};
template <>
struct scalar_facts<fp8_e5m2> {
  static constexpr char const* name = "f8_e5m2";
  static constexpr int mantissa_bits = 2;
  static constexpr fp8_e5m2 largest = fp8_e5m2::from_bits(0x7B);
  static constexpr std::uint8_t nan = 0x7E;
};
}  // namespace detail

/// What sums of T are made in: float for the narrow floats, else T itself. Integer sums wrap: use `add` and `mul`.
template <scalar T>
using accumulator_t = typename detail::accumulator_of<T>::type;

/// The name of T in messages and files: "f32", "bf16", "i8".
template <scalar T>
HEDDLE_HD_FN constexpr char const* scalar_name() noexcept {
  return detail::scalar_facts<T>::name;
}

/// The largest relative error of one rounding to nearest: half the distance of 1 and the next number.
template <floating_scalar T>
inline constexpr double unit_roundoff = 0.5 /
                                        static_cast<double>(std::uint64_t{1} << detail::scalar_facts<T>::mantissa_bits);

/// The largest finite number.
template <floating_scalar T>
HEDDLE_HD_FN constexpr T largest() noexcept {
  return detail::scalar_facts<T>::largest;
}

/// The one quiet NaN that results of reductions carry, whatever made them NaN.
template <floating_scalar T>
HEDDLE_HD_FN constexpr T canonical_nan() noexcept {
  if constexpr (std::floating_point<T>)
    return bit_cast<T>(detail::scalar_facts<T>::nan);
  else
    return T::from_bits(detail::scalar_facts<T>::nan);
}

/// Whether x is NaN.
template <scalar T>
HEDDLE_TILE constexpr bool is_nan(T x) {
  if constexpr (std::floating_point<T>)
    return x != x;
  else if constexpr (storage_float<T>)
    return float(x) != float(x);
  else
    return false;
}

/// x, with every NaN replaced by the canonical one.
template <scalar T>
HEDDLE_TILE constexpr T with_canonical_nan(T x) {
  if constexpr (floating_scalar<T>)
    return is_nan(x) ? canonical_nan<T>() : x;
  else
    return x;
}

}  // namespace heddle
