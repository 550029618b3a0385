// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>
#include <complex>
#include <vector>

namespace pareval::plain {

/// The sum as it is defined, in more digits than double has: exponents with the sign of `sign`, no factor in front.
inline std::vector<std::complex<double>> dft(std::vector<std::complex<double>> const& x, int sign) {
  std::size_t const n = x.size();
  std::vector<std::complex<long double>> turn(n);
  for (std::size_t j = 0; j < n; ++j) {
    long double const angle =
        sign * 2 * 3.14159265358979323846264338327950288L * static_cast<long double>(j) / static_cast<long double>(n);
    turn[j] = {std::cos(angle), std::sin(angle)};
  }
  std::vector<std::complex<double>> out(n);
  for (std::size_t k = 0; k < n; ++k) {
    std::complex<long double> sum = 0;
    for (std::size_t j = 0; j < n; ++j) sum += std::complex<long double>(x[j]) * turn[j * k % n];
    out[k] = std::complex<double>(sum);
  }
  return out;
}

}  // namespace pareval::plain
