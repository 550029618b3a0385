// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/algorithm/fft.hpp>
#include <heddle/backend/cpu/fft.hpp>
#include <heddle/exec/plan.hpp>

#include <support/catch.hpp>
#include <support/executors.hpp>
#include <support/random.hpp>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

using namespace heddle;

namespace {

template <class T>
using numbers = std::vector<complex<T>>;

template <class T>
numbers<T> random_numbers(index_t n, std::uint64_t seed) {
  numbers<T> x(static_cast<std::size_t>(n));
  for (index_t i = 0; i < n; ++i)
    x[static_cast<std::size_t>(i)] = {static_cast<T>(test::random_value(seed, 2 * i)),
                                      static_cast<T>(test::random_value(seed, 2 * i + 1))};
  return x;
}
template <class T>
numbers<T> poisoned_numbers(index_t n) {
  T const nan = std::numeric_limits<T>::quiet_NaN();
  return numbers<T>(static_cast<std::size_t>(n), complex<T>{nan, nan});
}
template <class T>
view<T, 2> rows_of(std::vector<T>& x, index_t rows) {
  return view<T, 2>(x.data(), dims<2>(rows, static_cast<index_t>(x.size()) / rows));
}
template <class T>
bool equal_bits(numbers<T> const& a, numbers<T> const& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(complex<T>)) == 0);
}

// A bound of the relative error in the 2-norm, in units of the roundoff: see below for its parts.
double error_bound(index_t n) {
  double bound = 6;  // the factors between the lines: two roots, two products
  for (index_t rest = n, r = 2; rest > 1;) {
    if (rest % r != 0) {
      ++r;
      continue;
    }
    if (r > 31) {  // four transforms' worth: the spectrum of the chirp is at most 2 sqrt(n), in and out
      double const m = std::log2(4.0 * static_cast<double>(n));
      return 4 * (6 * m + 6) + 16;
    }
    rest /= r;
    // Sums and products of a pass and its factors: 4 for each 2, 9 for a 3, 13 for a 5; else chains of r terms.
    double const x = static_cast<double>(r);
    bound += r == 2 ? 4 : r == 3 ? 9 : r == 5 ? 13 : std::sqrt(2 * x) * (x + 3) / 2 + 3;
  }
  return bound;
}

// The relative error of one row against the sum in long double.
template <class T>
double error_of(complex<T> const* x, complex<T> const* y, index_t n, bool inverse) {
  long double wrong = 0, size = 0;
  long double const turn = (inverse ? 2 : -2) * 3.141592653589793238462643383279502884L / static_cast<long double>(n);
  std::vector<long double> c(static_cast<std::size_t>(n)), s(c.size());
  for (index_t j = 0; j < n; ++j) {
    c[static_cast<std::size_t>(j)] = std::cos(turn * static_cast<long double>(j));
    s[static_cast<std::size_t>(j)] = std::sin(turn * static_cast<long double>(j));
  }
  for (index_t k = 0; k < n; ++k) {
    long double re = 0, im = 0;
    for (index_t j = 0; j < n; ++j) {
      std::size_t const at = static_cast<std::size_t>(k * j % n);
      re += static_cast<long double>(x[j].re) * c[at] - static_cast<long double>(x[j].im) * s[at];
      im += static_cast<long double>(x[j].re) * s[at] + static_cast<long double>(x[j].im) * c[at];
    }
    if (inverse) re /= static_cast<long double>(n), im /= static_cast<long double>(n);
    long double const dr = static_cast<long double>(y[k].re) - re, di = static_cast<long double>(y[k].im) - im;
    wrong += dr * dr + di * di;
    size += re * re + im * im;
  }
  return static_cast<double>(std::sqrt(wrong / size));
}

template <class T>
void expect_small_error(index_t n) {
  reference_executor exec;
  fft_plan<T> const plan(n);
  for (bool inverse : {false, true}) {
    numbers<T> x = random_numbers<T>(2 * n, 7), y = poisoned_numbers<T>(2 * n);
    if (inverse)
      ifft(exec, plan, rows_of(x, 2), rows_of(y, 2));
    else
      fft(exec, plan, rows_of(x, 2), rows_of(y, 2));
    INFO(n);
    REQUIRE(error_of(x.data() + n, y.data() + n, n, inverse) <= error_bound(n) * unit_roundoff<T>);
  }
}

index_t const sizes[] = {1,  2,  3,  4,  5,  7,   8,   11,  12,  13,  16,  31,  32,  37,   49,
                         60, 62, 64, 65, 72, 121, 128, 210, 243, 256, 331, 500, 961, 1000, 1024};

}  // namespace

TEST_CASE("transforms of many sizes against sums in long double", "[algorithm]") {
  for (index_t n : sizes) {
    expect_small_error<float>(n);
    expect_small_error<double>(n);
  }
}

TEMPLATE_LIST_TEST_CASE("every executor gives the bits of the reference", "[algorithm]", test::tile_cases) {
  TestType setup;
  reference_executor reference;
  for (index_t n : {1, 2, 6, 30, 37, 62, 64, 65, 84, 121, 130, 1024}) {
    fft_plan<float> const plan(n);
    index_t const rows = n < 40 ? 18 : 2;
    numbers<float> x = random_numbers<float>(rows * n, 1), want = poisoned_numbers<float>(rows * n), y = want;
    fft(reference, plan, rows_of(x, rows), rows_of(want, rows));
    fft(setup.exec, plan, rows_of(x, rows), rows_of(y, rows));
    setup.exec.synchronize();
    INFO(n);
    REQUIRE(equal_bits(y, want));
    ifft(reference, plan, rows_of(x, rows), rows_of(want, rows));
    ifft(setup.exec, plan, rows_of(x, rows), rows_of(x, rows));
    setup.exec.synchronize();
    REQUIRE(equal_bits(x, want));
  }
}

TEST_CASE("every executor gives the bits of the reference, in double and with 7 workers", "[algorithm]") {
  test::threads_case<7> setup;
  reference_executor reference;
  for (index_t n : {3, 64, 70, 128, 4096, 4100}) {
    fft_plan<double> const plan(n);
    numbers<double> x = random_numbers<double>(3 * n, 1), want = poisoned_numbers<double>(3 * n), y = want;
    fft(reference, plan, rows_of(x, 3), rows_of(want, 3));
    fft(setup.exec, plan, rows_of(x, 3), rows_of(y, 3));
    REQUIRE(equal_bits(y, want));
    ifft(reference, plan, rows_of(x, 3), rows_of(want, 3));
    ifft(setup.exec, plan, rows_of(x, 3), rows_of(y, 3));
    REQUIRE(equal_bits(y, want));
  }
}

TEMPLATE_LIST_TEST_CASE("strides, one row alone, no rows", "[algorithm]", test::tile_cases) {
  TestType setup;
  index_t const n = 66, rows = 3;
  fft_plan<float> const plan(n);
  numbers<float> x = random_numbers<float>(rows * n, 4), want = poisoned_numbers<float>(rows * n), y = want;
  fft(setup.exec, plan, rows_of(x, rows), rows_of(want, rows));
  // Columns of a matrix are rows with a stride.
  numbers<float> turned(x.size()), result = poisoned_numbers<float>(2 * rows * n);
  for (index_t r = 0; r < rows; ++r)
    for (index_t i = 0; i < n; ++i)
      turned[static_cast<std::size_t>(i * rows + r)] = x[static_cast<std::size_t>(r * n + i)];
  fft(setup.exec, plan, transpose(rows_of(turned, n)),
      view<complex<float>, 2>(result.data(), dims<2>(rows, n), 2 * n, 1));
  fft(setup.exec, plan, view<complex<float>, 1>(x.data() + n, dims<1>(n)),
      view<complex<float>, 1>(y.data(), dims<1>(n)));
  fft(setup.exec, plan, view<complex<float>, 2>(x.data(), dims<2>(0, n)),
      view<complex<float>, 2>(y.data(), dims<2>(0, n)));
  setup.exec.synchronize();
  for (index_t r = 0; r < rows; ++r)
    REQUIRE(std::memcmp(result.data() + 2 * r * n, want.data() + r * n, static_cast<std::size_t>(n) * 8) == 0);
  REQUIRE(std::memcmp(y.data(), want.data() + n, static_cast<std::size_t>(n) * 8) == 0);
  REQUIRE(std::isnan(result[static_cast<std::size_t>(n)].re));
}

TEST_CASE("exact spectra: an impulse, and a constant", "[algorithm]") {
  test::threads_case<2> setup;
  for (index_t n : {1, 4, 9, 31, 48, 64, 216, 1024, 20736, 65536}) {
    fft_plan<float> const plan(n);
    numbers<float> x(static_cast<std::size_t>(n), complex<float>{0, 0}), y = poisoned_numbers<float>(n);
    x[0] = {0.75f, -3};
    fft(setup.exec, plan, rows_of(x, 1), rows_of(y, 1));
    int wrong = 0;
    for (complex<float> const& v : y) wrong += v.re != 0.75f || v.im != -3;
    REQUIRE(wrong == 0);
    if (n == 31) continue;
    for (complex<float>& v : x) v = {0.5f, 2};
    fft(setup.exec, plan, rows_of(x, 1), rows_of(y, 1));
    float const size = static_cast<float>(n);
    wrong = y[0].re != size / 2 || y[0].im != 2 * size;
    for (std::size_t k = 1; k < y.size(); ++k) wrong += y[k].re != 0 || y[k].im != 0;
    REQUIRE(wrong == 0);
  }
}

TEST_CASE("large transforms keep the norm, and come back", "[algorithm]") {
  test::threads_case<3> setup;
  for (index_t n : {index_t{1} << 17, index_t{100000}, index_t{100003}}) {
    fft_plan<float> const plan(n);
    numbers<float> const x = random_numbers<float>(n, 2);
    numbers<float> y = x;
    auto const norm = [](numbers<float> const& v) {
      double sum = 0;
      for (complex<float> const& c : v)
        sum += static_cast<double>(c.re) * static_cast<double>(c.re) +
               static_cast<double>(c.im) * static_cast<double>(c.im);
      return std::sqrt(sum);
    };
    double const bound = error_bound(n) * 0x1p-24, size = norm(x);
    fft(setup.exec, plan, rows_of(y, 1), rows_of(y, 1));
    REQUIRE(std::abs(norm(y) / std::sqrt(static_cast<double>(n)) / size - 1) <= bound);
    ifft(setup.exec, plan, rows_of(y, 1), rows_of(y, 1));
    for (std::size_t i = 0; i < y.size(); ++i) y[i].re -= x[i].re, y[i].im -= x[i].im;
    REQUIRE(norm(y) <= (2 * bound + 0x1p-22) * size);
  }
}

TEST_CASE("transforms refuse what doesn't fit, and plan their scratch", "[algorithm]") {
  threads_executor exec(2);
  fft_plan<float> const plan(128);
  numbers<float> x(256), y(256);
  REQUIRE_THROWS_AS(fft(exec, plan, rows_of(x, 1), rows_of(y, 1)), contract_error);
  REQUIRE_THROWS_AS(fft(exec, plan, rows_of(x, 2), rows_of(y, 1)), contract_error);
  work_plan const work = heddle::plan(exec, [&] { fft(exec, plan, rows_of(x, 2), rows_of(y, 2)); });
  // 128 = 8 x 16: between the lines a group of 16 results of 16 columns for each row; two lines of 16 for each worker.
  REQUIRE(work.scratch_bytes == (2 * 16 * 16 * 2 + 2 * 2 * 16 * 32) * sizeof(float));
  REQUIRE(work.bytes_moved == 2 * 2 * 256 * 8);
}
