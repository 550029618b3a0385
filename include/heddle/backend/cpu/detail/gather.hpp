// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/tile/vec.hpp>

/// @file
/// Lanes from places that other lanes name.

namespace heddle {
namespace detail {

#if defined(__x86_64__) && defined(__OPTIMIZE__) && !defined(__clang__) && !defined(__CUDACC__)
/// Whether one instruction serves registers of R numbers T with indices I, inside functions for AVX2 and better.
template <class T, class I, int R>
inline constexpr bool has_gather = sizeof(I) == 4 && sizeof(T) * R == 32 && std::is_floating_point_v<T>;

// Lanes whose mask is not set become zero and are not read.
template <class T, int R>
HEDDLE_SHIM void gather_register(T* o, T const* base, std::int32_t const* index, int_bits_t<T> const* mask) {
  using raw = registers::raw<T, R>;
  raw r{}, m = (raw)registers::reg<R>(mask);
  auto const& memory = *reinterpret_cast<T const(*)[1 << 20]>(base);
  if constexpr (sizeof(T) == 4)
    asm("vgatherdps %1, (%2,%3,4), %0" : "+&x"(r), "+&x"(m) : "r"(base), "x"(registers::reg<R>(index)), "m"(memory));
  else
    asm("vgatherdpd %1, (%2,%3,8), %0" : "+&x"(r), "+&x"(m) : "r"(base), "x"(registers::reg<R>(index)), "m"(memory));
  registers::reg<R>(o) = r;
}
#else
template <class T, class I, int R>
inline constexpr bool has_gather = false;
#endif

/// Lane i is base[index[i]] for i < n and zero behind. Pre: n <= V::width.
template <any_vec V, class I>
HEDDLE_SHIM V gather(lane_t<V> const* base, I const* index, std::ptrdiff_t n) {
  using T = lane_t<V>;
  constexpr int R = V::register_lanes;
  V r = V::zero();
  if constexpr (has_gather<T, I, R>) {
    using counts = mask_t<V>;
    using count = lane_t<counts>;
    auto const places = vec<I, V::width, R>::load(index, n);
    counts const mask = counts::iota() < counts::splat(static_cast<count>(n));
    for (int i = 0; i < V::width; i += R) gather_register<T, R>(r.lane + i, base, places.lane + i, mask.lane + i);
  } else {
    for (int i = 0; i < V::width; ++i)
      if (i < n) r.lane[i] = base[index[i]];
  }
  return r;
}

}  // namespace detail
}  // namespace heddle
