// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Loads and stores that convert: part of tile/vec.hpp, never included alone.

#include <heddle/core/scalar.hpp>
#include <heddle/tile/vec.hpp>

namespace heddle {
namespace detail {
// Codes of a narrow float, as many as V has lanes.
template <any_vec V, storage_float S>
using codes_of = vec<decltype(S::bits), V::width, V::register_lanes>;

template <int R>
struct fp16_to_float {
#if defined(__CUDA_ARCH__)
  static HEDDLE_TILE float one(std::uint16_t code) { return fp16::widen(std::uint32_t{code}); }
#else
  template <int>
  static HEDDLE_SHIM void reg(float* o, std::uint16_t const* a) {
    registers::widen_fp16<R>(o, a);
  }
#endif
};
template <int R>
struct float_to_fp16 {
#if defined(__CUDA_ARCH__)
  static HEDDLE_TILE std::uint16_t one(float x) { return static_cast<std::uint16_t>(fp16::narrow(x)); }
#else
  template <int>
  static HEDDLE_SHIM void reg(std::uint16_t* o, float const* a) {
    registers::narrow_fp16<R>(o, a);
  }
#endif
};
#if defined(__CUDA_ARCH__)
template <int R>
inline constexpr bool fp16_by_instruction = false;
#else
template <int R>
inline constexpr bool fp16_by_instruction = registers::has_fp16_conversion<R>;
#endif

template <any_vec V, storage_float S>
HEDDLE_TILE V widened(codes_of<V, S> const& codes) {
  static_assert(std::is_same_v<lane_t<V>, float>, "narrow floats widen to float");
  if constexpr (std::is_same_v<S, fp16> && fp16_by_instruction<V::register_lanes>)
    return apply<fp16_to_float<V::register_lanes>, V>(codes);
  else
    return S::widen(convert<std::uint32_t>(codes));
}
template <storage_float S, any_vec V>
HEDDLE_TILE codes_of<V, S> narrowed(V const& v) {
  static_assert(std::is_same_v<lane_t<V>, float>, "narrow floats are made from float");
  if constexpr (std::is_same_v<S, fp16> && fp16_by_instruction<V::register_lanes>)
    return apply<float_to_fp16<V::register_lanes>, codes_of<V, S>>(v);
  else
    return convert<decltype(S::bits)>(S::narrow(v));
}
}  // namespace detail

/// Lanes read from memory of another type: narrow floats widen exactly, numbers convert by value.
///
/// Types: V a vec or one number; S the lane type, a narrow float (lanes of float), or a number. With n, the first n
/// elements are read and zeros follow. Determinism: the bits of the conversion of each number.
template <class V, class S>
HEDDLE_TILE V load_as(S const* p) {
  if constexpr (!is_vec<V>)
    return static_cast<V>(*p);
  else if constexpr (std::is_same_v<S, lane_t<V>>)
    return V::load(p);
  else if constexpr (storage_float<S>)
    return detail::widened<V, S>(detail::codes_of<V, S>::load(&p->bits));
  else
    return convert<lane_t<V>>(vec<S, V::width, V::register_lanes>::load(p));
}
template <any_vec V, class S>
HEDDLE_TILE V load_as(S const* p, std::ptrdiff_t n) {
  if constexpr (std::is_same_v<S, lane_t<V>>)
    return V::load(p, n);
  else if constexpr (storage_float<S>)
    return detail::widened<V, S>(detail::codes_of<V, S>::load(&p->bits, n));
  else
    return convert<lane_t<V>>(vec<S, V::width, V::register_lanes>::load(p, n));
}

/// Lanes written to memory of another type, rounded once to nearest even; fp8 saturates. With n, the first n only.
template <class S, class V>
HEDDLE_TILE void store_as(S* p, V const& v) {
  if constexpr (!is_vec<V>)
    *p = static_cast<S>(v);
  else if constexpr (std::is_same_v<S, lane_t<V>>)
    v.store(p);
  else if constexpr (storage_float<S>)
    detail::narrowed<S>(v).store(&p->bits);
  else
    convert<S>(v).store(p);
}
template <class S, any_vec V>
HEDDLE_TILE void store_as(S* p, V const& v, std::ptrdiff_t n) {
  if constexpr (std::is_same_v<S, lane_t<V>>)
    v.store(p, n);
  else if constexpr (storage_float<S>)
    detail::narrowed<S>(v).store(&p->bits, n);
  else
    convert<S>(v).store(p, n);
}

/// Every lane rounded to the narrow float S and back; S = float changes nothing.
template <class S, class V>
HEDDLE_TILE V rounded_to(V const& v) {
  if constexpr (storage_float<S>)
    return S::widen(S::narrow(v));
  else
    return v;
}

}  // namespace heddle
