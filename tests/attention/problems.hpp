// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Random attention problems, and naive attention in double over a stored score matrix to compare with.

#include "support/catch.hpp"
#include "support/executors.hpp"

#include <heddle/attention/backward.hpp>
#include <heddle/attention/forward.hpp>
#include <heddle/backend/cpu/attention_backward.hpp>
#include <heddle/backend/cpu/attention_forward.hpp>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace heddle::test {

inline constexpr double inf = std::numeric_limits<double>::infinity();

/// The tolerance of worked examples in float: relative 1e-6 or absolute 1e-7.
inline bool close(double got, double right, double relative = 1e-6, double absolute = 1e-7) {
  return std::fabs(got - right) <= std::max(relative * std::fabs(right), absolute);
}

/// Predicates by name: a lambda in a test that runs over executors would be another mask, and another set of loops,
/// for each of them.
template <int Keys>
struct first_keys {
  constexpr bool operator()(index_t, index_t j) const { return j < Keys; }
};
struct one_in_five {
  constexpr bool operator()(index_t i, index_t j) const { return (i * 7 + j * 3) % 5 == 0; }
};

struct shape {
  index_t tokens_q = 1, tokens_k = 1, heads_q = 1, heads_kv = 1, dk = 1, dv = 1;
};

/// A rank-3 or rank-2 array that starts as NaN.
template <class T>
struct array {
  std::vector<T> data;
  index_t a, b, c;
  array(index_t a_, index_t b_, index_t c_ = 1)
      : data(static_cast<std::size_t>(a_ * b_ * c_), T(std::numeric_limits<float>::quiet_NaN())), a(a_), b(b_), c(c_) {}
  array(std::initializer_list<double> column)
      : data(), a(static_cast<index_t>(column.size())), b(1), c(1) {
    for (double x : column) data.push_back(T(x));
  }
  view<T, 3> rows() { return {data.data(), dims<3>(a, b, c)}; }
  view<T, 2> numbers() { return {data.data(), dims<2>(a, b)}; }
  T& operator()(index_t i, index_t j = 0, index_t d = 0) {
    return data[static_cast<std::size_t>((i * b + j) * c + d)];
  }
  T const& operator()(index_t i, index_t j = 0, index_t d = 0) const {
    return data[static_cast<std::size_t>((i * b + j) * c + d)];
  }
  /// Uniform in [-range, range).
  void fill(std::uint64_t seed, double range = 2) {
    std::uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
    for (T& x : data) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      x = T(static_cast<float>(range * (static_cast<double>(state >> 11) * 0x1p-52 - 1)));
    }
  }
};

template <class T>
bool same_bits(array<T> const& x, array<T> const& y) {
  return x.data.size() == y.data.size() &&
         (x.data.empty() || std::memcmp(x.data.data(), y.data.data(), x.data.size() * sizeof(T)) == 0);
}

/// Operands, results and gradients of one problem.
template <class T>
struct problem {
  using number = accumulator_t<T>;
  array<T> q, k, v, out, dout, dq, dk, dv;
  array<number> lse;
  explicit problem(shape const& s, std::uint64_t seed = 1)
      : q(s.tokens_q, s.heads_q, s.dk), k(s.tokens_k, s.heads_kv, s.dk), v(s.tokens_k, s.heads_kv, s.dv),
        out(s.tokens_q, s.heads_q, s.dv), dout(s.tokens_q, s.heads_q, s.dv), dq(q), dk(k), dv(v),
        lse(s.heads_q, s.tokens_q) {
    q.fill(seed);
    k.fill(seed + 1);
    v.fill(seed + 2);
    dout.fill(seed + 3);
  }
  template <class Exec, class Mask, class Bias>
  void forward(Exec& exec, attention::options<Mask, Bias> const& o) {
    attention::forward(exec, q.rows(), k.rows(), v.rows(), out.rows(), lse.numbers(), o);
    exec.synchronize();
  }
  template <class Exec, class Mask, class Bias>
  void backward(Exec& exec, attention::options<Mask, Bias> const& o) {
    attention::backward(exec, q.rows(), k.rows(), v.rows(), out.rows(), lse.numbers(), dout.rows(), dq.rows(),
                        dk.rows(), dv.rows(), o);
    exec.synchronize();
  }
};

/// What naive attention in double finds for one row, with the size that its error bound is made of.
struct naive_row {
  std::vector<double> out;
  double lse = -inf;
  double size = 0;   ///< largest scale * sum |q k| of a visible key
  double max_v = 0;  ///< largest |v| of a visible key
};

/// Query i of one sequence whose keys are rows [begin, begin + length).
template <class T, class Mask>
naive_row naive(problem<T> const& p, index_t query, index_t head, index_t position, index_t begin, index_t length,
                Mask const& mask, double scale, double cap = 0) {
  index_t const kv = head / (p.q.b / p.k.b);
  naive_row r;
  r.out.assign(static_cast<std::size_t>(p.v.c), 0.0);
  std::vector<double> scores;
  std::vector<index_t> keys;
  double max = -inf;
  for (index_t j = 0; j < length; ++j) {
    if (!mask.visible(position, j)) continue;
    double s = 0, size = 0;
    for (index_t d = 0; d < p.q.c; ++d) {
      double const x = static_cast<double>(p.q(query, head, d)) * static_cast<double>(p.k(begin + j, kv, d));
      s += x;
      size += std::fabs(x);
    }
    s *= scale;
    if (cap > 0) s = cap * std::tanh(s / cap);
    r.size = std::max(r.size, std::fabs(scale) * size);
    scores.push_back(s);
    keys.push_back(begin + j);
    max = std::max(max, s);
  }
  double sum = 0;
  for (double& s : scores) sum += s = std::exp(s - max);
  for (std::size_t n = 0; n < scores.size(); ++n)
    for (index_t d = 0; d < p.v.c; ++d) {
      double const x = static_cast<double>(p.v(keys[n], kv, d));
      r.out[static_cast<std::size_t>(d)] += scores[n] / sum * x;
      r.max_v = std::max(r.max_v, std::fabs(x));
    }
  if (!scores.empty()) r.lse = max + std::log(sum);
  return r;
}

}  // namespace heddle::test
