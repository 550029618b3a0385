// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/arith.hpp>
#include <heddle/core/extents.hpp>

/// @file
/// Bins of equal width over [lo, hi): floor((x - lo) * bins / (hi - lo)). Behind the bins stand three more: below lo,
/// at or above hi, NaN.

namespace heddle {
namespace detail {

__extension__ typedef unsigned __int128 bin_product;

/// The high half of a product of 64 bits.
HEDDLE_HD_FN constexpr std::uint64_t high_product(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::uint64_t>((static_cast<bin_product>(a) * b) >> 64);
}

template <class T>
struct even_bins;

/// Integers: exact in 64 bits where every product fits, else in 128.
template <std::integral T>
struct even_bins<T> {
  T lo, hi;
  index_t bins;
  std::uint64_t width, inverse;  // inverse = floor((2^64 - 1) / width), or 0 where products need 128 bits

  HEDDLE_FN even_bins(T first, T end, index_t count)
      : lo(first),
        hi(end),
        bins(count),
        width(static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(first)),
        inverse(0) {
    if (static_cast<std::uint64_t>(count) <= ~std::uint64_t{0} / width) inverse = ~std::uint64_t{0} / width;
  }

  HEDDLE_HD_FN index_t operator()(T x) const {
    if (x < lo) return bins;
    if (x >= hi) return bins + 1;
    std::uint64_t const offset = static_cast<std::uint64_t>(x) - static_cast<std::uint64_t>(lo);
    std::uint64_t const count = static_cast<std::uint64_t>(bins);
    if (inverse == 0) return static_cast<index_t>(static_cast<bin_product>(offset) * count / width);
    // The estimate is at most two below the quotient.
    std::uint64_t const product = offset * count;
    std::uint64_t bin = high_product(product, inverse), rest = product - bin * width;
    for (; rest >= width; rest -= width) ++bin;
    return static_cast<index_t>(bin);
  }
};

/// Floats, in fp64.
template <std::floating_point T>
struct even_bins<T> {
  T lo, hi;
  index_t bins;

  HEDDLE_FN even_bins(T first, T end, index_t count) : lo(first), hi(end), bins(count) {
    double const width = static_cast<double>(end) - static_cast<double>(first);
    HEDDLE_EXPECTS(is_finite(mul(width, static_cast<double>(count))), "(hi - lo) * bins is finite in fp64", first, end,
                   count);
  }

  HEDDLE_HD_FN index_t operator()(T x) const {
    if (!(x >= lo)) return x < lo ? bins : bins + 2;
    if (x >= hi) return bins + 1;
    double const from = static_cast<double>(lo), width = static_cast<double>(hi) - from;
    double const at = mul(static_cast<double>(x) - from, static_cast<double>(bins)) / width;
    index_t const bin = static_cast<index_t>(at);
    return bin < bins ? bin : bins - 1;
  }
};

}  // namespace detail
}  // namespace heddle
