// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/optim/clip.hpp>
#include <heddle/optim/exact_norm.hpp>

#include <support/catch.hpp>
#include <support/executors.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

using namespace heddle;

namespace {
using sum_t = std::vector<std::uint64_t>;
sum_t zero() { return sum_t(static_cast<std::size_t>(optim::square_sum_numbers)); }

template <class E>
void add(E& exec, std::vector<float> const& x, sum_t& sum) {
  optim::add_squares(exec, view<float const, 1>(x.data(), dims<1>(static_cast<index_t>(x.size()))),
                     view<std::uint64_t, 1>(sum.data(), dims<1>(optim::square_sum_numbers)));
  exec.synchronize();
}
template <class E>
double norm(E& exec, sum_t const& sum) {
  double out = -1;
  optim::norm_of_squares(exec, view<std::uint64_t const, 1>(sum.data(), dims<1>(optim::square_sum_numbers)),
                         view<double, 1>(&out, dims<1>(1)));
  exec.synchronize();
  return out;
}
template <class E>
double norm_of(E& exec, std::vector<float> const& x) {
  sum_t sum = zero();
  add(exec, x, sum);
  return norm(exec, sum);
}
std::vector<float> mixed(std::size_t n) {
  std::vector<float> x(n);
  std::uint32_t state = 12345;
  for (float& v : x) {
    state = state * 1664525u + 1013904223u;
    std::uint32_t const bits = (state & 0x807fffffu) | ((state >> 5) % 255u) << 23;
    v = bit_cast<float>(bits);
  }
  return x;
}
}  // namespace

TEMPLATE_LIST_TEST_CASE("norms that are known", "[optim]", test::executor_cases) {
  TestType setup;
  auto& exec = setup.exec;
  float const most = std::numeric_limits<float>::max(), least = std::numeric_limits<float>::denorm_min();
  CHECK(norm_of(exec, {}) == 0);
  CHECK(norm_of(exec, {0.0f, -0.0f}) == 0);
  CHECK(norm_of(exec, {3, -4}) == 5);
  CHECK(norm_of(exec, {3, 4, 12}) == 13);
  CHECK(norm_of(exec, {most}) == static_cast<double>(most));
  CHECK(norm_of(exec, {least}) == static_cast<double>(least));
  CHECK(norm_of(exec, {least, least, least, least}) == 2 * static_cast<double>(least));
  CHECK(norm_of(exec, {most, 1, least}) == static_cast<double>(most));
  CHECK(norm_of(exec, std::vector<float>(100000, most)) ==
        std::sqrt(100000.0 * static_cast<double>(most) * static_cast<double>(most)));
  CHECK(std::isinf(norm_of(exec, {1, std::numeric_limits<float>::infinity()})));
  CHECK(std::isinf(norm_of(exec, {std::numeric_limits<float>::quiet_NaN()})));
}

TEST_CASE("the sum is rounded once, to nearest even", "[optim]") {
  serial_executor exec;
  // 2^52 + 0.5 lies between two doubles; one more element of 2^-40 decides, one of zero leaves the tie.
  float const big = 67108864.0f, half = 0.70710677f;  // 2^26
  auto squares = [&](std::vector<float> const& x) {
    sum_t sum = zero();
    add(exec, x, sum);
    return optim::detail::rounded_sum(sum.data());
  };
  double const b = 4503599627370496.0;
  CHECK(squares({big}) == b);
  CHECK(squares({big, 0.5f, 0.5f}) == b);                      // a tie, to even
  CHECK(squares({big, 0.5f, 0.5f, 9.5367432e-7f}) == b + 1);   // just above
  CHECK(squares({big, half}) == b);                            // half² is just below 0.5
  CHECK(squares({big, 1, 0.5f, 0.5f}) == b + 2);               // a tie, to even
}

TEST_CASE("a sum over every exponent agrees with one in quadruple precision", "[optim]") {
  serial_executor exec;
  std::vector<float> x = mixed(70001);
  for (int scale : {0, -60, 60}) {
    std::vector<float> y;
    for (float v : x) {
      float const s = std::ldexp(v, scale);
      if (std::isfinite(s)) y.push_back(s);
    }
    std::vector<float> order = y;
    std::sort(order.begin(), order.end(), [](float a, float b) { return std::fabs(a) < std::fabs(b); });
    long double want = 0;
    for (float v : order) want += static_cast<long double>(v) * static_cast<long double>(v);
    CHECK(norm_of(exec, y) == Approx(static_cast<double>(std::sqrt(want))).epsilon(1e-15));
  }
}

TEMPLATE_LIST_TEST_CASE("any order and any cut give the same numbers", "[optim]", test::executor_cases) {
  TestType setup;
  std::vector<float> x = mixed(200003);
  double const whole = norm_of(setup.exec, x);
  CHECK(std::isfinite(whole));
  sum_t total = zero();
  for (std::size_t rank = 0; rank < 7; ++rank) {  // as an integer all_reduce would
    sum_t part = zero();
    add(setup.exec, std::vector<float>(x.begin() + static_cast<std::ptrdiff_t>(rank * x.size() / 7),
                                       x.begin() + static_cast<std::ptrdiff_t>((rank + 1) * x.size() / 7)), part);
    for (std::size_t i = 0; i < part.size(); ++i) total[i] += part[i];
  }
  CHECK(norm(setup.exec, total) == whole);
  std::reverse(x.begin(), x.end());
  CHECK(norm_of(setup.exec, x) == whole);
}

TEST_CASE("sharded and replicated parameters count once each", "[optim]") {
  serial_executor exec;
  // Two ranks hold shards [3] and [4] and both hold the replicated [12], which its owner alone adds.
  sum_t first = zero(), second = zero();
  add(exec, {3}, first);
  add(exec, {12}, first);
  add(exec, {4}, second);
  for (std::size_t i = 0; i < first.size(); ++i) first[i] += second[i];
  CHECK(norm(exec, first) == 13);
  CHECK(optim::decide_clip(norm(exec, first), 6.5).coefficient == Approx(0.5).epsilon(1e-6));
}
