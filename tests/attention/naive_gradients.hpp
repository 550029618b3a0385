// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Gradients of one sequence in double over a stored score matrix, with how far a float computation may be off.

#include "problems.hpp"

namespace heddle::test {

/// A gradient, the sum of the magnitudes of its terms, and the bound of its error, element by element.
struct bounded {
  array<double> value, size, bound;
  bounded(index_t a, index_t b, index_t c) : value(a, b, c), size(a, b, c), bound(a, b, c) {
    for (array<double>* x : {&value, &size, &bound})
      for (double& y : x->data) y = 0;
  }
  void add(index_t a, index_t b, index_t c, double factor, double x, double error) {
    value(a, b, c) += factor * x;
    size(a, b, c) += std::fabs(factor * x);
    bound(a, b, c) += std::fabs(factor) * error;
  }
};

/// Errors follow the chain of the computation: a score is off by d = 4 (sqrt(dk) + 1) u A, A the largest sum of
/// scale |q k| (random data); a weight by the errors of score and log-sum-exp; dP and delta by those of their sums and
/// of the output; a gradient by the errors of what it sums plus those of summing.
struct naive_gradients {
  static constexpr double u = 0x1p-24;
  bounded dq, dk, dv;

  template <class Mask>
  naive_gradients(problem<float> const& p, Mask const& mask, index_t offset, double scale, double cap)
      : dq(p.q.a, p.q.b, p.q.c), dk(p.k.a, p.k.b, p.k.c), dv(p.v.a, p.v.b, p.v.c) {
    for (index_t h = 0; h < p.q.b; ++h)
      for (index_t i = 0; i < p.q.a; ++i) {
        naive_row const row = naive(p, i, h, i + offset, 0, p.k.a, mask, scale, cap);
        for (index_t j = 0; j < p.k.a; ++j)
          if (mask.visible(i + offset, j)) add_pair(p, row, i, j, h, scale, cap);
      }
    add_summing(dq, p.k.a);
    add_summing(dk, p.q.a * (p.q.b / p.k.b));
    add_summing(dv, p.q.a * (p.q.b / p.k.b));
  }

 private:
  static double sum_error(double terms) { return 4 * (std::sqrt(terms) + 1) * u; }

  void add_pair(problem<float> const& p, naive_row const& row, index_t i, index_t j, index_t h, double scale,
                double cap) {
    index_t const kv = h / (p.q.b / p.k.b);
    double s = 0, dp = 0, dp_size = 0, delta = 0, delta_size = 0, dout_size = 0, slope = 1;
    for (index_t d = 0; d < p.q.c; ++d) s += double(p.q(i, h, d)) * double(p.k(j, kv, d));
    s *= scale;
    if (cap > 0) {
      double const t = std::tanh(s / cap);
      slope = 1 - t * t;
      s = cap * t;
    }
    for (index_t d = 0; d < p.v.c; ++d) {
      double const g = double(p.dout(i, h, d)), x = g * double(p.v(j, kv, d)), y = g * row.out[std::size_t(d)];
      dp += x, dp_size += std::fabs(x);
      delta += y, delta_size += std::fabs(y);
      dout_size += std::fabs(g);
    }
    double const score = sum_error(double(p.q.c)) * row.size, weight = std::exp(s - row.lse);
    double const of_weight = 2 * score + 4e-6 * (1 + std::fabs(row.lse));
    double const of_out = (2e-6 + 2 * score) * row.max_v;
    double const excess = dp - delta;
    double const of_excess = sum_error(double(p.v.c)) * (dp_size + delta_size) + dout_size * of_out;
    double const ds = weight * excess * slope;
    double const of_ds = weight * (of_weight * std::fabs(excess) + of_excess + 16 * u * std::fabs(excess));
    for (index_t d = 0; d < p.q.c; ++d) {
      dq.add(i, h, d, scale * double(p.k(j, kv, d)), ds, of_ds);
      dk.add(j, kv, d, scale * double(p.q(i, h, d)), ds, of_ds);
    }
    for (index_t d = 0; d < p.v.c; ++d) dv.add(j, kv, d, double(p.dout(i, h, d)), weight, weight * of_weight);
  }

  static void add_summing(bounded& to, index_t terms) {
    for (std::size_t e = 0; e < to.bound.data.size(); ++e)
      to.bound.data[e] += sum_error(static_cast<double>(terms)) * to.size.data[e];
  }
};

}  // namespace heddle::test
