// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Inputs for sorts and searches, and the results that they must have.

#include <heddle/algorithm/detail/sort_key.hpp>
#include <heddle/core/tensor_view.hpp>

#include <support/numbers.hpp>
#include <support/random.hpp>
#include <support/sampled.hpp>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

namespace heddle::test {

template <class T>
view<T const, 1> input(std::vector<T> const& v) {
  return view<T const, 1>(v.data(), dims<1>(static_cast<index_t>(v.size())));
}
template <class T>
view<T, 1> output(std::vector<T>& v) {
  return view<T, 1>(v.data(), dims<1>(static_cast<index_t>(v.size())));
}

/// Shapes of keys that sorts stumble over.
enum class keys { mixed, few, equal, sorted, reversed, one_bit, crowded, low_bits };
inline constexpr keys all_keys[] = {keys::mixed,    keys::few,     keys::equal,   keys::sorted,
                                    keys::reversed, keys::one_bit, keys::crowded, keys::low_bits};

/// Any bits, NaN and infinities among them.
template <class T>
T from_any_bits(std::uint64_t r) {
  T x;
  std::memcpy(&x, &r, sizeof(T));
  return x;
}
template <class T>
T from_number(index_t i) {
  if constexpr (storage_float<T>)
    return T(static_cast<float>(i));
  else
    return static_cast<T>(i);
}

template <class T>
std::vector<T> make_keys(keys kind, index_t n, std::uint64_t seed) {
  std::vector<T> v;
  for (index_t i = 0; i < n; ++i) {
    std::uint64_t const r = random_bits(seed, i);
    switch (kind) {
      case keys::mixed:
        v.push_back(from_any_bits<T>(r));
        break;
      case keys::few:
        v.push_back(from_number<T>(static_cast<index_t>(r >> 40) % 3));
        break;
      case keys::equal:
        v.push_back(from_number<T>(7));
        break;
      case keys::sorted:
        v.push_back(from_number<T>(i * 100 / (n + 1)));
        break;
      case keys::reversed:
        v.push_back(from_number<T>((n - i) * 100 / (n + 1)));
        break;
      case keys::one_bit:
        v.push_back(from_any_bits<T>(r & (std::uint64_t{1} << (8 * sizeof(T) - 1))));
        break;
      // Nearly all in one bucket, and the rest far away.
      case keys::crowded:
        v.push_back(i % 97 == 5 ? from_any_bits<T>(r) : from_number<T>(3));
        break;
      case keys::low_bits:
        v.push_back(from_any_bits<T>(r & 0x77));
        break;
    }
  }
  return v;
}

/// Whether x stands before y, from the definition.
template <class T>
bool comes_before(T x, T y, sort_options const& options) {
  if (is_nan(x) || is_nan(y)) {
    bool const first = options.nan == nan_placement::first;
    return first ? is_nan(x) && !is_nan(y) : !is_nan(x) && is_nan(y);
  }
  if constexpr (storage_float<T>) {
    return comes_before(float(x), float(y), options);
  } else {
    return options.direction == sort_direction::ascending ? x < y : y < x;
  }
}

/// The places of the elements in stable order.
template <class T>
std::vector<std::int64_t> stable_order(std::vector<T> const& v, sort_options const& options) {
  std::vector<std::int64_t> at(v.size());
  std::iota(at.begin(), at.end(), 0);
  std::stable_sort(at.begin(), at.end(), [&](std::int64_t a, std::int64_t b) {
    return comes_before(v[static_cast<std::size_t>(a)], v[static_cast<std::size_t>(b)], options);
  });
  return at;
}
template <class T, class I>
std::vector<T> taken(std::vector<T> const& v, std::vector<I> const& at) {
  std::vector<T> out;
  for (I i : at) out.push_back(v[static_cast<std::size_t>(i)]);
  return out;
}

inline constexpr sort_options up{}, down{sort_direction::descending, nan_placement::last};
inline constexpr sort_options all_orders[] = {
    up, down, {sort_direction::ascending, nan_placement::first}, {sort_direction::descending, nan_placement::first}};

}  // namespace heddle::test
