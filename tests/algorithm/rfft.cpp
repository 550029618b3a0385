// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/algorithm/rfft.hpp>
#include <heddle/backend/cpu/fft.hpp>

#include <support/catch.hpp>
#include <support/executors.hpp>
#include <support/random.hpp>

#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

using namespace heddle;

namespace {

template <class T>
struct real_signal {
  index_t n, half;
  std::vector<T> x, back;
  std::vector<complex<T>> spectrum;

  explicit real_signal(index_t size)
      : n(size),
        half(size / 2 + 1),
        x(static_cast<std::size_t>(2 * n)),
        back(x.size(), std::numeric_limits<T>::quiet_NaN()),
        spectrum(static_cast<std::size_t>(2 * half), complex<T>{back[0], back[0]}) {
    test::fill_random(x.data(), 2 * n, 3);
  }
  view<T, 2> in() { return view<T, 2>(x.data(), dims<2>(2, n)); }
  view<T, 2> out() { return view<T, 2>(back.data(), dims<2>(2, n)); }
  view<complex<T>, 2> middle() { return view<complex<T>, 2>(spectrum.data(), dims<2>(2, half)); }
};

}  // namespace

TEMPLATE_LIST_TEST_CASE("real transforms there and back", "[algorithm]", test::tile_cases) {
  TestType setup;
  reference_executor reference;
  for (index_t n : {1, 2, 3, 4, 9, 10, 37, 74, 128, 130, 1000}) {
    real_signal<float> s(n), want(n);
    rfft_plan<float> const plan(n);
    rfft(reference, plan, want.in(), want.middle());
    irfft(reference, plan, want.middle(), want.out());
    rfft(setup.exec, plan, s.in(), s.middle());
    irfft(setup.exec, plan, s.middle(), s.out());
    setup.exec.synchronize();
    INFO(n);
    REQUIRE(std::memcmp(s.spectrum.data(), want.spectrum.data(), s.spectrum.size() * 8) == 0);
    REQUIRE(std::memcmp(s.back.data(), want.back.data(), s.back.size() * 4) == 0);
    double wrong = 0, size = 0;
    for (std::size_t i = 0; i < s.x.size(); ++i) {
      double const d = static_cast<double>(s.x[i]) - static_cast<double>(s.back[i]);
      wrong += d * d, size += static_cast<double>(s.x[i]) * static_cast<double>(s.x[i]);
    }
    // Twice the bound of the size with the most roundings here, a convolution of 256 points.
    REQUIRE(std::sqrt(wrong) <= 2 * (4 * (6 * 11 + 6) + 22) * 0x1p-24 * std::sqrt(size));
  }
}

TEST_CASE("the spectrum of real numbers against a sum in long double", "[algorithm]") {
  serial_executor exec;
  for (index_t n : {1, 2, 5, 6, 64, 75, 96, 100, 250}) {
    real_signal<double> s(n);
    rfft(exec, rfft_plan<double>(n), s.in(), s.middle());
    long double wrong = 0, size = 0;
    for (index_t k = 0; k < s.half; ++k) {
      long double re = 0, im = 0;
      for (index_t j = 0; j < n; ++j) {
        long double const t = -2 * 3.141592653589793238462643383279502884L * static_cast<long double>(k * j % n) /
                              static_cast<long double>(n);
        re += static_cast<long double>(s.x[static_cast<std::size_t>(n + j)]) * std::cos(t);
        im += static_cast<long double>(s.x[static_cast<std::size_t>(n + j)]) * std::sin(t);
      }
      complex<double> const& y = s.middle()(1, k);
      wrong += std::pow(y.re - re, 2.0L) + std::pow(y.im - im, 2.0L);
      size += re * re + im * im;
    }
    // The bound of the whole transform, twice over since half the spectrum may have half the norm, and 3 for the split.
    double const bound = 2 * (6 * std::log2(static_cast<double>(n)) + 6 + 3) * 0x1p-53;
    INFO(n);
    REQUIRE(static_cast<double>(std::sqrt(wrong)) <= bound * static_cast<double>(std::sqrt(size)));
  }
}

TEST_CASE("real transforms with strides, and those that don't fit", "[algorithm]") {
  test::threads_case<2> setup;
  for (index_t n : {12, 15}) {
    real_signal<float> s(n);
    rfft_plan<float> first(n);
    rfft_plan<float> const plan(std::move(first));
    rfft(setup.exec, plan, s.in(), s.middle());
    irfft(setup.exec, plan, s.middle(), s.out());
    std::vector<float> gaps(static_cast<std::size_t>(4 * n), 9.0f);
    view<float, 2> const wide(gaps.data(), dims<2>(2, n), 2 * n, 2);
    irfft(setup.exec, plan, s.middle(), wide);
    for (index_t r = 0; r < 2; ++r)
      for (index_t i = 0; i < n; ++i) {
        REQUIRE(wide(r, i) == s.out()(r, i));
        REQUIRE(gaps[static_cast<std::size_t>(r * 2 * n + 2 * i + 1)] == 9.0f);
        wide(r, i) = s.in()(r, i);
      }
    std::vector<complex<float>> again(s.spectrum.size());
    rfft(setup.exec, plan, wide, view<complex<float>, 2>(again.data(), dims<2>(2, n / 2 + 1)));
    REQUIRE(std::memcmp(again.data(), s.spectrum.data(), again.size() * 8) == 0);
    REQUIRE_THROWS_AS(rfft(setup.exec, plan, s.in(), view<complex<float>, 2>(again.data(), dims<2>(2, n / 2))),
                      contract_error);
    // What is no part of a real signal's spectrum is not looked at.
    for (index_t r = 0; r < 2; ++r) s.middle()(r, 0).im = 5;
    if (n % 2 == 0)
      for (index_t r = 0; r < 2; ++r) s.middle()(r, n / 2).im = 5;
    std::vector<float> const before = s.back;
    irfft(setup.exec, plan, s.middle(), s.out());
    REQUIRE(s.back == before);
  }
}

TEST_CASE("a wave of three periods", "[algorithm]") {
  threads_executor exec(2);
  // begin spectrum
  index_t const n = 48;
  rfft_plan<float> const plan(n);
  std::vector<float> x(n);
  for (index_t i = 0; i < n; ++i) x[static_cast<std::size_t>(i)] = i % 16 < 8 ? 1.0f : -1.0f;
  std::vector<complex<float>> spectrum(n / 2 + 1);
  rfft(exec, plan, view<float const, 1>(x.data(), dims<1>(n)),
       view<complex<float>, 1>(spectrum.data(), dims<1>(n / 2 + 1)));  // what is not 0 stands at 3, 9, 15, 21
  // end spectrum
  for (std::size_t k = 0; k < spectrum.size(); ++k) {
    float const size = std::abs(spectrum[k].re) + std::abs(spectrum[k].im);
    REQUIRE((k % 6 == 3) == (size > 1e-3f));
  }
}
