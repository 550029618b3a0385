// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support.hpp"

#include <heddle/comm/exact_sum.hpp>

#include <support/executors.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

using namespace heddle;
using namespace heddle::test;

namespace {

/// A natural number in units of 2^-298, one bit per element: the sum as the definition reads.
struct natural {
  std::vector<int> bit = std::vector<int>(700, 0);
  void add_square(float x) {
    int e = 0;
    std::uint64_t const m = static_cast<std::uint64_t>(std::ldexp(std::frexp(std::fabs(x), &e), 24));
    std::uint64_t square = m * m;
    int at = 2 * (e - 24) + 298;
    for (; at < 0; ++at) square >>= 1;  // exact: the low bits of a subnormal are zero
    for (int carry = 0; square != 0 || carry != 0; ++at, square >>= 1) {
      int const s = bit[static_cast<std::size_t>(at)] + static_cast<int>(square & 1) + carry;
      bit[static_cast<std::size_t>(at)] = s & 1;
      carry = s >> 1;
    }
  }
  double round() const {
    int top = 699;
    while (top > 0 && bit[static_cast<std::size_t>(top)] == 0) --top;
    int const low = std::max(0, top - 52);
    double kept = 0;
    for (int i = top; i >= low; --i) kept = 2 * kept + bit[static_cast<std::size_t>(i)];
    bool const half = low > 0 && bit[static_cast<std::size_t>(low - 1)] != 0;
    bool rest = false;
    for (int i = 0; i + 1 < low; ++i) rest = rest || bit[static_cast<std::size_t>(i)] != 0;
    if (half && (rest || std::fmod(kept, 2) == 1)) kept += 1;
    return std::ldexp(kept, low - 298);
  }
};

std::vector<float> any_floats(int n, unsigned seed, int least, int most) {
  std::mt19937 random(seed);
  std::vector<float> v(static_cast<std::size_t>(n));
  for (float& x : v) {
    int const e = least + static_cast<int>(random() % static_cast<unsigned>(most - least + 1));
    x = std::ldexp(static_cast<float>(random() % 16777216) / 16777216.0f + 0.5f, e) * (random() % 2 ? 1.0f : -1.0f);
  }
  return v;
}

template <class T, class E>
T exact(E& exec, std::vector<float> const& x) {
  std::vector<std::uint64_t> sum(static_cast<std::size_t>(exact_sum_words), 0);
  T out{};
  exact_sum_add(exec, as_view(x), as_view(sum));
  exact_sum_round(exec, as_view(sum), view<T, 1>(&out, dims<1>(1)));
  exec.synchronize();
  return out;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("an exact sum of squares is the rounded true sum", "[comm]", executor_cases) {
  TestType setup;
  for (unsigned seed = 0; seed < 12; ++seed)
    for (int n : {0, 1, 2, 31, 1000}) {
      bool const wide = seed % 3 == 0;
      std::vector<float> const x = any_floats(n, seed, wide ? -148 : -20, wide ? 127 : 10);
      natural right;
      for (float v : x) right.add_square(v);
      CAPTURE(seed, n);
      REQUIRE(exact<double>(setup.exec, x) == right.round());
    }
}

TEMPLATE_LIST_TEST_CASE("an exact sum of blocks whose sizes differ", "[comm]", executor_cases) {
  TestType setup;
  std::vector<float> x;
  auto const more = [&](int n, int least, int most) {
    std::vector<float> const next = any_floats(n, static_cast<unsigned>(x.size()), least, most);
    x.insert(x.end(), next.begin(), next.end());
  };
  more(5000, -6, 0);       // what two anchors hold
  more(4096, 20, 27);      // far above the peak of the block before
  more(4096, -40, -30);    // far below it
  more(3000, -50, 0);      // what takes four
  more(1096, -90, 0);      // and what no four hold
  x.insert(x.end(), 5000, 0.0f);
  more(4096, -148, -120);  // subnormal numbers
  more(2111, 120, 127);
  for (std::size_t const n : {x.size(), x.size() - 31, std::size_t{4096 * 3}, std::size_t{512}, std::size_t{33}}) {
    std::vector<float> const part(x.end() - static_cast<std::ptrdiff_t>(n), x.end());
    natural right;
    for (float v : part) right.add_square(v);
    CAPTURE(n);
    REQUIRE(exact<double>(setup.exec, part) == right.round());
  }
  x[7000] = std::numeric_limits<float>::infinity();
  REQUIRE(std::isinf(exact<double>(setup.exec, x)));
  x[3000] = std::nanf("");
  REQUIRE(std::isnan(exact<double>(setup.exec, x)));
}

TEST_CASE("an exact sum agrees with long double where that is exact", "[comm]") {
  serial_executor exec;
  std::mt19937 random(7);
  std::vector<float> x(200000);
  long double sum = 0;
  for (float& v : x) {
    v = static_cast<float>(static_cast<int>(random() % 2001) - 1000);
    sum += static_cast<long double>(v) * v;
  }
  REQUIRE(exact<double>(exec, x) == static_cast<double>(sum));
  REQUIRE(exact<float>(exec, x) == static_cast<float>(sum));
}

TEST_CASE("extreme terms of an exact sum", "[comm]") {
  serial_executor exec;
  float const inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  float const least = std::numeric_limits<float>::denorm_min(), most = std::numeric_limits<float>::max();
  REQUIRE(exact<double>(exec, {}) == 0);
  REQUIRE(exact<double>(exec, {least}) == std::ldexp(1.0, -298));
  REQUIRE(exact<float>(exec, {least}) == 0);
  REQUIRE(exact<double>(exec, {most, most}) == 2 * static_cast<double>(most) * static_cast<double>(most));
  REQUIRE(std::isinf(exact<float>(exec, {most})));
  // 1 + 2^-53 lies half-way between two doubles; the least term breaks the tie.
  float const small = std::ldexp(1.0f, -27);
  REQUIRE(exact<double>(exec, {1, small, small}) == 1);
  REQUIRE(exact<double>(exec, {1, small, small, least}) == 1 + std::ldexp(1.0, -52));
  // A subnormal result is rounded once too: 2^-148 + 2^-149 fits, half of 2^-149 is a tie.
  float const tiny = std::ldexp(1.0f, -75);
  REQUIRE(exact<float>(exec, {std::ldexp(1.0f, -74), tiny, tiny}) == 3 * least);
  REQUIRE(exact<float>(exec, {tiny}) == 0);
  REQUIRE(exact<float>(exec, {tiny, least}) == least);
  REQUIRE(std::isinf(exact<double>(exec, {1, inf, -inf})));
  REQUIRE(std::isnan(exact<double>(exec, {1, inf, nan})));
}

TEST_CASE("full digits carry", "[comm]") {
  std::uint64_t words[exact_sum_words] = {};
  for (index_t i = 0; i < 4; ++i) words[i] = UINT64_MAX;
  detail::exact_normalise(words);
  unsigned __int128 carry = 0;
  for (index_t i = 0; i < exact_sum_digits; ++i) {
    carry += i < 4 ? UINT64_MAX : 0;
    REQUIRE(words[i] == static_cast<std::uint32_t>(carry));
    carry >>= 32;
  }
}

TEST_CASE("the exact sum of all ranks does not depend on how elements lie", "[comm]") {
  std::vector<float> const all = any_floats(30000, 3, -60, 40);
  std::vector<double> results;
  for (int p : rank_counts) {
    rank_checks check;
    double result = 0;
    run_test_ranks(p, [&](thread_communicator& comm) {
      threads_executor exec(2);
      part const mine = balanced_part(30000, p, comm.rank());
      std::vector<std::uint64_t> sum(static_cast<std::size_t>(exact_sum_words), 0);
      double norm = 0;
      index_t const middle = mine.offset + mine.size / 3;
      exact_sum_add(exec, slice(as_view(all), 0, middle, mine.end()), as_view(sum));
      exact_sum_add(exec, slice(as_view(all), 0, mine.offset, middle), as_view(sum));
      all_reduce(comm, exec, as_view(sum), as_view(sum));
      exact_sum_round(exec, as_view(sum), view<double, 1>(&norm, dims<1>(1)));
      exec.synchronize();
      if (comm.rank() == 0) result = norm;
      check(norm > 0, "positive");
    });
    check.finish();
    results.push_back(result);
  }
  for (double r : results) REQUIRE(r == results[0]);
}

TEST_CASE("gathering by exponent gives the words of adding one by one", "[comm]") {
  for (index_t n : {511, 512, 513, 4099, 65536, 65537, 70001}) {
    std::vector<float> x(static_cast<std::size_t>(n));
    std::uint32_t state = 12345;
    for (float& v : x) {  // every exponent, subnormals, infinities and NaN
      state = state * 1664525u + 1013904223u;
      v = __builtin_bit_cast(float, (state & 0x807fffffu) | ((state >> 5) % 256u) << 23);
    }
    x[static_cast<std::size_t>(n / 2)] = __builtin_inff();
    std::vector<std::uint64_t> want(static_cast<std::size_t>(exact_sum_words)), got = want;
    for (float v : x) detail::exact_add_square(want.data(), v);
    detail::exact_normalise(want.data());
    detail::exact_add_squares(got.data(), x.data(), n);
    CHECK(got == want);
    CHECK(got[static_cast<std::size_t>(detail::exact_sum_infinite)] > 0);
  }
}
