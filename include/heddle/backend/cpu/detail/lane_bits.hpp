// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/tile/vec.hpp>

namespace heddle::cpu::detail {

/// One bit for each lane of a mask of 4-byte lanes that is set, the first lane lowest.
template <int W, int R>
HEDDLE_SHIM std::uint64_t lane_bits(vec<std::int32_t, W, R> const& mask) {
  static_assert(W <= 64);
  std::uint64_t bits = 0;
#if defined(__x86_64__) && !defined(__clang__)
  if constexpr (R >= 4) {
    for (int i = 0; i < W; i += R) {
      auto const& part = heddle::detail::registers::reg<R>(mask.lane + i);
      unsigned found = 0;
      if constexpr (R == 16) {
        std::uint16_t k = 0;
        asm("vpmovd2m %1, %0" : "=Yk"(k) : "v"(part));
        found = k;
      } else if constexpr (R == 8) {
        asm("vmovmskps %1, %0" : "=r"(found) : "x"(part));
      } else {
        asm("movmskps %1, %0" : "=r"(found) : "x"(part));
      }
      bits |= std::uint64_t{found} << i;
    }
    return bits;
  }
#endif
  for (int i = 0; i < W; ++i) bits |= std::uint64_t{mask.lane[i] != 0} << i;
  return bits;
}

}  // namespace heddle::cpu::detail
