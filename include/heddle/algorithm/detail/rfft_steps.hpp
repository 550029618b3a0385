// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/detail/fft_passes.hpp>

/// @file
/// The steps between real numbers and transforms of complex ones.

namespace heddle {
namespace detail {

/// Half the spectrum X of n = 2 h real numbers from the spectrum Z of h pairs: with E and O the spectra of the even and
/// of the odd ones, Z = E + i O and X(k) = E(k) + W^k O(k).
template <class T>
struct rfft_split_step {
  static constexpr char const* name = "rfft.split";
  T const* z;
  fft_place<T> out;
  T const* turns;
  index_t half;

  HEDDLE_FN index_t bytes() const { return 8 * static_cast<index_t>(sizeof(T)); }
  HEDDLE_FN index_t flops() const { return 12; }
  HEDDLE_HD_FN void operator()(index_t b, index_t k) const {
    T const *const p = z + 2 * (b * half + (k < half ? k : 0)), *const q = z + 2 * (b * half + (k > 0 ? half - k : 0));
    T const er = mul(T(0.5), p[0] + q[0]), ei = mul(T(0.5), p[1] - q[1]);
    T const odd_r = mul(T(0.5), p[1] + q[1]), odd_i = mul(T(0.5), q[0] - p[0]);
    T const wr = turns[2 * k], wi = turns[2 * k + 1];
    T* const y = out.data + (b * out.row + k * out.column);
    y[0] = fma(-wi, odd_i, fma(wr, odd_r, er));
    y[1] = fma(wi, odd_r, fma(wr, odd_i, ei));
  }
};

/// The way back: Z from X.
template <class T>
struct rfft_join_step {
  static constexpr char const* name = "rfft.join";
  fft_place<T const> in;
  T* z;
  T const* turns;
  index_t half;

  HEDDLE_FN index_t bytes() const { return 8 * static_cast<index_t>(sizeof(T)); }
  HEDDLE_FN index_t flops() const { return 12; }
  HEDDLE_HD_FN void operator()(index_t b, index_t k) const {
    T const *const p = in.data + (b * in.row + k * in.column), *const q =
                                                                   in.data + (b * in.row + (half - k) * in.column);
    // Of a real signal the first and the last are real.
    T const pi = k > 0 ? p[1] : T(0), qi = k > 0 ? q[1] : T(0);
    T const er = mul(T(0.5), p[0] + q[0]), ei = mul(T(0.5), pi - qi);
    T const dr = mul(T(0.5), p[0] - q[0]), di = mul(T(0.5), pi + qi);
    T const wr = turns[2 * k], wi = turns[2 * k + 1];
    T const odd_r = fma(wi, di, mul(wr, dr)), odd_i = fma(-wi, dr, mul(wr, di));
    T* const y = z + 2 * (b * half + k);
    y[0] = er - odd_i;
    y[1] = ei + odd_r;
  }
};

/// Real numbers with gaps, side by side in z, and back.
template <class T>
struct rfft_pair_step {
  static constexpr char const* name = "rfft.pair";
  T const* in;
  index_t in_row, in_step, half;
  T* z;

  HEDDLE_FN index_t bytes() const { return 2 * static_cast<index_t>(sizeof(T)); }
  HEDDLE_FN index_t flops() const { return 0; }
  HEDDLE_HD_FN void operator()(index_t b, index_t j) const { z[2 * b * half + j] = in[b * in_row + j * in_step]; }
};
template <class T>
struct rfft_unpair_step {
  static constexpr char const* name = "rfft.unpair";
  T const* z;
  index_t half;
  T* out;
  index_t out_row, out_step;

  HEDDLE_FN index_t bytes() const { return 2 * static_cast<index_t>(sizeof(T)); }
  HEDDLE_FN index_t flops() const { return 0; }
  HEDDLE_HD_FN void operator()(index_t b, index_t j) const { out[b * out_row + j * out_step] = z[2 * b * half + j]; }
};

/// Real numbers as complex ones, for odd sizes; and the mirrored half of their spectrum.
template <class T>
struct rfft_widen_step {
  static constexpr char const* name = "rfft.widen";
  T const* in;
  index_t in_row, in_step, n;
  T* out;

  HEDDLE_FN index_t bytes() const { return 3 * static_cast<index_t>(sizeof(T)); }
  HEDDLE_FN index_t flops() const { return 0; }
  HEDDLE_HD_FN void operator()(index_t b, index_t j) const {
    T* const y = out + 2 * (b * n + j);
    y[0] = in[b * in_row + j * in_step];
    y[1] = T(0);
  }
};
template <class T>
struct rfft_mirror_step {
  static constexpr char const* name = "rfft.mirror";
  fft_place<T const> in;
  index_t n;
  T* out;

  HEDDLE_FN index_t bytes() const { return 4 * static_cast<index_t>(sizeof(T)); }
  HEDDLE_FN index_t flops() const { return 0; }
  HEDDLE_HD_FN void operator()(index_t b, index_t k) const {
    bool const upper = 2 * k > n;
    T const* const x = in.data + (b * in.row + (upper ? n - k : k) * in.column);
    T* const y = out + 2 * (b * n + k);
    y[0] = x[0];
    y[1] = k == 0 ? T(0) : upper ? -x[1] : x[1];
  }
};
/// Copies: the first elements of complex rows, or their real parts.
template <class T, bool Real>
struct rfft_take_step {
  static constexpr char const* name = "rfft.take";
  T const* in;
  index_t n;
  T* out;
  index_t out_row, out_step;

  HEDDLE_FN index_t bytes() const { return (Real ? 2 : 4) * static_cast<index_t>(sizeof(T)); }
  HEDDLE_FN index_t flops() const { return 0; }
  HEDDLE_HD_FN void operator()(index_t b, index_t k) const {
    T const* const x = in + 2 * (b * n + k);
    T* const y = out + (b * out_row + k * out_step);
    y[0] = x[0];
    if constexpr (!Real) y[1] = x[1];
  }
};

}  // namespace detail
}  // namespace heddle
