// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/arith.hpp>
#include <heddle/core/tensor_view.hpp>
#include <heddle/exec/executor.hpp>

/// @file
/// The norm of fp32 elements without any rounding before the end: the same bits for every order, cut and mesh.

namespace heddle::optim {

/// Numbers in an exact sum of squares: digits of 32 bits with room to carry, then a count of non-finite elements.
///
/// The sum is Σ digit[i]·2^(32i - 298). All zero is the empty sum; sums of parts are added number by number, so an
/// integer all_reduce combines ranks. Room for 2^31 parts.
inline constexpr index_t square_sum_numbers = 21;

namespace detail {
inline constexpr int sum_digits = 20;
inline constexpr index_t square_tile = 65536;  // squares of 48 bits that a sum of 64 bits can hold

/// Sums of mantissa squares by exponent; small enough for the stack of a worker.
struct square_bins {
  std::uint64_t bin[4][256];  // four, so that neighbours of equal exponent do not wait for each other
  std::uint64_t bad;

  HEDDLE_HD_FN square_bins() noexcept : bin{}, bad(0) {}

  HEDDLE_HD_FN void add(float x, int lane) noexcept {
    std::uint32_t const u = bit_cast<std::uint32_t>(x), e = (u >> 23) & 255u;
    std::uint64_t const m = (u & 0x7fffffu) | static_cast<std::uint32_t>(e != 0) << 23;
    bin[lane][e] += m * m;
    bad += e == 255;
  }

  /// Adds what was gathered to a sum that other workers add to. x = m·2^(e-150), and 2^-149 for e = 0 as for e = 1.
  HEDDLE_FN void flush(std::uint64_t* sum) noexcept {
    for (int e = 0; e < 255; ++e) {
      int const position = e == 0 ? 0 : 2 * (e - 1), digit = position / 32, shift = position % 32;
      for (int lane = 0; lane < 4; ++lane) {
        std::uint64_t const v = bin[lane][e];
        if (v == 0) continue;
        std::uint64_t const low = v << shift, high = shift == 0 ? 0 : v >> (64 - shift);
        __atomic_add_fetch(&sum[digit], low & 0xffffffffu, __ATOMIC_RELAXED);
        __atomic_add_fetch(&sum[digit + 1], low >> 32, __ATOMIC_RELAXED);
        if (high != 0) __atomic_add_fetch(&sum[digit + 2], high, __ATOMIC_RELAXED);
      }
    }
    if (bad != 0) __atomic_add_fetch(&sum[sum_digits], bad, __ATOMIC_RELAXED);
  }
};

struct square_task {
  float const* x;
  index_t n;
  std::uint64_t* sum;

  HEDDLE_FN void operator()(index_t tile, int) const {
    square_bins bins;
    index_t const lo = tile * square_tile;
    index_t const hi = lo + square_tile < n ? lo + square_tile : n;
    index_t i = lo;
    for (; i + 4 <= hi; i += 4)
      for (int lane = 0; lane < 4; ++lane) bins.add(x[i + lane], lane);
    for (; i < hi; ++i) bins.add(x[i], 0);
    bins.flush(sum);
  }
};

/// The sum rounded once to fp64, to nearest even.
HEDDLE_HD_FN double rounded_sum(std::uint64_t const* sum) noexcept {
  std::uint64_t digit[sum_digits], carry = 0;
  for (int i = 0; i < sum_digits; ++i) {
    std::uint64_t const low = (sum[i] & 0xffffffffu) + (carry & 0xffffffffu);
    carry = (sum[i] >> 32) + (carry >> 32) + (low >> 32);
    digit[i] = low & 0xffffffffu;
  }
  int top = sum_digits - 1;
  while (top > 0 && digit[top] == 0) --top;
  // The leading 64 bits hold all that a double can take; what is below only breaks ties.
  std::uint64_t head = digit[top] << 32 | (top > 0 ? digit[top - 1] : 0);
  if (head == 0) return 0;
  std::uint64_t const below = top > 1 ? digit[top - 2] : 0;
  int const lead = __builtin_clzll(head);
  bool sticky = lead == 0 ? below != 0 : (below << lead & 0xffffffffu) != 0;
  head = lead == 0 ? head : head << lead | below >> (32 - lead);
  for (int i = 0; i < top - 2; ++i) sticky = sticky || digit[i] != 0;
  std::uint64_t mantissa = head >> 11;
  std::uint64_t const rest = (head & 0x7ff) << 1 | (sticky ? 1 : 0);
  mantissa += rest > 0x800 || (rest == 0x800 && (mantissa & 1) != 0);
  // mantissa·2^k; both factors are exact and the product is in range.
  int const k = 32 * (top - 1) - lead + 11 - 298;
  return static_cast<double>(mantissa) * bit_cast<double>(static_cast<std::uint64_t>(k + 1023) << 52);
}

struct norm_task {
  std::uint64_t const* sum;
  double* norm;

  HEDDLE_HD_FN void operator()(index_t, int) const {
    *norm = sum[sum_digits] != 0 ? bit_cast<double>(std::uint64_t{0x7ff0000000000000u}) : sqrt(rounded_sum(sum));
  }
};
}  // namespace detail

/// Adds the squares of x to an exact sum.
///
/// Shapes: x [n], stride one; sum [square_sum_numbers], started at zero by the caller. Types: float.
/// Determinism: exact, so any order, cut and number of threads give the same sum. Sync: submits one piece of work.
struct add_squares_fn {
  template <executor E, class Space>
  HEDDLE_FN void operator()(E& exec, view<float const, 1, Space> x, view<std::uint64_t, 1, Space> sum) const {
    HEDDLE_EXPECTS(x.is_contiguous() && sum.is_contiguous(), "both views have stride one", x.size());
    HEDDLE_EXPECTS(sum.size() == square_sum_numbers, "an exact sum of squares has 21 numbers", sum.size());
    exec.for_each_tile((x.size() + detail::square_tile - 1) / detail::square_tile,
                       detail::square_task{x.data(), x.size(), sum.data()});
  }
};
inline constexpr add_squares_fn add_squares{};

/// Writes the root of a sum of squares: rounded to fp64 once, then its root once; infinity where an element was
/// infinite or NaN.
///
/// Shapes: sum [square_sum_numbers], norm [1]. Sync: submits one task.
struct norm_of_squares_fn {
  template <executor E, class Space>
  HEDDLE_FN void operator()(E& exec, view<std::uint64_t const, 1, Space> sum, view<double, 1, Space> norm) const {
    HEDDLE_EXPECTS(sum.size() == square_sum_numbers && norm.size() == 1, "one norm of an exact sum of 21 numbers",
                   sum.size(), norm.size());
    exec.for_each_tile(1, detail::norm_task{sum.data(), norm.data()});
  }
};
inline constexpr norm_of_squares_fn norm_of_squares{};

}  // namespace heddle::optim
