// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/arith.hpp>

#include <cstddef>
#include <cstdint>

/// @file
/// Transforms of a few numbers, in place, with the kernel exp(-2 pi i j k / R); V is a number or a vector of them.
/// Every form of the fast Fourier transform is made of these, so all have the same bits.

namespace heddle {
namespace detail {

inline constexpr int fft_largest_radix = 31;

/// (re, im) times a constant that is stored as its parts and minus the second: re, im, -im.
template <class V>
HEDDLE_TILE void fft_multiply(V& re, V& im, V const& wr, V const& wi, V const& minus_wi) {
  V const r = fma(re, wr, mul(im, minus_wi));
  im = fma(re, wi, mul(im, wr));
  re = r;
}

template <class V>
HEDDLE_TILE void fft_add_sub(V& a, V& b) {
  V const d = a - b;
  a = a + b;
  b = d;
}

/// The four outputs of inputs a, b, c, d stand in a, b, c, d.
template <class V>
HEDDLE_TILE void fft_four(V& ar, V& ai, V& br, V& bi, V& cr, V& ci, V& dr, V& di) {
  fft_add_sub(ar, cr), fft_add_sub(ai, ci);
  fft_add_sub(br, dr), fft_add_sub(bi, di);
  // Now a, b are sums and c, d differences. Output 1 is c - i d, output 3 is c + i d.
  V const er = cr + di, ei = ci - dr, gr = cr - di, gi = ci + dr;
  V const hr = ar - br, hi = ai - bi;
  ar = ar + br, ai = ai + bi;
  br = er, bi = ei;
  cr = hr, ci = hi;
  dr = gr, di = gi;
}

template <int R>
struct fft_butterfly;

template <>
struct fft_butterfly<1> {
  template <class V>
  static HEDDLE_TILE void run(V*, V*) {}
};

template <>
struct fft_butterfly<2> {
  template <class V>
  static HEDDLE_TILE void run(V* re, V* im) {
    fft_add_sub(re[0], re[1]);
    fft_add_sub(im[0], im[1]);
  }
};

template <>
struct fft_butterfly<3> {
  template <class V>
  static HEDDLE_TILE void run(V* re, V* im) {
    using T = lane_t<V>;
    V const half = splat<V>(T(-0.5)), sine = splat<V>(T(0.866025403784438646763723170752936183)),
            minus_sine = splat<V>(T(-0.866025403784438646763723170752936183));
    V const sr = re[1] + re[2], si = im[1] + im[2], dr = re[1] - re[2], di = im[1] - im[2];
    V const mr = fma(half, sr, re[0]), mi = fma(half, si, im[0]);
    re[0] = re[0] + sr, im[0] = im[0] + si;
    re[1] = fma(sine, di, mr), im[1] = fma(minus_sine, dr, mi);
    re[2] = fma(minus_sine, di, mr), im[2] = fma(sine, dr, mi);
  }
};

template <>
struct fft_butterfly<4> {
  template <class V>
  static HEDDLE_TILE void run(V* re, V* im) {
    fft_four(re[0], im[0], re[1], im[1], re[2], im[2], re[3], im[3]);
  }
};

template <>
struct fft_butterfly<5> {
  template <class V>
  static HEDDLE_TILE void run(V* re, V* im) {
    using T = lane_t<V>;
    V const c1 = splat<V>(T(0.309016994374947424102293417182819059)),
            c2 = splat<V>(T(-0.809016994374947424102293417182819059)),
            s1 = splat<V>(T(0.951056516295153572116439333379382143)),
            s2 = splat<V>(T(0.587785252292473129168705954639072769));
    V const ar = re[1] + re[4], ai = im[1] + im[4], br = re[2] + re[3], bi = im[2] + im[3];
    V const cr = re[1] - re[4], ci = im[1] - im[4], dr = re[2] - re[3], di = im[2] - im[3];
    V const pr = fma(c2, br, fma(c1, ar, re[0])), pi = fma(c2, bi, fma(c1, ai, im[0]));
    V const qr = fma(c1, br, fma(c2, ar, re[0])), qi = fma(c1, bi, fma(c2, ai, im[0]));
    V const ur = fma(s2, dr, mul(s1, cr)), ui = fma(s2, di, mul(s1, ci));
    V const vr = mul(s2, cr) - mul(s1, dr), vi = mul(s2, ci) - mul(s1, di);
    re[0] = re[0] + (ar + br), im[0] = im[0] + (ai + bi);
    re[1] = pr + ui, im[1] = pi - ur;
    re[4] = pr - ui, im[4] = pi + ur;
    re[2] = qr + vi, im[2] = qi - vr;
    re[3] = qr - vi, im[3] = qi + vr;
  }
};

template <>
struct fft_butterfly<8> {
  template <class V>
  static HEDDLE_TILE void run(V* re, V* im) {
    using T = lane_t<V>;
    V const c = splat<V>(T(0.707106781186547524400844362104849039));
    fft_four(re[0], im[0], re[2], im[2], re[4], im[4], re[6], im[6]);
    fft_four(re[1], im[1], re[3], im[3], re[5], im[5], re[7], im[7]);
    // The odd half, turned by 0, 1, 2, 3 eighths: it stands in 1, 3, 5, 7.
    V const ar = mul(c, re[3] + im[3]), ai = mul(c, im[3] - re[3]);
    V const br = mul(c, im[7] - re[7]), bi = mul(c, re[7] + im[7]);
    V const fr = im[5], fi = re[5];  // times -i is (fr, -fi)
    V const o0r = re[1], o0i = im[1];
    V const e1r = re[2], e1i = im[2], e2r = re[4], e2i = im[4], e3r = re[6], e3i = im[6];
    re[4] = re[0] - o0r, im[4] = im[0] - o0i;
    re[0] = re[0] + o0r, im[0] = im[0] + o0i;
    re[1] = e1r + ar, im[1] = e1i + ai;
    re[5] = e1r - ar, im[5] = e1i - ai;
    re[2] = e2r + fr, im[2] = e2i - fi;
    re[6] = e2r - fr, im[6] = e2i + fi;
    re[3] = e3r + br, im[3] = e3i - bi;
    re[7] = e3r - br, im[7] = e3i + bi;
  }
};

/// Any odd radix up to fft_largest_radix; `roots` has (cos, -sin) of 2 pi j / r for j in [0, r).
template <class V>
HEDDLE_TILE void fft_odd(int r, V* re, V* im, lane_t<V> const* roots) {
  constexpr int most = fft_largest_radix / 2;
  V sr[most], si[most], dr[most], di[most];
  int const half = r / 2;
  V const zr = re[0], zi = im[0];
  for (int j = 1; j <= half; ++j) {
    sr[j - 1] = re[j] + re[r - j], si[j - 1] = im[j] + im[r - j];
    dr[j - 1] = re[j] - re[r - j], di[j - 1] = im[j] - im[r - j];
    re[0] = re[0] + sr[j - 1], im[0] = im[0] + si[j - 1];
  }
  for (int k = 1; k <= half; ++k) {
    V pr = zr, pi = zi, qr = splat<V>(lane_t<V>(0)), qi = qr;
    for (int j = 1, at = k; j <= half; ++j, at = at + k < r ? at + k : at + k - r) {
      V const c = splat<V>(roots[2 * at]), w = splat<V>(roots[2 * at + 1]);
      pr = fma(sr[j - 1], c, pr), pi = fma(si[j - 1], c, pi);
      qr = fma(dr[j - 1], w, qr), qi = fma(di[j - 1], w, qi);
    }
    re[k] = pr - qi, im[k] = pi + qr;
    re[r - k] = pr + qi, im[r - k] = pi - qr;
  }
}

}  // namespace detail
}  // namespace heddle
