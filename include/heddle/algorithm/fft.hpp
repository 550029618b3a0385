// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/detail/fft_passes.hpp>
#include <heddle/algorithm/fft_plan.hpp>
#include <heddle/core/overlap.hpp>

namespace heddle {

/// A complex number as transforms take it: two numbers side by side, like std::complex and the C type.
template <std::floating_point T>
struct complex {
  T re, im;
};

namespace detail {

template <executor E, class T>
HEDDLE_FN void fft_convolve(E& exec, fft_tables<T> const& t, fft_job<T> const& job);

/// The transforms of a job, in the form of the backend.
template <executor E, class T>
HEDDLE_FN void fft_rows(E& exec, fft_tables<T> const& t, fft_job<T> const& job) {
  if (t.inner)
    fft_convolve(exec, t, job);
  else
    run_kernel<fft_fn>(exec, t, job);
}

template <executor E, class T>
HEDDLE_FN void fft_convolve(E& exec, fft_tables<T> const& t, fft_job<T> const& job) {
  index_t const m = t.inner->n;
  scratch_frame<E> frame(exec);
  T* const x = frame.template take<T>(2 * job.rows * m);
  tile::run(exec, fft_program<fft_chirp_in_step<T>>{{job.in, x, t.chirp, t.n, m, job.inverse}, job.rows, m});
  fft_job<T> inner{{x, 2 * m, 2, 2}, {x, 2 * m, 2, 2}, job.rows, false, T(1)};
  fft_rows(exec, *t.inner, inner);
  tile::run(exec, fft_program<fft_spectrum_step<T>>{{x, t.spectrum, m}, job.rows, m});
  inner.inverse = true;
  fft_rows(exec, *t.inner, inner);
  tile::run(exec, fft_program<fft_chirp_out_step<T>>{{x, job.out, t.chirp, m, job.inverse, job.scale}, job.rows, t.n});
}

/// A view of complex numbers as places of their parts.
template <class T, class V>
HEDDLE_FN fft_place<T> fft_place_of(V const& v) {
  index_t const row = V::rank() == 2 ? v.stride(0) : 0, step = v.stride(V::rank() - 1);
  return {reinterpret_cast<T*>(v.data()), 2 * row, 2 * step, 2 * step};
}
template <class V>
HEDDLE_FN index_t fft_rows_of(V const& v) {
  return V::rank() == 2 ? v.extent(0) : 1;
}

template <executor E, class T, class In, class Out>
HEDDLE_FN void fft_complex(E& exec, fft_plan<T> const& plan, In const& in, Out const& out, bool inverse) {
  index_t const n = plan.size();
  HEDDLE_EXPECTS(in.extent(In::rank() - 1) == n && in.extents() == out.extents(),
                 "a transform has rows of the plan's size, in and out", n, in.extent(In::rank() - 1),
                 out.extent(Out::rank() - 1));
  expect_apart_or_same(inverse ? "ifft" : "fft", out, in);
  if (in.empty()) return;
  observed_span<E> const scope(exec, [&] {
    return span{.operation = inverse ? "ifft" : "fft", .shape = {fft_rows_of(in), n}};
  });
  fft_rows(exec, plan.tables(),
           fft_job<T>{fft_place_of<T const>(in), fft_place_of<T>(out), fft_rows_of(in), inverse,
                      inverse ? T(1) / static_cast<T>(n) : T(1)});
}

}  // namespace detail

/// out(k) = sum over j of in(j) exp(-2 pi i j k / n), row by row.
///
/// Shapes: vectors of plan.size() elements, or matrices of such rows; strides free (adjacent elements are fast).
/// Types: complex<float> or complex<double>, as the plan. Pre: in and out overlap nowhere, or exactly (in place).
/// Complexity: O(n log n) for every n: passes of radix 8, 4, 2 and of the odd primes up to 31 (those above 5 as sums),
/// and, where n has a larger prime factor, two transforms of at least 2 n - 1 points. Sync: submits; the plan stays
/// alive until the queue has passed. Memory: about one copy of the rows on CPUs, two elsewhere, of the
/// arena; up to eight where n has a prime factor above 31.
/// Determinism: the same bits on every backend, for any number of workers, and for a row alone or among others.
/// Numerics: no scale is applied. The relative error in the 2-norm is at most (6 log2(n) + 6) u where n has no prime
/// factor above 5, u the unit roundoff.
/// Source: self-sorting passes after Stockham, in two lines after Bailey; convolution after Bluestein.
struct fft_fn {
  template <executor E, std::floating_point T, any_view In, any_view Out>
    requires(std::same_as<typename In::value_type, complex<T>>&& std::same_as<typename Out::element_type, complex<T>>&&
                     In::rank() == Out::rank() &&
             (In::rank() == 1 || In::rank() == 2))
  HEDDLE_FN void operator()(E& exec, fft_plan<T> const& plan, In const& in, Out const& out) const {
    detail::fft_complex(exec, plan, in, out, false);
  }

  // The form of backends that have none of their own.
  template <executor E, class T>
  static HEDDLE_FN void generic(E& exec, detail::fft_tables<T> const& t, detail::fft_job<T> const& job) {
    detail::fft_run_passes(exec, t, job);
  }
};

/// The inverse: out(j) = 1 / n times the sum over k of in(k) exp(2 pi i j k / n). As fft otherwise; results are
/// multiplied by 1 / n, rounded.
struct ifft_fn {
  template <executor E, std::floating_point T, any_view In, any_view Out>
    requires(std::same_as<typename In::value_type, complex<T>>&& std::same_as<typename Out::element_type, complex<T>>&&
                     In::rank() == Out::rank() &&
             (In::rank() == 1 || In::rank() == 2))
  HEDDLE_FN void operator()(E& exec, fft_plan<T> const& plan, In const& in, Out const& out) const {
    detail::fft_complex(exec, plan, in, out, true);
  }
};

inline constexpr fft_fn fft{};
inline constexpr ifft_fn ifft{};

}  // namespace heddle
