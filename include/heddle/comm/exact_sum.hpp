// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/comm/detail/exact_block.hpp>
#include <heddle/comm/reductions.hpp>
#include <heddle/core/arith.hpp>

/// @file
/// Sums of squares of fp32 values that do not depend on any order: the sum is exact, an integer in units of 2^-298,
/// and is rounded once at the end. For the global norm of gradients, whose parts lie differently on every mesh.

namespace heddle {

/// A sum of squares as 20 digits of 32 bits in 64-bit words, lowest first, and how many terms were infinite or NaN.
///
/// Types: a view of `exact_sum_words` elements of uint64 holds one; all zero is the sum of nothing, and adding the
/// words of two sums adds the sums, so that `all_reduce` with `plus` is exact. Numerics: the square of an fp32 value
/// is below 2^256, so 640 bits hold 2^64 terms. Pre: at most 2^32 sums are added between two calls that normalise
/// (`exact_sum_add`, `exact_sum_round`).
inline constexpr index_t exact_sum_digits = 20;
inline constexpr index_t exact_sum_words = exact_sum_digits + 2;

namespace detail {

inline constexpr int exact_sum_lowest = -298;  // the exponent of the unit: the square of the least subnormal
inline constexpr index_t exact_sum_infinite = exact_sum_digits, exact_sum_nan = exact_sum_digits + 1;

/// 128 bits, which neither language standard nor `-Wpedantic` knows.
__extension__ typedef unsigned __int128 exact_sum_wide;

/// Adds x * x; each digit grows by less than 2^32.
HEDDLE_FN void exact_add_square(std::uint64_t* words, float x) noexcept {
  std::uint32_t const bits = __builtin_bit_cast(std::uint32_t, x);
  std::uint32_t const exponent = bits >> 23 & 0xFF, fraction = bits & 0x7FFFFF;
  if (exponent == 0xFF) {
    ++words[fraction ? exact_sum_nan : exact_sum_infinite];
    return;
  }
  // x = m 2^(e - 149) with e >= 0, so the square is m^2 2^(2e) units.
  std::uint64_t const m = exponent ? fraction | 0x800000u : fraction;
  int const shift = 2 * static_cast<int>(exponent ? exponent - 1 : 0);
  exact_sum_wide const square = static_cast<exact_sum_wide>(m * m) << (shift % 32);
  std::uint64_t* const at = words + shift / 32;
  at[0] += static_cast<std::uint32_t>(square);
  at[1] += static_cast<std::uint32_t>(square >> 32);
  at[2] += static_cast<std::uint32_t>(square >> 64);
}

/// Carries, so that every digit is below 2^32 again.
HEDDLE_FN void exact_normalise(std::uint64_t* words) noexcept {
  std::uint64_t carry = 0;
  for (index_t i = 0; i < exact_sum_digits; ++i) {
    // A digit may be close to 2^64, so the carry is added to its halves.
    std::uint64_t const low = (words[i] & 0xFFFFFFFFu) + (carry & 0xFFFFFFFFu);
    carry = (words[i] >> 32) + (carry >> 32) + (low >> 32);
    words[i] = low & 0xFFFFFFFFu;
  }
}

/// Adds a block that was summed in doubles. Its parts may be negative, their sum is not.
HEDDLE_FN void exact_add_block(std::uint64_t* words, exact_block const& b) noexcept {
  __extension__ typedef __int128 signed_wide;
  std::int64_t digits[exact_sum_digits] = {};
  for (int j = 0; j < exact_block::anchors; ++j) {
    std::int64_t part = b.part[j];
    int at = b.unit[j] - exact_sum_lowest;
    if (part == 0) continue;
    if (at < 0) part >>= -at, at = 0;  // a sum of squares is a multiple of the unit: only zeros are dropped
    signed_wide const shifted = part * (static_cast<signed_wide>(1) << (at % 32));
    std::int64_t* const to = digits + at / 32;
    to[0] += static_cast<std::uint32_t>(shifted);
    to[1] += static_cast<std::uint32_t>(shifted >> 32);
    to[2] += static_cast<std::int64_t>(shifted >> 64);
  }
  std::int64_t carry = 0;
  for (index_t i = 0; i < exact_sum_digits; ++i) {
    std::int64_t const digit = digits[i] + carry;
    carry = digit >> 32;
    words[i] += static_cast<std::uint32_t>(digit);
  }
}

/// In blocks of doubles; what they can't hold, and the end of x, one by one.
HEDDLE_FN void exact_add_squares(std::uint64_t* words, float const* x, index_t n) noexcept {
  constexpr index_t step = exact_block_body::wide;
  exact_block sum;
  sum.peak = exact_block::unknown;
  for (index_t at = 0; at < n; at += exact_block::room) {
    float const* const from = x + at;
    index_t const size = n - at < exact_block::room ? n - at : exact_block::room;
    index_t done = size / step * step;
    sum.exact = false;
    for (int attempt = 0; attempt < 2 && done > 0 && !sum.exact; ++attempt) {
      if (attempt == 1) sum.peak = exact_block::unknown;
      dispatch_isa(exact_block_body{}, from, done, &sum);
    }
    if (sum.exact)
      exact_add_block(words, sum);
    else
      done = 0;
    for (index_t i = done; i < size; ++i) exact_add_square(words, from[i]);
    exact_normalise(words);
  }
}

/// The nearest number of type T, ties to even. Pre: normalised.
template <class T>
HEDDLE_FN T exact_round(std::uint64_t const* words) noexcept {
  constexpr int precision = sizeof(T) == 4 ? 24 : 53, least = sizeof(T) == 4 ? -149 : -1074;
  constexpr int past_largest = sizeof(T) == 4 ? 128 : 1024;
  if (words[exact_sum_nan]) return static_cast<T>(__builtin_nan(""));
  if (words[exact_sum_infinite]) return static_cast<T>(__builtin_inf());
  index_t top = exact_sum_digits - 1;
  while (top > 0 && words[top] == 0) --top;
  // 96 bits from the top digit hold at least 65 significant ones; what lies below only breaks ties.
  exact_sum_wide head = words[top];
  for (index_t i = 1; i <= 2; ++i) head = head << 32 | (top >= i ? words[top - i] : 0);
  int const unit = static_cast<int>(32 * (top - 2)) + exact_sum_lowest;
  bool below = false;
  for (index_t i = 0; i + 2 < top; ++i) below = below || words[i] != 0;
  int drop = 0;
  while (head >> drop >> precision != 0) ++drop;
  if (drop + unit < least) drop = least - unit;  // the result is subnormal: fewer digits are kept
  if (drop > 96) return T{0};                    // below half of the least subnormal
  std::uint64_t kept = static_cast<std::uint64_t>(head >> drop);
  if (drop > 0) {
    exact_sum_wide const half = static_cast<exact_sum_wide>(1) << (drop - 1);
    exact_sum_wide const rest = head & ((half << 1) - 1);
    if (rest > half || (rest == half && (below || (kept & 1)))) ++kept;
  }
  if (kept != 0 && 63 - __builtin_clzll(kept) + drop + unit >= past_largest) return static_cast<T>(__builtin_inf());
  // Both factors and the product are exact: the exponent of a sum of squares is far inside the range of double.
  double const scale = __builtin_bit_cast(double, static_cast<std::uint64_t>(1023 + drop + unit) << 52);
  return static_cast<T>(static_cast<double>(kept) * scale);
}
}  // namespace detail

/// Adds the squares of x to an exact sum. Shapes: x [n] contiguous; sum [exact_sum_words] contiguous.
/// Determinism: exact; the words do not depend on the order or the number of workers. Numerics: no rounding.
/// Memory: concurrency() * exact_sum_words * 8 bytes of scratch.
struct exact_sum_add_fn {
  template <executor E, any_view X, writable_view S>
  HEDDLE_FN void operator()(E& exec, X const& x, S const& sum) const {
    static_assert(std::is_same_v<typename X::value_type, float>, "squares of fp32 values are summed");
    static_assert(std::is_same_v<typename S::value_type, std::uint64_t>, "the sum is a view of uint64");
    HEDDLE_EXPECTS(x.is_contiguous() && sum.is_contiguous(), "views must be contiguous");
    HEDDLE_EXPECTS(sum.size() == exact_sum_words, "a sum has a fixed number of words", sum.size(), exact_sum_words);
    int const workers = exec.concurrency();
    constexpr index_t tile = 65536;
    observed_span<E> const scope(exec, [&] {
      return span{.operation = "exact_sum_add",
                  .shape = {x.size()},
                  .bytes = element_bytes(x, sum, sum),
                  .flops = 2 * x.size()};
    });
    scratch_frame<E> frame(exec);
    std::uint64_t* const partial = frame.template take<std::uint64_t>(workers * exact_sum_words);
    std::uint64_t* const to = sum.data();
    float const* const from = x.data();
    index_t const n = x.size();
    exec.for_each_tile(1, [partial, workers](index_t, int) {
      for (index_t i = 0; i < workers * exact_sum_words; ++i) partial[i] = 0;
    });
    exec.for_each_tile((n + tile - 1) / tile, [=](index_t t, int worker) {
      index_t const at = t * tile;
      detail::exact_add_squares(partial + worker * exact_sum_words, from + at, n - at < tile ? n - at : tile);
    });
    exec.for_each_tile(1, [=](index_t, int) {
      for (int w = 0; w < workers; ++w)
        for (index_t i = 0; i < exact_sum_words; ++i) to[i] += partial[w * exact_sum_words + i];
      detail::exact_normalise(to);
    });
  }
};
inline constexpr exact_sum_add_fn exact_sum_add{};

/// Writes the value of an exact sum, rounded once to nearest even. Shapes: out has one element, double or float.
/// Numerics: NaN where a term was NaN, else infinity where one was infinite or the sum overflows.
struct exact_sum_round_fn {
  template <executor E, any_view S, writable_view Out>
  HEDDLE_FN void operator()(E& exec, S const& sum, Out const& out) const {
    using T = typename Out::value_type;
    static_assert(std::is_same_v<T, double> || std::is_same_v<T, float>, "the result is a double or a float");
    HEDDLE_EXPECTS(sum.size() == exact_sum_words && out.size() == 1, "one sum, one result", sum.size(), out.size());
    std::uint64_t const* const from = sum.data();
    T* const to = out.data();
    observed_span<E> const scope(
        exec, [&] { return span{.operation = "exact_sum_round", .bytes = element_bytes(sum, out)}; });
    exec.for_each_tile(1, [from, to](index_t, int) {
      std::uint64_t words[exact_sum_words];
      for (index_t i = 0; i < exact_sum_words; ++i) words[i] = from[i];
      detail::exact_normalise(words);
      *to = detail::exact_round<T>(words);
    });
  }
};
inline constexpr exact_sum_round_fn exact_sum_round{};

}  // namespace heddle
