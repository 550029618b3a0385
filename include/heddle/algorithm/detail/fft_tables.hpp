// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/detail/fft_butterfly.hpp>
#include <heddle/core/extents.hpp>
#include <heddle/core/math_trigonometric.hpp>
#include <heddle/exec/memory.hpp>

/// @file
/// How n points are taken apart, and the roots of unity for it.
///
/// n = n1 n2: transforms of n1 points over the columns of an n1 x n2 matrix, one product per element, transforms of n2
/// points over its rows. Each of them is a line of passes: a pass takes length m of what is left into r parts,
///   y[q + s (r p + k)] = W(m r)^(p k) sum over i of x[q + s (p + m i)] W(r)^(i k),   p < m, q < s,
/// with s the product of the radices before. Its results are in order, so nothing is permuted.

namespace heddle {
namespace detail {

struct fft_root {
  double re, im;
};
/// exp(-2 pi i k / n), from angles up to pi / 4. Pre: 0 <= k < n.
HEDDLE_FN fft_root fft_root_of(index_t k, index_t n) {
  index_t const quarters = 4 * k / n, rest = 4 * k % n;
  bool const upper = 2 * rest > n;
  double sine, cosine;
  sincos(mul(1.5707963267948966, static_cast<double>(upper ? n - rest : rest)) / static_cast<double>(n), sine, cosine);
  double const c = upper ? sine : cosine, s = upper ? cosine : sine;
  switch (quarters) {
    case 0:
      return {c, -s};
    case 1:
      return {-s, -c};
    case 2:
      return {-c, s};
    default:
      return {s, c};
  }
}

/// Transforms of `length` points in passes. The table of each pass: for odd radices above 5 the roots of the radix, in
/// pairs; then the factors W^(p k) for k = 1 ... r - 1, p after p, as (re, im, -im); none where m = 1.
template <class T>
struct fft_line {
  index_t length;
  int passes;
  std::uint8_t radix[32];
  T const* table;

  HEDDLE_FN fft_line() noexcept : length(1), passes(0), radix{}, table(nullptr) {}
};

/// One pass of a line.
template <class T>
struct fft_pass {
  int radix;
  index_t m, s;
  T const *roots, *factors;
};
HEDDLE_HD_FN constexpr bool fft_needs_roots(int radix) { return radix > 5 && radix % 2 == 1; }
HEDDLE_HD_FN constexpr index_t fft_factor_count(int radix, index_t m) { return m > 1 ? 3 * m * (radix - 1) : 0; }

/// Calls f(number, pass) for every pass.
template <class T, class F>
HEDDLE_TILE void fft_each_pass(fft_line<T> const& line, F const& f) {
  index_t left = line.length, s = 1;
  T const* at = line.table;
  for (int i = 0; i < line.passes; ++i) {
    int const r = line.radix[i];
    left /= r;
    T const* const factors = at + (fft_needs_roots(r) ? 2 * r : 0);
    f(i, fft_pass<T>{r, left, s, at, factors});
    at = factors + fft_factor_count(r, left);
    s *= r;
  }
}

template <class T>
struct fft_tables {
  static constexpr index_t group = 64 / static_cast<int>(sizeof(T));  ///< columns that share a factor

  index_t n, n1, n2;
  fft_line<T> first, second;  ///< over n1 and over n2; the second has no passes where n2 = 1
  /// The factor of (k1, column) is lane[k1][column mod group] times shared[column / group][k1]: `group` real parts,
  /// then as many imaginary ones; and (re, im, -im).
  T const *lane, *shared;

  /// Where n has a prime factor above 31: a convolution by transforms of inner->n points. chirp(j) = exp(-pi i j^2 /
  /// n); spectrum is the transform of its conjugate, over inner->n. In pairs.
  fft_tables const* inner;
  T const *chirp, *spectrum;

  HEDDLE_FN fft_tables() noexcept
      : n(1), n1(1), n2(1), lane(nullptr), shared(nullptr), inner(nullptr), chirp(nullptr), spectrum(nullptr) {}
};

HEDDLE_FN bool fft_has_small_factors(index_t n) {
  for (index_t p = 2; p <= fft_largest_radix; ++p)
    while (n % p == 0) n /= p;
  return n == 1;
}

template <class T>
HEDDLE_FN fft_line<T> fft_make_line(index_t n) {
  fft_line<T> line;
  line.length = n;
  int twos = 0;
  for (; n % 2 == 0; n /= 2) ++twos;
  auto const add = [&](int r) { line.radix[line.passes++] = static_cast<std::uint8_t>(r); };
  for (int p = 3; p <= fft_largest_radix; p += 2)
    for (; n % p == 0; n /= p) add(p);
  for (; twos > 4 || twos == 3; twos -= 3) add(8);
  for (; twos >= 2; twos -= 2) add(4);
  if (twos == 1) add(2);
  if (line.length == 1) add(1);
  return line;
}

template <class T>
HEDDLE_FN void fft_put(T* at, fft_root const& w) {
  at[0] = static_cast<T>(w.re), at[1] = static_cast<T>(w.im), at[2] = static_cast<T>(-w.im);
}

/// Fills the table of a line, or only counts where `at` is null. Returns the numbers used.
template <class T>
HEDDLE_FN index_t fft_fill_line(fft_line<T>& line, T* at) {
  line.table = at;
  index_t used = 0, left = line.length;
  for (int i = 0; i < line.passes; ++i) {
    int const r = line.radix[i];
    index_t const whole = left;
    left /= r;
    if (fft_needs_roots(r)) {
      for (int j = 0; at && j < r; ++j) {
        fft_root const w = fft_root_of(j, r);
        at[used + 2 * j] = static_cast<T>(w.re), at[used + 2 * j + 1] = static_cast<T>(w.im);
      }
      used += 2 * r;
    }
    if (left == 1) continue;
    for (index_t p = 0; at && p < left; ++p)
      for (int k = 1; k < r; ++k) fft_put(at + used + 3 * (p * (r - 1) + k - 1), fft_root_of(p * k, whole));
    used += fft_factor_count(r, left);
  }
  return used;
}

/// The same for all tables of n points, whose prime factors are at most 31.
template <class T>
HEDDLE_FN index_t fft_fill_tables(fft_tables<T>& t, T* memory) {
  constexpr index_t group = fft_tables<T>::group, most_alone = 64;
  index_t d = 1;
  if (t.n > most_alone) {
    while ((d + 1) * (d + 1) <= t.n) ++d;
    while (t.n % d != 0) --d;
  }
  t.n1 = d > 1 ? d : t.n;
  t.n2 = t.n / t.n1;
  t.first = fft_make_line<T>(t.n1);
  if (t.n2 > 1) t.second = fft_make_line<T>(t.n2);
  index_t used = 0;
  auto const place = [&](index_t count) {
    T* const at = memory ? memory + used : nullptr;
    used += (count + group - 1) / group * group;
    return at;
  };
  fft_line<T> probe = t.first;
  fft_fill_line(t.first, place(fft_fill_line<T>(probe, nullptr)));
  if (t.n2 == 1) return used;
  probe = t.second;
  fft_fill_line(t.second, place(fft_fill_line<T>(probe, nullptr)));
  index_t const groups = (t.n2 + group - 1) / group;
  T* const lane = place(2 * group * t.n1);
  T* const shared = place(3 * groups * t.n1);
  t.lane = lane, t.shared = shared;
  if (!memory) return used;
  for (index_t k = 0; k < t.n1; ++k) {
    for (index_t c = 0; c < group; ++c) {
      fft_root const w = fft_root_of(c * k % t.n, t.n);
      lane[2 * group * k + c] = static_cast<T>(w.re), lane[2 * group * k + group + c] = static_cast<T>(w.im);
    }
    for (index_t g = 0; g < groups; ++g) fft_put(shared + 3 * (g * t.n1 + k), fft_root_of(g * group * k % t.n, t.n));
  }
  return used;
}

/// The transform of m = 2^a numbers in double, in place; for tables only.
HEDDLE_FN void fft_in_double(fft_root* x, index_t m) {
  for (index_t i = 1, j = 0; i < m; ++i) {
    index_t bit = m >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(x[i], x[j]);
  }
  for (index_t half = 1; half < m; half *= 2)
    for (index_t k = 0; k < half; ++k) {
      fft_root const w = fft_root_of(k, 2 * half);
      for (index_t i = k; i < m; i += 2 * half) {
        fft_root &a = x[i], &b = x[i + half];
        double const re = fma(b.re, w.re, -mul(b.im, w.im)), im = fma(b.re, w.im, mul(b.im, w.re));
        b.re = a.re - re, b.im = a.im - im;
        a.re += re, a.im += im;
      }
    }
}

/// The tables of a transform by convolution, or only their size where `at` is null.
template <class T>
HEDDLE_FN index_t fft_fill_chirp(fft_tables<T>& t, T* at, host_space& space) {
  index_t const n = t.n, m = t.inner->n;
  if (!at) return 2 * (n + m);
  t.chirp = at, t.spectrum = at + 2 * n;
  std::size_t const bytes = static_cast<std::size_t>(m) * sizeof(fft_root);
  auto* const x = static_cast<fft_root*>(space.allocate_now(bytes, 64));
  for (index_t j = 0; j < m; ++j) x[j] = {0, 0};
  // j^2 mod 2 n, step by step: it grows by 2 j + 1.
  for (index_t j = 0, square = 0; j < n; square = (square + 2 * j + 1) % (2 * n), ++j) {
    fft_root const w = fft_root_of(square, 2 * n);
    at[2 * j] = static_cast<T>(w.re), at[2 * j + 1] = static_cast<T>(w.im);
    x[j] = {w.re, -w.im};
    if (j > 0) x[m - j] = x[j];
  }
  fft_in_double(x, m);
  for (index_t j = 0; j < m; ++j) {
    at[2 * (n + j)] = static_cast<T>(x[j].re / static_cast<double>(m));
    at[2 * (n + j) + 1] = static_cast<T>(x[j].im / static_cast<double>(m));
  }
  space.deallocate_now(x, bytes, 64);
  return 2 * (n + m);
}

}  // namespace detail
}  // namespace heddle
