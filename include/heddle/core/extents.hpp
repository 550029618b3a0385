// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/contracts.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace heddle {

/// Sizes and index products are signed 64-bit everywhere.
using index_t = std::int64_t;

/// Marks an extent that is known only at run time.
inline constexpr index_t dynamic = -1;

/// Whether a * b is at most `most`, told without a product that may wrap. Pre: nothing is negative.
HEDDLE_HD_FN constexpr bool product_fits(index_t a, index_t b, index_t most = 0x7fffffffffffffff) noexcept {
  if (((a | b) >> 31) == 0) return a * b <= most;
  return a == 0 || b <= most / a;
}

/// The product of two sizes. Pre: none is negative and the product has 63 bits at most. Errors: contract_error.
HEDDLE_HD_FN constexpr index_t checked_product(index_t a, index_t b) {
  HEDDLE_EXPECTS(a >= 0 && b >= 0 && product_fits(a, b), "a product of sizes must not be negative or above 2^63 - 1", a,
                 b);
  return a * b;
}

/// A product of sizes for an estimate, and a sum: the largest number where they would wrap. Pre: nothing is negative.
HEDDLE_HD_FN constexpr index_t saturating_product(index_t a, index_t b) noexcept {
  return product_fits(a, b) ? a * b : index_t{0x7fffffffffffffff};
}
HEDDLE_HD_FN constexpr index_t saturating_sum(index_t a, index_t b) noexcept {
  constexpr index_t most = 0x7fffffffffffffff;
  return a <= most - b ? a + b : most;
}

/// The sizes of an index space, each fixed in the type or given at run time.
///
/// Units: elements. Pre: every run-time size is >= 0 and equals the static one where there is one; the product of
/// those that are not 0 has 63 bits at most, so that no row-major stride or number of elements wraps.
/// Memory: one 64-bit number per dimension, static ones included, so that all kinds have one layout.
template <index_t... E>
class extents {
 public:
  static HEDDLE_HD_FN constexpr std::size_t rank() noexcept { return sizeof...(E); }
  static HEDDLE_HD_FN constexpr index_t static_extent(std::size_t i) noexcept {
    constexpr index_t values[] = {E..., 0};
    return values[i];
  }

  HEDDLE_HD_FN constexpr extents() noexcept : size_{(E == dynamic ? 0 : E)..., 1} {}

  /// One size per dimension.
  template <class... I>
    requires(sizeof...(I) == sizeof...(E) && sizeof...(E) > 0 && (std::is_convertible_v<I, index_t> && ...))
  HEDDLE_HD_FN constexpr explicit extents(I... sizes) : size_{static_cast<index_t>(sizes)..., 1} {
    if (!surely_right(static_cast<index_t>(sizes)...)) check(static_cast<index_t>(sizes)...);
  }

  /// From extents of the same rank; fails where a static size differs.
  template <index_t... F>
    requires(sizeof...(F) == sizeof...(E) && ((E == dynamic || F == dynamic || E == F) && ...))
  HEDDLE_HD_FN constexpr explicit(((E != dynamic && F == dynamic) || ...)) extents(extents<F...> const& other)
      : extents() {
    for (std::size_t i = 0; i < rank(); ++i) size_[i] = other[i];
    [&]<std::size_t... I>(std::index_sequence<I...>) { check(other[I]...); }
    (std::make_index_sequence<sizeof...(E)>{});
  }

  HEDDLE_HD_FN constexpr index_t operator[](std::size_t i) const noexcept { return size_[i]; }

  /// Number of elements; 1 for rank 0.
  HEDDLE_HD_FN constexpr index_t size() const noexcept {
    index_t n = 1;
    for (std::size_t i = 0; i < rank(); ++i) n *= size_[i];
    return n;
  }

  template <index_t... F>
  HEDDLE_HD_FN constexpr bool operator==(extents<F...> const& other) const noexcept {
    if (sizeof...(F) != sizeof...(E)) return false;
    for (std::size_t i = 0; i < rank(); ++i)
      if (size_[i] != other[i]) return false;
    return true;
  }

 private:
  // Sizes so small that no product of them can wrap: what nearly every call has, in a few instructions.
  template <class... I>
  static HEDDLE_HD_FN constexpr bool surely_right(I... sizes) noexcept {
    constexpr int bits = 62 / static_cast<int>(sizeof...(E));
    return ((E == dynamic || sizes == E) && ...) && ((sizes | ...) >> bits) == 0;
  }
  // By value: of an object whose address is known nothing stays in registers.
  template <class... I>
  static HEDDLE_HD_FN constexpr void check(I... sizes) {
    index_t const size[] = {sizes..., 1};
    index_t product = 1;
    for (std::size_t i = 0; i < rank(); ++i) {
      HEDDLE_EXPECTS(size[i] >= 0, "an extent must not be negative", i, size[i]);
      HEDDLE_EXPECTS(static_extent(i) == dynamic || size[i] == static_extent(i), "a size must equal the static extent",
                     i, size[i], static_extent(i));
      if (size[i] == 0) continue;
      HEDDLE_EXPECTS(product_fits(product, size[i]), "the product of extents must be below 2^63", i, size[i], product);
      product *= size[i];
    }
  }

  index_t size_[sizeof...(E) + 1];
};

namespace detail {
template <std::size_t, index_t V>
inline constexpr index_t repeat_extent = V;

template <class Sequence>
struct dims_of;
template <std::size_t... I>
struct dims_of<std::index_sequence<I...>> {
  using type = extents<repeat_extent<I, dynamic>...>;
};
}  // namespace detail

/// Run-time extents of a given rank.
template <std::size_t Rank>
using dims = typename detail::dims_of<std::make_index_sequence<Rank>>::type;

}  // namespace heddle
