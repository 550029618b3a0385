// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "fft.hpp"
#include "problem.hpp"
#include "reference/fft.hpp"

#include <heddle/backend/cpu/fft.hpp>
#include <heddle/backend/cpu/tile_context.hpp>
#include <heddle/backend/reference/tile_context.hpp>

namespace pareval {

namespace {
using number = heddle::complex<double>;

template <class Trial>
values<number> signal(Trial& t) {
  auto const re = t.template numbers<double>(t.n, -1000, 1000);
  auto const im = t.template numbers<double>(t.n, -1000, 1000);
  values<number> x(t.n);
  for (index_t i = 0; i < t.n; ++i) x[i] = {re[i], im[i]};
  return x;
}

std::vector<std::complex<double>> plain_dft(values<number> const& x, int sign, double factor = 1) {
  std::vector<std::complex<double>> v;
  for (number const& z : x) v.emplace_back(z.re, z.im);
  v = plain::dft(v, sign);
  for (std::complex<double>& z : v) z *= factor;
  return v;
}

/// Compares in the 2-norm, where the error of a transform is bounded: by (3 p + 9) u for sizes with no prime factor
/// above 5; the sums of primes up to 31 and three transforms of four times the size take at most ten times that.
std::string differs_in_norm(std::vector<std::complex<double>> const& want, values<number> const& got) {
  double error = 0, norm = 0;
  for (index_t i = 0; i < got.size(); ++i) {
    std::complex<double> const w = want[static_cast<std::size_t>(i)];
    error += std::norm(w - std::complex<double>(got[i].re, got[i].im));
    norm += std::norm(w);
  }
  double const steps = std::log2(static_cast<double>(got.size()) + 1), bound = 10 * (3 * steps + 9) * 0x1p-53;
  if (std::sqrt(error) <= bound * std::sqrt(norm)) return "";
  return "the error is " + std::to_string(std::sqrt(error / norm) / 0x1p-53) + " u in the 2-norm";
}
}  // namespace

std::vector<problem> fft_problems() {
  constexpr char const* category = "fft";
  return {
      make_problem(category, "inverse_fft", {.least = 1, .most = 1000},
                   [](auto& t) {
                     auto x = signal(t);
                     auto const want = plain_dft(x, 1, 1 / static_cast<double>(t.n));
                     t.run([&] { inverse_fft(t.exec, x.view()); });
                     return differs_in_norm(want, x);
                   }),
      make_problem(category, "dft", {.least = 1, .most = 1000},
                   [](auto& t) {
                     auto const x = t.template numbers<double>(t.n, -1000, 1000);
                     values<number> real(t.n), got(t.n);
                     for (index_t i = 0; i < t.n; ++i) real[i] = {x[i], 0};
                     t.run([&] { dft(t.exec, x.view(), got.view()); });
                     return differs_in_norm(plain_dft(real, -1), got);
                   }),
      make_problem(category, "fft_conjugate", {.least = 1, .most = 1000},
                   [](auto& t) {
                     auto x = signal(t);
                     auto want = plain_dft(x, -1);
                     for (auto& z : want) z = std::conj(z);
                     t.run([&] { fft_conjugate(t.exec, x.view()); });
                     return differs_in_norm(want, x);
                   }),
      make_problem(category, "split_fft", {.least = 1, .most = 1000},
                   [](auto& t) {
                     auto const x = signal(t);
                     values<double> re(t.n), im(t.n);
                     t.run([&] { split_fft(t.exec, x.view(), re.view(), im.view()); });
                     values<number> got(t.n);
                     for (index_t i = 0; i < t.n; ++i) got[i] = {re[i], im[i]};
                     return differs_in_norm(plain_dft(x, -1), got);
                   }),
      make_problem(category, "fft_out_of_place", {.least = 1, .most = 1000},
                   [](auto& t) {
                     auto const x = signal(t);
                     values<number> got(t.n);
                     t.run([&] { fft_out_of_place(t.exec, x.view(), got.view()); });
                     return differs_in_norm(plain_dft(x, -1), got);
                   }),
  };
}

}  // namespace pareval
