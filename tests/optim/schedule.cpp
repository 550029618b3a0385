// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/optim/schedule.hpp>

#include <support/catch.hpp>

#include <cmath>

using namespace heddle;
using optim::lr_schedule;
using optim::lr_shape;

TEST_CASE("warm-up is linear and ends at the peak", "[optim]") {
  lr_schedule const s{.peak = 8, .warmup = 4};
  CHECK(s(0) == 2);
  CHECK(s(3) == 8);
  CHECK(s(4) == 8);
  CHECK(s(1000000) == 8);
  CHECK_THROWS_AS(s(-1), contract_error);
}

TEST_CASE("decay reaches the floor and stays there", "[optim]") {
  lr_schedule const linear{.peak = 3, .floor = 1, .warmup = 2, .total = 10, .shape = lr_shape::linear};
  CHECK(linear(2) == 3);
  CHECK(linear(6) == 2);
  CHECK(linear(10) == 1);
  CHECK(linear(99) == 1);
  lr_schedule const cosine{.peak = 3, .floor = 1, .warmup = 2, .total = 10, .shape = lr_shape::cosine};
  CHECK(cosine(2) == 3);
  CHECK(cosine(6) == Approx(2).epsilon(1e-15));
  CHECK(cosine(4) == Approx(2 + std::sqrt(0.5)).epsilon(1e-15));
  CHECK(cosine(10) == 1);
  lr_schedule const none{.peak = 3, .floor = 1, .warmup = 5, .total = 5, .shape = lr_shape::cosine};
  CHECK(none(5) == 1);
  lr_schedule const backwards{.peak = 3, .warmup = 5, .total = 4, .shape = lr_shape::linear};
  CHECK_THROWS_AS(backwards(5), contract_error);
}
