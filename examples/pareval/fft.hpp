// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Fourier transforms: a plan for a size, then any number of transforms, forward or inverse, in place or not.

#include <heddle/algorithm/copy.hpp>
#include <heddle/algorithm/fft.hpp>
#include <heddle/algorithm/transform.hpp>
#include <heddle/core/tensor.hpp>

namespace pareval {
using namespace heddle;

inline constexpr auto conjugate = [](complex<double> z) { return complex<double>{z.re, -z.im}; };

/// x becomes its inverse transform, with the factor 1/n.
template <executor E>
void inverse_fft(E& exec, view<complex<double>, 1> x) {
  fft_plan<double> const plan(x.size());
  ifft(exec, plan, x, x);
  exec.synchronize();
}

/// The transform of real numbers: half of it, and the other half is its mirror image, conjugated.
template <executor E>
void dft(E& exec, view<double const, 1> x, view<complex<double>, 1> out) {
  fft_plan<double> const plan(x.size());
  transform(
      exec, out,
      [](double v) {
        return complex<double>{v, 0};
      },
      x);
  fft(exec, plan, out, out);
  exec.synchronize();
}

/// x becomes its transform, conjugated.
template <executor E>
void fft_conjugate(E& exec, view<complex<double>, 1> x) {
  fft_plan<double> const plan(x.size());
  fft(exec, plan, x, x);
  transform(exec, x, conjugate, x);
  exec.synchronize();
}

/// The real and the imaginary parts of the transform.
template <executor E>
void split_fft(E& exec, view<complex<double> const, 1> x, view<double, 1> re, view<double, 1> im) {
  fft_plan<double> const plan(x.size());
  tensor<complex<double>, 1> const both(exec, default_host_space, x.extents());
  fft(exec, plan, x, both.view());
  transform(
      exec, re, [](complex<double> z) { return z.re; }, both.view());
  transform(
      exec, im, [](complex<double> z) { return z.im; }, both.view());
  exec.synchronize();
}

template <executor E>
void fft_out_of_place(E& exec, view<complex<double> const, 1> x, view<complex<double>, 1> out) {
  fft_plan<double> const plan(x.size());
  fft(exec, plan, x, out);
  exec.synchronize();
}

}  // namespace pareval
