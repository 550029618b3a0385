// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "products.hpp"

#include <heddle/core/fp8.hpp>
#include <heddle/linalg/dequantize.hpp>
#include <heddle/linalg/quantise.hpp>

using namespace heddle;

namespace {

/// What a number becomes in memory, as the definition reads.
template <class C>
C stored(float y) {
  if constexpr (std::is_same_v<C, std::int8_t>)
    return std::isnan(y) ? C{0} : static_cast<C>(std::nearbyint(std::fmin(std::fmax(y, -127.0f), 127.0f)));
  else
    return C(y);
}

template <class T, class C, class Executor>
void check_stored(Executor& exec) {
  std::vector<float> scales(40);
  for (std::size_t r = 0; r < scales.size(); ++r) scales[r] = 0.004f + 0.001f * static_cast<float>(r % 7);
  for (auto const& s : {dims<3>(1, 70, 9), dims<3>(3, 5, 40), dims<3>(30, 2, 8), dims<3>(29, 65, 20), dims<3>(4, 4, 0)})
    for (int which = 0; which < 2; ++which) {
      test::product_problem p{1, s[0], s[1], s[2]};
      p.c.transposed = which & 1;
      INFO(test::text_of(p));
      std::vector<C> const got = test::product_of<T, C>(exec, p, epilogue::quantise_rows{scales.data()});
      std::vector<float> const plain = test::defined_product<T, float>(p);
      for (index_t i = 0; i < p.m * p.n; ++i) {
        std::size_t const at = static_cast<std::size_t>(i), row = static_cast<std::size_t>(i / p.n);
        C const want = stored<C>(mul(plain[at], 1 / scales[row]));
        REQUIRE(std::memcmp(&got[at], &want, sizeof(C)) == 0);
      }
    }
}

/// One product of ones and numbers, whose results are the numbers.
template <class C, class Executor>
std::vector<C> stored_numbers(Executor& exec, std::vector<float> const& x) {
  index_t const n = static_cast<index_t>(x.size());
  float const one = 1;
  std::vector<C> y(x.size());
  matmul(exec, view<float const, 2>(&one, dims<2>(1, 1)), view<float const, 2>(x.data(), dims<2>(1, n)),
         view<C, 2>(y.data(), dims<2>(1, n)));
  exec.synchronize();
  return y;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("products stored as small numbers", "[linalg]", test::executor_cases) {
  TestType setup;
  check_stored<float, std::int8_t>(setup.exec);
  check_stored<float, fp8_e4m3>(setup.exec);
  check_stored<float, bf16>(setup.exec);
}

TEMPLATE_LIST_TEST_CASE("small numbers saturate, ties go to even, NaN is 0 in bytes", "[linalg]",
                        test::executor_cases) {
  TestType setup;
  float const inf = HUGE_VALF, nan = std::nanf("");
  std::vector<float> const x{0.5f, 1.5f, -2.5f, 126.5f, 127.5f, -127.5f, -128, 1e30f, -1e30f, inf, -inf, nan, -0.4f};
  CHECK(stored_numbers<std::int8_t>(setup.exec, x) ==
        std::vector<std::int8_t>{0, 2, -2, 126, 127, -127, -127, 127, -127, 127, -127, 0, 0});
  std::vector<fp8_e4m3> const narrow = stored_numbers<fp8_e4m3>(setup.exec, x);
  CHECK((float{narrow[7]} == 448 && float{narrow[8]} == -448 && float{narrow[4]} == 128));
  CHECK(std::isnan(float{narrow[11]}));
}

TEMPLATE_LIST_TEST_CASE("bytes times bytes, back to bytes", "[linalg]", test::executor_cases) {
  TestType setup;
  constexpr index_t m = 5, n = 37, k = 11;
  std::vector<std::int8_t> a(m * k), b(k * n), c(m * n);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<std::int8_t>(i * 37 % 255 - 127);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<std::int8_t>(i * 91 % 255 - 127);
  std::vector<float> const rows{1e-3f, 2e-3f, 3e-3f, 4e-3f, 5e-3f};
  matmul(setup.exec, view<std::int8_t const, 2>(a.data(), dims<2>(m, k)),
         view<std::int8_t const, 2>(b.data(), dims<2>(k, n)), view<std::int8_t, 2>(c.data(), dims<2>(m, n)),
         {.alpha = 0.5}, epilogue::dequantize{rows.data(), nullptr} | epilogue::quantise{0.25f});
  setup.exec.synchronize();
  for (index_t i = 0; i < m; ++i)
    for (index_t j = 0; j < n; ++j) {
      int sum = 0;
      for (index_t d = 0; d < k; ++d)
        sum += a[static_cast<std::size_t>(i * k + d)] * b[static_cast<std::size_t>(d * n + j)];
      float const y = mul(mul(mul(0.5f, static_cast<float>(sum)), rows[static_cast<std::size_t>(i)]), 4.0f);
      REQUIRE(int{c[static_cast<std::size_t>(i * n + j)]} == int{stored<std::int8_t>(y)});
    }
}
