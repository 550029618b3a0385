// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/core/math.hpp>
#include <heddle/core/math_weight.hpp>
#include <heddle/tile/vec.hpp>

#include "support/catch.hpp"

#include <cstdint>

namespace heddle {

TEMPLATE_TEST_CASE("exp_weight is exp where e^x is normal, and zero below", "[core]", float, double) {
  using T = TestType;
  T const least = detail::exp_weight_min<T>;
  std::uint64_t state = 7;
  for (int i = 0; i < 200000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    T const x = least * static_cast<T>(static_cast<double>(state >> 11) * 0x1p-53);
    REQUIRE(bit_cast<uint_bits_t<T>>(exp_weight(x)) == bit_cast<uint_bits_t<T>>(exp(x)));
  }
  CHECK(exp_weight(T(0)) == T(1));
  CHECK(exp_weight(-T(0)) == T(1));
  CHECK(exp_weight(least) == exp(least));
  CHECK(exp_weight(least - T(1)) == T(0));
  CHECK(exp_weight(-static_cast<T>(__builtin_inf())) == T(0));
  T const nan = exp_weight(static_cast<T>(__builtin_nan("")));
  CHECK(nan != nan);
  CHECK(exp_weight(T(-3), T(-3)) == exp(T(-3)));
  CHECK(exp_weight(T(-3.5), T(-3)) == T(0));
  CHECK(exp_weight(T(0.5)) == exp(T(0.5)));  // rounding may put a score above its row's log-sum-exp
}

TEMPLATE_TEST_CASE("the base of a row is its maximum, or 0 where that is -inf", "[core]", float, double) {
  using T = TestType;
  T const inf = static_cast<T>(__builtin_inf()), nan = softmax_base(static_cast<T>(__builtin_nan("")));
  CHECK(softmax_base(-inf) == T(0));
  CHECK(softmax_base(T(-3)) == T(-3));
  CHECK(softmax_base(inf) == inf);
  CHECK(nan != nan);
  CHECK(exp_weight(-inf - softmax_base(-inf)) == T(0));
}

TEST_CASE("exp_weight gives vectors the scalar's bits", "[core]") {
  using V = vec<float, 16, 4>;
  float in[16], out[16];
  for (int i = 0; i < 16; ++i) in[i] = -0.37f * static_cast<float>(i * i);
  exp_weight(V::load(in)).store(out);
  for (int i = 0; i < 16; ++i) CHECK(bit_cast<std::uint32_t>(out[i]) == bit_cast<std::uint32_t>(exp_weight(in[i])));
}

}  // namespace heddle
