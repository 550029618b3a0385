// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/detail/rfft_steps.hpp>
#include <heddle/algorithm/fft.hpp>

namespace heddle {

/// The same for transforms of n real numbers: half as long inside where n is even.
///
/// As fft_plan. Memory: about n numbers more.
template <std::floating_point T>
class rfft_plan {
 public:
  HEDDLE_FN explicit rfft_plan(index_t n, host_space& space = default_host_space)
      : n_(n), space_(&space), turns_(nullptr), plan_(n >= 2 && n % 2 == 0 ? n / 2 : n, space) {
    if (n % 2 != 0) return;
    turns_ = static_cast<T*>(space.allocate_now(bytes(), 64));
    for (index_t k = 0; k <= n / 2; ++k) {
      detail::fft_root const w = detail::fft_root_of(k, n);
      turns_[2 * k] = static_cast<T>(w.re);
      turns_[2 * k + 1] = static_cast<T>(w.im);
    }
  }
  HEDDLE_FN rfft_plan(rfft_plan&& other) noexcept
      : n_(other.n_),
        space_(other.space_),
        turns_(std::exchange(other.turns_, nullptr)),
        plan_(std::move(other.plan_)) {}
  rfft_plan(rfft_plan const&) = delete;
  rfft_plan& operator=(rfft_plan const&) = delete;
  HEDDLE_FN ~rfft_plan() {
    if (turns_) space_->deallocate_now(turns_, bytes(), 64);
  }

  /// The number of real points; half the spectrum has size() / 2 + 1 of them.
  HEDDLE_FN index_t size() const noexcept { return n_; }
  /// For the operations.
  HEDDLE_FN fft_plan<T> const& inner() const noexcept { return plan_; }
  HEDDLE_FN T const* turns() const noexcept { return turns_; }

 private:
  HEDDLE_FN std::size_t bytes() const noexcept { return static_cast<std::size_t>(n_ + 2) * sizeof(T); }

  index_t n_;
  host_space* space_;
  T* turns_;  // exp(-2 pi i k / n) for k in [0, n / 2], where n is even
  fft_plan<T> plan_;
};

namespace detail {

template <class T, class V>
HEDDLE_FN fft_place<T> rfft_place_of(V const& v, index_t unit) {
  index_t const row = V::rank() == 2 ? v.stride(0) : 0, step = v.stride(V::rank() - 1);
  return {reinterpret_cast<T*>(v.data()), unit * row, unit * step, unit * step};
}

template <class Real, class Half>
HEDDLE_FN void expect_rfft(index_t n, Real const& real, Half const& half) {
  bool const rows = Real::rank() == 1 || real.extent(0) == half.extent(0);
  HEDDLE_EXPECTS(rows && real.extent(Real::rank() - 1) == n && half.extent(Half::rank() - 1) == n / 2 + 1,
                 "a real transform has rows of n real and n / 2 + 1 complex numbers", n, real.extent(Real::rank() - 1),
                 half.extent(Half::rank() - 1));
}

}  // namespace detail

/// out(k) = sum over j of in(j) exp(-2 pi i j k / n) for real in and k in [0, n / 2]; the rest is its mirror.
///
/// Shapes: in n real numbers, out n / 2 + 1 complex ones, n = plan.size(); vectors, or matrices of such rows; strides
/// free. Types: float or double, complex of it. Pre: in and out overlap nowhere. Complexity: half that of fft where n
/// is even, that of fft and copies where it is odd. Memory: about two copies of in, of the arena (four where n is odd).
/// Sync, Determinism: as fft. Numerics: as fft, and 3 u more for the step between the spectra.
struct rfft_fn {
  template <executor E, std::floating_point T, any_view In, any_view Out>
    requires(
        std::same_as<typename In::value_type, T>&& std::same_as<typename Out::element_type, complex<T>>&& In::rank() ==
            Out::rank() &&
        (In::rank() == 1 || In::rank() == 2))
  HEDDLE_FN void operator()(E& exec, rfft_plan<T> const& plan, In const& in, Out const& out) const {
    index_t const n = plan.size(), rows = detail::fft_rows_of(in), m = plan.inner().size();
    detail::expect_rfft(n, in, out);
    expect_apart("rfft", out, in);
    if (in.empty()) return;
    auto const from = detail::rfft_place_of<T const>(in, 1);
    auto const to = detail::rfft_place_of<T>(out, 2);
    scratch_frame<E> frame(exec);
    T* const z = frame.template take<T>(2 * rows * m);
    detail::fft_job<T> job{{z, 2 * m, 2, 2}, {z, 2 * m, 2, 2}, rows, false, T(1)};
    using namespace detail;
    if (n % 2 == 0 && from.column == 1)
      job.in = {from.data, from.row, 2, 2};
    else if (n % 2 == 0)
      tile::run(exec, fft_program<rfft_pair_step<T>>{{from.data, from.row, from.column, m, z}, rows, n});
    else
      tile::run(exec, fft_program<rfft_widen_step<T>>{{from.data, from.row, from.column, n, z}, rows, n});
    fft_rows(exec, plan.inner().tables(), job);
    if (n % 2 == 0)
      tile::run(exec, fft_program<rfft_split_step<T>>{{z, to, plan.turns(), m}, rows, m + 1});
    else
      tile::run(exec, fft_program<rfft_take_step<T, false>>{{z, n, to.data, to.row, to.column}, rows, n / 2 + 1});
  }
};

/// The inverse of rfft: n real numbers from n / 2 + 1 complex ones, times 1 / n. As rfft; the imaginary parts of the
/// first number and, where n is even, of the last are taken for zero.
struct irfft_fn {
  template <executor E, std::floating_point T, any_view In, any_view Out>
    requires(
        std::same_as<typename In::value_type, complex<T>>&& std::same_as<typename Out::element_type, T>&& In::rank() ==
            Out::rank() &&
        (In::rank() == 1 || In::rank() == 2))
  HEDDLE_FN void operator()(E& exec, rfft_plan<T> const& plan, In const& in, Out const& out) const {
    index_t const n = plan.size(), rows = detail::fft_rows_of(in), m = plan.inner().size();
    detail::expect_rfft(n, out, in);
    expect_apart("irfft", out, in);
    if (in.empty()) return;
    auto const from = detail::rfft_place_of<T const>(in, 2);
    auto const to = detail::rfft_place_of<T>(out, 1);
    scratch_frame<E> frame(exec);
    T* const z = frame.template take<T>(2 * rows * m);
    detail::fft_job<T> job{{z, 2 * m, 2, 2}, {z, 2 * m, 2, 2}, rows, true, T(1) / static_cast<T>(m)};
    using namespace detail;
    if (n % 2 == 0)
      tile::run(exec, fft_program<rfft_join_step<T>>{{from, z, plan.turns(), m}, rows, m});
    else
      tile::run(exec, fft_program<rfft_mirror_step<T>>{{from, n, z}, rows, n});
    bool const direct = n % 2 == 0 && to.column == 1;
    if (direct) job.out = {to.data, to.row, 2, 2};
    fft_rows(exec, plan.inner().tables(), job);
    if (n % 2 == 1)
      tile::run(exec, fft_program<rfft_take_step<T, true>>{{z, n, to.data, to.row, to.column}, rows, n});
    else if (!direct)
      tile::run(exec, fft_program<rfft_unpair_step<T>>{{z, m, to.data, to.row, to.column}, rows, n});
  }
};

inline constexpr rfft_fn rfft{};
inline constexpr irfft_fn irfft{};

}  // namespace heddle
