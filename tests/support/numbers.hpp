// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

namespace heddle::test {

/// n floats in [-scale, scale), the same for the same seed on every machine.
inline std::vector<float> random_floats(std::int64_t n, std::uint64_t seed, float scale) {
  std::vector<float> out(static_cast<std::size_t>(n));
  std::uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
  for (float& v : out) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    v = (static_cast<float>(state >> 40) * 0x1p-23f - 1.0f) * scale;
  }
  return out;
}

template <class T>
bool same_bits(std::vector<T> const& a, std::vector<T> const& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

}  // namespace heddle::test
