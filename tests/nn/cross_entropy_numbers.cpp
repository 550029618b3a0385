// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Every option of cross entropy against its formula, on the oracle in double.

#include <heddle/nn/cross_entropy.hpp>

#include "results.hpp"

namespace heddle {
namespace {

using test::column;
using test::input;
using test::matrix;

}  // namespace

// NU-4's convention: smoothing spreads over all classes, the target among them.
TEST_CASE("smoothing, z loss and cap against fp64, and their gradients against differences", "[nn]") {
  reference_executor exec;
  constexpr index_t rows = 3, classes = 67;
  input<double> x(rows * classes, 3, -4, 4);
  std::int32_t const targets[rows] = {5, 66, 0};
  double const scale = 0.75;
  for (double const smoothing : {0.0, 0.1})
    for (double const z : {0.0, 1e-2})
      for (double const cap : {0.0, 3.0}) {
        nn::cross_entropy_options o;
        o.smoothing = smoothing;
        o.z_loss = z;
        o.soft_cap = cap;
        double loss[rows], lse[rows], gradient[rows * classes];
        auto const t = column<std::int32_t const>(targets, rows);
        auto const forward = [&] {
          nn::cross_entropy(exec, matrix<double const>(x.data(), rows, classes), t, column(loss, rows),
                            column(lse, rows), o);
        };
        forward();
        nn::cross_entropy_backward(exec, matrix<double const>(x.data(), rows, classes), t, column(lse, rows),
                                   column(&scale, 1), matrix(gradient, rows, classes), o);
        for (index_t r = 0; r < rows; ++r) {
          double total = 0, mean = 0;
          auto const logit = [&](index_t c) {
            double const v = x[r * classes + c];
            return cap > 0 ? cap * std::tanh(v / cap) : v;
          };
          for (index_t c = 0; c < classes; ++c) {
            total += std::exp(logit(c));
            mean += logit(c) / classes;
          }
          double const l = std::log(total), hit = l - logit(targets[r]);
          double const want = (1 - smoothing) * hit + smoothing * (l - mean) + z * l * l;
          // In roundings: a capped logit 4 times 3; an exponent below 8, exp 2, the sum 9 here and 67 above; a
          // logarithm below 9, 2 times; the rest once each of numbers below 9. The log-sum-exp counts once, z l^2 less.
          REQUIRE(std::abs(loss[r] - want) <= 150 * 0x1p-53 * (1 + std::abs(want)));
        }
        for (index_t i = 0; i < rows * classes; i += 7) {
          double const before = x[i], h = 1e-5;
          x[i] = before + h;
          forward();
          double const above = loss[i / classes];
          x[i] = before - h;
          forward();
          double const slope = (above - loss[i / classes]) / (2 * h);
          x[i] = before;
          // h^2 times a third derivative below 1, and 2^-53 times 10 over h.
          REQUIRE(std::abs(gradient[i] - scale * slope) <= 4e-10);
        }
      }
}

}  // namespace heddle
