// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/attention/softmax_monoid.hpp>

#include "support/catch.hpp"

#include <cmath>
#include <cstring>
#include <limits>

using namespace heddle;
using namespace heddle::attention;

namespace {

using monoid = softmax_monoid<double>;
using state = softmax_state<double, 2>;
constexpr double inf = std::numeric_limits<double>::infinity();

bool close(double got, double right, double relative) {
  return std::fabs(got - right) <= relative * std::fabs(right);
}

state empty() {
  state s;
  monoid::identity(s);
  return s;
}

state of(std::initializer_list<double> scores, double first_value = 1) {
  state s = empty();
  double v = first_value;
  for (double score : scores) {
    monoid::push(s, score, [v](index_t d) { return d == 0 ? v : -v; });
    v += 1;
  }
  return s;
}

}  // namespace

TEST_CASE("the empty state finishes as zero and -inf", "[attention]") {
  state s = empty();
  REQUIRE(monoid::finish(s) == -inf);
  REQUIRE(s.acc[0] == 0);
  REQUIRE_FALSE(std::signbit(s.acc[1]));
}

TEST_CASE("the empty state is the identity, to the bit", "[attention]") {
  state const some = of({0.5, -2, 3});
  state left = empty(), right = some;
  monoid::combine(left, some);
  monoid::combine(right, empty());
  REQUIRE(std::memcmp(&left, &some, sizeof some) == 0);
  REQUIRE(std::memcmp(&right, &some, sizeof some) == 0);
  state none = empty();
  monoid::combine(none, empty());
  REQUIRE(monoid::log_sum_exp(none) == -inf);
}

TEST_CASE("combining commutes exactly and agrees with pushing", "[attention]") {
  state ab = of({0.5, -2, 3}, 1), ba = of({40, 1}, 4);
  state const a = ab, b = ba;
  monoid::combine(ab, b);
  monoid::combine(ba, a);
  REQUIRE(std::memcmp(&ab, &ba, sizeof ab) == 0);
  state const whole = of({0.5, -2, 3, 40, 1}, 1);
  REQUIRE(ab.max == whole.max);
  REQUIRE(std::fabs(ab.sum - whole.sum) <= 8 * 0x1p-53 * whole.sum);
  REQUIRE(std::fabs(ab.acc[0] - whole.acc[0]) <= 8 * 0x1p-53 * whole.acc[0]);
}

TEST_CASE("a block is one rescaling of many keys", "[attention]") {
  double scores[] = {1, -inf, 2.5};
  state s = empty();
  monoid::push_block(s, 3, scores, [](index_t c, index_t) { return static_cast<double>(c); });
  double const e = std::exp(-1.5);
  REQUIRE(s.max == 2.5);
  REQUIRE(scores[1] == 0);
  REQUIRE(close(monoid::output(s, 0), 2 / (1 + e), 1e-14));
  monoid::push_block(s, 0, scores, [](index_t, index_t) { return std::nan(""); });
  REQUIRE(close(monoid::log_sum_exp(s), 2.5 + std::log(1 + e), 1e-14));
}

TEST_CASE("large scores neither overflow nor vanish", "[attention]") {
  for (double x : {-6e4, 8e4, 1e30}) {
    state s = of({x, x, x});
    REQUIRE(monoid::output(s, 0) == 2);
    REQUIRE(close(monoid::log_sum_exp(s), x + std::log(3.0), 1e-15));
  }
}

TEST_CASE("scores that are not finite", "[attention]") {
  state hidden = of({-inf, -inf});
  REQUIRE(monoid::output(hidden, 0) == 0);
  REQUIRE(monoid::log_sum_exp(hidden) == -inf);
  REQUIRE(std::isnan(monoid::output(of({1, inf}), 0)));
  REQUIRE(std::isnan(monoid::output(of({std::nan(""), 1}), 0)));
  REQUIRE(std::isnan(monoid::log_sum_exp(of({1, std::nan("")}))));
}
