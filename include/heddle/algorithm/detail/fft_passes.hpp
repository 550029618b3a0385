// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/detail/fft_tables.hpp>
#include <heddle/tile/run.hpp>

/// @file
/// The transform as tile programs, one for each pass over all data: the definition, on every backend.

namespace heddle {
namespace detail {

/// Where complex numbers stand: element t of column c of row b has its real part at data[b row + c column + t step].
template <class T>
struct fft_place {
  T* data;
  index_t row, column, step;

  HEDDLE_HD_FN T* at(index_t b, index_t c, index_t t) const { return data + (b * row + c * column + t * step); }
};

/// Transforms of `rows` rows. An inverse one exchanges real and imaginary parts on the way in and on the way out.
template <class T>
struct fft_job {
  fft_place<T const> in;
  fft_place<T> out;
  index_t rows;
  bool inverse;
  T scale;
};

/// Floating-point operations that one point of a pass counts for: 5 for each factor of two, as is the custom.
HEDDLE_HD_FN constexpr index_t fft_flops_of(int radix) {
  return radix == 8 ? 15 : radix == 4 ? 10 : radix == 2 ? 5 : radix == 1 ? 0 : 4 * radix;
}

/// A step on every element of every row: `step(row, element)`.
template <class Step>
struct fft_program {
  using plain = void;
  static constexpr index_t grain = 1024;

  Step step;
  index_t rows, elements;

  template <class Ctx>
  struct shared {};
  HEDDLE_FN span work() const {
    return {.operation = Step::name,
            .shape = {rows, elements},
            .bytes = rows * elements * step.bytes(),
            .flops = rows * elements * step.flops()};
  }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return tile::ceil_div(rows * elements, grain);
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const first = ctx.tile() * grain, left = rows * elements - first;
    ctx.for_each(left < grain ? left : grain,
                 [first, &s = step, n = elements](index_t i) { s((first + i) / n, (first + i) % n); });
  }
};

/// The butterflies of one pass. Its elements are those of all columns.
template <class T>
struct fft_pass_step {
  static constexpr char const* name = "fft.pass";

  fft_place<T const> in;
  fft_place<T> out;
  fft_pass<T> pass;
  index_t n1;
  T const *lane, *shared;  // factors between lines, for the last pass of the first; else null
  bool swap_in, swap_out, scaled;
  T scale;

  HEDDLE_FN index_t bytes() const { return 4 * pass.radix * static_cast<index_t>(sizeof(T)); }
  HEDDLE_FN index_t flops() const { return pass.radix * fft_flops_of(pass.radix); }
  HEDDLE_HD_FN void operator()(index_t b, index_t i) const {
    index_t const q = i % pass.s, p = i / pass.s % pass.m, c = i / (pass.s * pass.m);
    int const r = pass.radix;
    T re[fft_largest_radix], im[fft_largest_radix];
    for (int k = 0; k < r; ++k) {
      T const* const x = in.at(b, c, q + pass.s * (p + pass.m * k));
      re[k] = x[swap_in], im[k] = x[!swap_in];
    }
    turn(r, re, im);
    for (int k = 0; k < r; ++k) {
      if (k > 0 && pass.m > 1) {
        T const* const w = pass.factors + 3 * (p * (r - 1) + k - 1);
        fft_multiply(re[k], im[k], w[0], w[1], w[2]);
      }
      index_t const t = q + pass.s * (r * p + k);
      if (lane) factor(c, t, re[k], im[k]);
      T* const y = out.at(b, c, t);
      y[swap_out] = scaled ? mul(re[k], scale) : re[k];
      y[!swap_out] = scaled ? mul(im[k], scale) : im[k];
    }
  }

 private:
  HEDDLE_HD_FN void turn(int r, T* re, T* im) const {
    switch (r) {
      case 1:
        return;
      case 2:
        return fft_butterfly<2>::run(re, im);
      case 3:
        return fft_butterfly<3>::run(re, im);
      case 4:
        return fft_butterfly<4>::run(re, im);
      case 5:
        return fft_butterfly<5>::run(re, im);
      case 8:
        return fft_butterfly<8>::run(re, im);
      default:
        return fft_odd(r, re, im, pass.roots);
    }
  }
  HEDDLE_HD_FN void factor(index_t c, index_t k1, T& re, T& im) const {
    constexpr index_t group = fft_tables<T>::group;
    T const* const a = lane + 2 * group * k1 + c % group;
    T const* const w = shared + 3 * (c / group * n1 + k1);
    T wr = a[0], wi = a[group];
    fft_multiply(wr, wi, w[0], w[1], w[2]);
    fft_multiply(re, im, wr, wi, -wi);
  }
};

/// All passes, through two arrays of scratch by turns.
template <executor E, class T>
HEDDLE_FN void fft_run_passes(E& exec, fft_tables<T> const& t, fft_job<T> const& job) {
  int const last = t.first.passes + t.second.passes - 1;
  scratch_frame<E> frame(exec);
  T* const room[2] = {last > 0 ? frame.template take<T>(2 * job.rows * t.n) : nullptr,
                      last > 1 ? frame.template take<T>(2 * job.rows * t.n) : nullptr};
  int number = 0;
  auto const run = [&](index_t columns, index_t column, index_t step, fft_pass<T> const& pass, bool ends) {
    fft_place<T const> const whole_in{job.in.data, job.in.row, job.in.column * column, job.in.column * step};
    fft_place<T> const own{room[number % 2], 2 * t.n, 2 * column, 2 * step};
    T* const before = room[(number + 1) % 2];
    fft_place<T const> const from{before, 2 * t.n, 2 * column, 2 * step};
    // The results of the last pass are in the order of the whole transform.
    fft_place<T> const whole_out{job.out.data, job.out.row, job.out.column * (t.n2 > 1 ? 1 : column),
                                 job.out.column * (t.n2 > 1 ? t.n1 : step)};
    bool const starts = number == 0, over = number == last, joins = ends && !over;
    tile::run(exec, fft_program<fft_pass_step<T>>{
                        {starts ? whole_in : from, over ? whole_out : own, pass, t.n1, joins ? t.lane : nullptr,
                         t.shared, starts && job.inverse, over && job.inverse, over && job.scale != T(1), job.scale},
                        job.rows,
                        columns * pass.m * pass.s});
    ++number;
  };
  fft_each_pass(t.first,
                [&](int i, fft_pass<T> const& pass) { run(t.n2, 1, t.n2, pass, i + 1 == t.first.passes && t.n2 > 1); });
  fft_each_pass(t.second, [&](int, fft_pass<T> const& pass) { run(t.n1, t.n2, 1, pass, false); });
}

/// Products with a table: x times w, in parts.
template <class T>
HEDDLE_HD_FN void fft_times(T& re, T& im, T const* w) {
  fft_multiply(re, im, w[0], w[1], -w[1]);
}

/// For sizes with large prime factors, the three steps around the inner transforms.
template <class T>
struct fft_chirp_in_step {
  static constexpr char const* name = "fft.chirp_in";
  fft_place<T const> in;
  T* out;
  T const* chirp;
  index_t n, m;
  bool swap;

  HEDDLE_FN index_t bytes() const { return 2 * static_cast<index_t>(sizeof(T)); }
  HEDDLE_FN index_t flops() const { return 6; }
  HEDDLE_HD_FN void operator()(index_t b, index_t j) const {
    T re = 0, im = 0;
    if (j < n) {
      T const* const x = in.data + (b * in.row + j * in.column);
      re = x[swap], im = x[!swap];
      fft_times(re, im, chirp + 2 * j);
    }
    out[2 * (b * m + j)] = re, out[2 * (b * m + j) + 1] = im;
  }
};
template <class T>
struct fft_spectrum_step {
  static constexpr char const* name = "fft.spectrum";
  T* x;
  T const* spectrum;
  index_t m;

  HEDDLE_FN index_t bytes() const { return 6 * static_cast<index_t>(sizeof(T)); }
  HEDDLE_FN index_t flops() const { return 6; }
  HEDDLE_HD_FN void operator()(index_t b, index_t j) const {
    T* const at = x + 2 * (b * m + j);
    fft_times(at[0], at[1], spectrum + 2 * j);
  }
};
template <class T>
struct fft_chirp_out_step {
  static constexpr char const* name = "fft.chirp_out";
  T const* in;
  fft_place<T> out;
  T const* chirp;
  index_t m;
  bool swap;
  T scale;

  HEDDLE_FN index_t bytes() const { return 6 * static_cast<index_t>(sizeof(T)); }
  HEDDLE_FN index_t flops() const { return 8; }
  HEDDLE_HD_FN void operator()(index_t b, index_t k) const {
    T re = in[2 * (b * m + k)], im = in[2 * (b * m + k) + 1];
    fft_times(re, im, chirp + 2 * k);
    T* const y = out.data + (b * out.row + k * out.column);
    y[swap] = mul(re, scale), y[!swap] = mul(im, scale);
  }
};

}  // namespace detail
}  // namespace heddle
