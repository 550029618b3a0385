// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Long lists of cases, of which a sanitizer lane runs a part: there each case is slowed down many times, and the plain
/// lanes run them all.

#include <heddle/config.hpp>
#include <heddle/core/extents.hpp>

#include <cstddef>
#include <initializer_list>
#include <vector>

namespace heddle::test {

/// The step of loops over cases that differ in size or layout alone. An odd one, so that each bit of a case's number
/// takes both values.
#if defined(HEDDLE_ASAN)
inline constexpr int stride = 3;
#else
inline constexpr int stride = 1;
#endif

/// Every `stride`th of n cases from `all`, and the last one.
template <class T>
std::vector<T> sampled(T const* all, std::size_t n) {
  std::vector<T> some;
  for (std::size_t i = 0; i < n; ++i)
    if (i % stride == 0 || i + 1 == n) some.push_back(all[i]);
  return some;
}
template <class T, std::size_t N>
std::vector<T> sampled(T const (&all)[N]) {
  return sampled(all, N);
}
template <class T>
std::vector<T> sampled(std::initializer_list<T> all) {
  return sampled(all.begin(), all.size());
}
inline std::vector<index_t> sampled(std::initializer_list<index_t> all) { return sampled(all.begin(), all.size()); }

}  // namespace heddle::test
