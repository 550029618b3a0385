// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/extents.hpp>

#include <concepts>

namespace heddle::optim::detail {

/// a·b rounded on its own: the compiler can't fuse it with a later addition.
template <std::floating_point T>
HEDDLE_HD_FN T product(T a, T b) noexcept {
  T c = a * b;
#if !defined(__CUDA_ARCH__)
#if defined(__x86_64__)
  __asm__("" : "+x"(c));
#elif defined(__aarch64__)
  __asm__("" : "+w"(c));
#endif
#endif
  return c;
}

/// The correctly rounded square root. Pre: a >= 0 or NaN.
HEDDLE_HD_FN float square_root(float a) noexcept { return __builtin_sqrtf(a); }
HEDDLE_HD_FN double square_root(double a) noexcept { return __builtin_sqrt(a); }

/// base^n by squaring, in a fixed order. Pre: n >= 0.
HEDDLE_HD_FN double power(double base, index_t n) noexcept {
  double result = 1;
  for (; n > 0; n /= 2) {
    if (n % 2 != 0) result = product(result, base);
    base = product(base, base);
  }
  return result;
}

}  // namespace heddle::optim::detail
