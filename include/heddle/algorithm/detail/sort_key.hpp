// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/scalar.hpp>

namespace heddle {

/// Which way a sorted result runs.
enum class sort_direction { ascending, descending };
/// Where NaN stands, whatever the direction. Of top-k: whether NaN comes only after every number, or first.
enum class nan_placement { last, first };

/// How numbers are ordered. -0 equals +0; all NaN are equal.
struct sort_options {
  sort_direction direction = sort_direction::ascending;
  nan_placement nan = nan_placement::last;
};

namespace detail {

/// The largest magnitude that is no NaN, as bits; 0 for integers.
template <scalar T>
HEDDLE_HD_FN constexpr std::uint64_t largest_ordered() noexcept {
  if constexpr (std::floating_point<T>)
    return std::uint64_t{bit_cast<uint_bits_t<T>>(largest<T>())} + 1;
  else if constexpr (storage_float<T>)
    return std::uint64_t{largest<T>().bits} + (is_nan(T::from_bits(largest<T>().bits + 1)) ? 0 : 1);
  else
    return 0;
}

/// Numbers as unsigned keys: x comes before y exactly where key(x) < key(y).
///
/// A float is sign and magnitude. As a two's complement both zeros have one key, and its complement runs the other way.
template <scalar T>
class key_order {
 public:
  using key = std::conditional_t<sizeof(T) <= 4, std::uint32_t, std::uint64_t>;
  static constexpr int bits = 8 * static_cast<int>(sizeof(T));

  HEDDLE_HD_FN constexpr explicit key_order(sort_options const& options) noexcept
      : flip_(std::is_unsigned_v<T> ? key{0} : sign), nan_(options.nan == nan_placement::last ? every : key{0}) {
    if (options.direction == sort_direction::descending) flip_ ^= every;
  }

  HEDDLE_TILE key operator()(T const& x) const { return of_code(code_of(x)); }

  /// The same of the bits of a number, or of many in a vector.
  HEDDLE_DEVICE_PASS_QUIET
  template <class V>
  HEDDLE_TILE V of_code(V const& code) const {
    if constexpr (floating_scalar<T>) {
      V const magnitude = code & static_cast<key>(every >> 1);
      V const negative = splat<V>(key{0}) - shift_right<bits - 1>(code);
      V const ordered = (((magnitude ^ negative) - negative) & every) ^ flip_;
      return select(magnitude > static_cast<key>(largest_ordered<T>()), splat<V>(nan_), ordered);
    } else {
      return code ^ flip_;
    }
  }

 private:
  static constexpr key every = static_cast<key>(~std::uint64_t{0} >> (64 - bits));
  static constexpr key sign = key{1} << (bits - 1);

  static HEDDLE_TILE key code_of(T const& x) {
    if constexpr (storage_float<T>)
      return x.bits;
    else
      return bit_cast<uint_bits_t<T>>(x);
  }

  key flip_, nan_;
};

/// Numbers by their keys.
template <class K>
struct less_by_key {
  key_order<K> order;
  HEDDLE_HD_FN bool operator()(K const& a, K const& b) const { return order(a) < order(b); }
};

}  // namespace detail
}  // namespace heddle
