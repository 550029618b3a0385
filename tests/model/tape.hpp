// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// What an independent reference of a training step is written with: derivatives, and numbers with bounds. Nothing of
/// the library is used.

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace heddle::test {

inline constexpr double unit = 0x1p-24;  ///< of rounding to fp32

/// A number and how far a computation in fp32 may be from it, to first order.
struct bounded {
  double v = 0, e = 0;

  friend bounded operator+(bounded a, bounded b) { return rounded({a.v + b.v, a.e + b.e}); }
  friend bounded operator-(bounded a, bounded b) { return rounded({a.v - b.v, a.e + b.e}); }
  friend bounded operator*(bounded a, bounded b) {
    return rounded({a.v * b.v, std::abs(a.v) * b.e + std::abs(b.v) * a.e + a.e * b.e});
  }
  /// Pre: b is further from 0 than its error.
  friend bounded operator/(bounded a, bounded b) {
    double const least = std::abs(b.v) - b.e;
    return rounded({a.v / b.v, (a.e + std::abs(a.v / b.v) * b.e) / least});
  }
  static bounded rounded(bounded x) { return {x.v, x.e + unit * (std::abs(x.v) + x.e)}; }
};

/// The root of a number that is not negative.
inline bounded root(bounded x) {
  double const r = std::sqrt(x.v), far = std::sqrt(x.e);
  return bounded::rounded({r, x.v > 0 ? std::min(far, x.e / r) : far});
}

/// Reverse-mode differentiation of scalars of one type.
template <class Real>
class tape {
 public:
  using id = int;
  using pairs = std::vector<std::pair<id, id>>;

  id leaf(double v) { return node(static_cast<Real>(v)); }
  Real value(id x) const { return nodes_[at(x)].value; }

  /// The sum of a[i] * b[i].
  id dot(pairs const& terms) {
    Real total = 0;
    for (auto const& [a, b] : terms) total += value(a) * value(b);
    id const out = node(total);
    for (auto const& [a, b] : terms) {
      edge(a, value(b));
      edge(b, value(a));
    }
    return out;
  }
  id sum(std::vector<id> const& terms) {
    Real total = 0;
    for (id a : terms) total += value(a);
    id const out = node(total);
    for (id a : terms) edge(a, 1);
    return out;
  }
  id times(id a, id b) { return dot({{a, b}}); }
  id plus(id a, id b) { return sum({a, b}); }
  id line(id x, double factor, double shift = 0) {
    return unary(x, static_cast<Real>(factor) * value(x) + static_cast<Real>(shift), static_cast<Real>(factor));
  }
  id exp(id x) {
    Real const y = std::exp(value(x));
    return unary(x, y, y);
  }
  id log(id x) { return unary(x, std::log(value(x)), 1 / value(x)); }
  id tanh(id x) {
    Real const y = std::tanh(value(x));
    return unary(x, y, 1 - y * y);
  }
  id reciprocal(id x) {
    Real const r = 1 / value(x);
    return unary(x, r, -r * r);
  }
  id reciprocal_root(id x) {
    Real const r = 1 / std::sqrt(value(x));
    return unary(x, r, -r / (2 * value(x)));
  }

  /// The derivatives of `out` by every node.
  std::vector<Real> gradient(id out) const {
    std::vector<Real> d(nodes_.size());
    d[at(out)] = 1;
    for (std::size_t n = at(out) + 1; n-- > 0;) {
      std::size_t const end = n + 1 < nodes_.size() ? nodes_[n + 1].first : edges_.size();
      for (std::size_t i = nodes_[n].first; i < end; ++i) d[at(edges_[i].from)] += d[n] * edges_[i].slope;
    }
    return d;
  }

 private:
  struct record {
    Real value;
    std::size_t first;  // of its edges
  };
  struct link {
    id from;
    Real slope;
  };
  static std::size_t at(id x) { return static_cast<std::size_t>(x); }
  id node(Real value) {
    nodes_.push_back({value, edges_.size()});
    return static_cast<id>(nodes_.size()) - 1;
  }
  void edge(id from, Real slope) { edges_.push_back({from, slope}); }
  id unary(id x, Real y, Real slope) {
    id const out = node(y);
    edge(x, slope);
    return out;
  }

  std::vector<record> nodes_;
  std::vector<link> edges_;
};

}  // namespace heddle::test
