// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Inputs for numeric tests, and the comparison and digest of their results.

#include <heddle/core/arith.hpp>
#include <heddle/tile/targets.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace heddle::test {

inline std::uint64_t next_random(std::uint64_t& state) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return state ^ (state >> 29);
}

/// Special values first, then bit patterns of all kinds and ordinary numbers by turns.
template <class T>
std::vector<T> mixed_numbers(std::size_t n, std::uint64_t seed) {
  std::vector<T> v;
  if constexpr (std::is_floating_point_v<T>) {
    T const inf = sizeof(T) == 4 ? T(__builtin_inff()) : T(__builtin_inf()), nan = inf - inf;
    T const tiny = bit_cast<T>(uint_bits_t<T>{1});
    for (T x : {T(0), T(1), inf, nan, tiny, T(2), T(0.5), T(1e-38), T(3e38), T(88.5), T(103.9), T(709.5), T(0x1p+23)}) {
      v.push_back(x);
      v.push_back(-x);
    }
  } else {
    for (T x : {T(0), T(1), T(-1), T(uint_bits_t<T>{1} << (sizeof(T) * 8 - 1))}) v.push_back(x);
  }
  while (v.size() < n) {
    std::uint64_t const r = next_random(seed);
    if (std::is_floating_point_v<T> && v.size() % 2 == 0)
      v.push_back(static_cast<T>(static_cast<std::int32_t>(r >> 32)) * T(0x1p-28));
    else
      v.push_back(bit_cast<T>(static_cast<uint_bits_t<T>>(r >> 16)));
  }
  v.resize(n);
  return v;
}

/// The bits of x, with one pattern for every NaN.
template <class T>
std::uint64_t comparable_bits(T x) {
  if (x != x) return ~std::uint64_t{0};
  return bit_cast<uint_bits_t<T>>(x);
}

/// Where two results first differ in bits, or -1.
template <class T>
std::ptrdiff_t first_difference(std::vector<T> const& a, std::vector<T> const& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (i >= b.size() || comparable_bits(a[i]) != comparable_bits(b[i])) return static_cast<std::ptrdiff_t>(i);
  return a.size() == b.size() ? -1 : static_cast<std::ptrdiff_t>(a.size());
}

/// A digest of results: equal digests, equal bits.
template <class T>
std::uint64_t digest(std::vector<T> const& v) {
  std::uint64_t h = 0xCBF29CE484222325u;
  for (T x : v) h = (h ^ comparable_bits(x)) * 0x100000001B3u;
  return h;
}

/// Calls f() with each instruction set of this machine forced, and restores the one in use.
template <class F>
void for_each_isa(F f) {
  isa const before = best_isa();
  for (int i = 0; i <= static_cast<int>(machine_isa()); ++i) {
    force_isa(static_cast<isa>(i));
    f(static_cast<isa>(i));
  }
  force_isa(before);
}

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
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

}  // namespace heddle::test
