// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Seeded values for tests: the same on every machine and compiler, and independent of the order of use.

#include <heddle/core/tensor_view.hpp>

#include <cstdint>

namespace heddle::test {

/// Number i of the sequence of a seed, all 64 bits.
inline std::uint64_t random_bits(std::uint64_t seed, index_t i) {
  std::uint64_t z = seed * 0xD1342543DE82EF95u + (static_cast<std::uint64_t>(i) + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 32)) * 0xD6E8FEB86659FD93u;
  z = (z ^ (z >> 32)) * 0xD6E8FEB86659FD93u;
  return z ^ (z >> 32);
}

/// In [lo, hi), a multiple of (hi - lo) / 2^24, so that float holds it almost exactly.
inline double random_value(std::uint64_t seed, index_t i, double lo = -1, double hi = 1) {
  return lo + (hi - lo) * (static_cast<double>(random_bits(seed, i) >> 40) / 16777216.0);
}

/// In [0, n). Pre: n >= 1.
inline index_t random_below(std::uint64_t seed, index_t i, index_t n) {
  return static_cast<index_t>((random_bits(seed, i) >> 1) % static_cast<std::uint64_t>(n));
}

template <class T>
void fill_random(T* data, index_t n, std::uint64_t seed, double lo = -1, double hi = 1) {
  for (index_t i = 0; i < n; ++i) data[i] = static_cast<T>(static_cast<float>(random_value(seed, i, lo, hi)));
}

/// Every element of a view, numbered in row-major order whatever its strides.
template <class T, class E, class S>
void fill_random(tensor_view<T, E, S> const& v, std::uint64_t seed, double lo = -1, double hi = 1) {
  for (index_t i = 0; i < v.size(); ++i) {
    index_t rest = i, at = 0;
    for (std::size_t d = E::rank(); d-- > 0;) {
      at += rest % v.extent(d) * v.stride(d);
      rest /= v.extent(d);
    }
    v.data()[at] = static_cast<T>(static_cast<float>(random_value(seed, i, lo, hi)));
  }
}

}  // namespace heddle::test
