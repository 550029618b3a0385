// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Checks of whatever changes scores or weights: against naive attention in double, and central differences.

#include "problems.hpp"

namespace heddle::test {

/// A bias without any order, with holes.
struct rough {
  double operator()(index_t head, index_t i, index_t j) const {
    if (i == 2 || j == 1 || (i == 0 && j == 2)) return -inf;
    index_t const n = (i * 31 + j * 17 + head * 7) % 23;
    return static_cast<double>(n - 11) / 8;
  }
};

/// Naive attention of one sequence in double: output and log-sum-exp, with the sizes that error bounds are made of.
template <class T, class Mask, class Bias>
naive_row naive_rules(problem<T> const& p, attention::options<Mask, Bias> const& o, index_t i, index_t h) {
  index_t const kv = h / (p.q.b / p.k.b), length = p.k.a, at = i + o.query_offset.value_or(length - p.q.a);
  attention::place const here{0, 1, kv, p.k.b, at - i, p.q.a, length};
  auto const seen = attention::detail::mask_at(o.mask, here);
  auto const drop = attention::detail::make_dropout<double>(o.drop, p.q.b, p.q.a, length, false);
  naive_row r;
  r.out.assign(static_cast<std::size_t>(p.v.c), 0.0);
  std::vector<double> scores(static_cast<std::size_t>(length), -inf);
  double max = o.sinks.size() ? o.sinks[h] : -inf, keys_max = -inf;
  for (index_t j = 0; j < length; ++j) {
    double const added = attention::detail::bias_of<double>(o.bias, h, at, j);
    if (!seen.visible(at, j) || added == -inf) continue;
    double s = 0, size = 0;
    for (index_t d = 0; d < p.q.c; ++d) {
      double const x = static_cast<double>(p.q(i, h, d)) * static_cast<double>(p.k(j, kv, d));
      s += x, size += std::fabs(x);
    }
    double const scale = o.scale.value_or(1 / std::sqrt(static_cast<double>(p.q.c))), cap = o.softcap.value_or(0);
    s *= scale;
    if (cap > 0) s = cap * std::tanh(s / cap);
    s += added;
    r.size = std::max(r.size, std::fabs(scale) * size + std::fabs(added));
    scores[static_cast<std::size_t>(j)] = s;
    max = std::max(max, s), keys_max = std::max(keys_max, s);
  }
  double const sink = o.sinks.size() && o.sinks[h] != -inf ? std::exp(o.sinks[h] - max) : 0;
  double sum = 0;
  for (double const s : scores) sum += s == -inf ? 0 : std::exp(s - max);
  for (index_t j = 0; j < length; ++j) {
    double const s = scores[static_cast<std::size_t>(j)];
    if (s == -inf) continue;
    double const z = drop.active() ? drop.factor(drop.row(0, h, i) + static_cast<std::uint64_t>(j)) : 1;
    for (index_t d = 0; d < p.v.c; ++d) {
      double const x = static_cast<double>(p.v(j, kv, d));
      r.out[static_cast<std::size_t>(d)] += z * std::exp(s - max) / (sum + sink) * x;
      r.max_v = std::max(r.max_v, std::fabs(x) * (drop.active() ? drop.kept : 1));
    }
  }
  double const whole = o.sinks_in_lse ? sum + sink : sum;
  r.lse = whole > 0 ? max + std::log(whole) : -inf;
  return r;
}

/// Forward against naive attention, inside the bound of the computation.
template <class T, class Exec, class Mask, class Bias>
void check_rules(Exec& exec, shape const& s, attention::options<Mask, Bias> const& o) {
  INFO("q " << s.tokens_q << " k " << s.tokens_k << " heads " << s.heads_q << '/' << s.heads_kv);
  problem<T> p(s, 7);
  p.forward(exec, o);
  double const unit = sizeof(T) == 8 ? 0x1p-53 : 0x1p-24;
  index_t wrong = 0;
  for (index_t i = 0; i < s.tokens_q; ++i)
    for (index_t h = 0; h < s.heads_q; ++h) {
      naive_row const r = naive_rules(p, o, i, h);
      double const d = 4 * (std::sqrt(double(s.dk)) + 1) * unit * r.size;
      for (index_t c = 0; c < s.dv; ++c)
        wrong +=
            !(std::fabs(double(p.out(i, h, c)) - r.out[std::size_t(c)]) <= (2e-6 * unit * 0x1p24 + 2 * d) * r.max_v);
      double const lse = double(p.lse(h, i));
      wrong += !(lse == r.lse || std::fabs(lse - r.lse) <= 4e-6 * unit * 0x1p24 * (1 + std::fabs(r.lse)) + d);
    }
  REQUIRE(wrong == 0);
}

/// L = <dout, out> + <dlse, lse>, whose gradients backward gives.
template <class Exec, class Mask, class Bias>
double loss(Exec& exec, problem<double>& p, array<double> const& dlse, attention::options<Mask, Bias> const& o) {
  p.forward(exec, o);
  double sum = 0;
  for (std::size_t i = 0; i < p.out.data.size(); ++i) sum += p.out.data[i] * p.dout.data[i];
  for (std::size_t i = 0; i < p.lse.data.size(); ++i)
    if (p.lse.data[i] != -inf) sum += p.lse.data[i] * dlse.data[i];
  return sum;
}

/// Central differences of every element of one operand against its gradient, relative to the largest entry.
template <class Loss>
double worst_difference(std::vector<double>& operand, std::vector<double> const& gradient, Loss const& f) {
  double const h = 1e-5;
  double worst = 0, largest = 0;
  for (std::size_t n = 0; n < operand.size(); ++n) {
    double const x = operand[n];
    operand[n] = x + h;
    double const up = f();
    operand[n] = x - h;
    double const down = f();
    operand[n] = x;
    double const right = (up - down) / (2 * h);
    largest = std::max(largest, std::fabs(right));
    double const error = std::fabs(right - gradient[n]);
    worst = error <= worst ? worst : error;  // a NaN stays
  }
  return worst / largest;
}

/// All gradients, those of sink logits included, against central differences.
template <class Exec, class Mask, class Bias>
void check_rule_gradients(Exec& exec, shape const& s, attention::options<Mask, Bias> o) {
  problem<double> p(s, 5);
  for (auto* a : {&p.q, &p.k}) a->fill(static_cast<std::uint64_t>(s.dk), 1);
  array<double> dlse(s.heads_q, s.tokens_q);
  dlse.fill(9);
  std::vector<double> sinks, dsinks(static_cast<std::size_t>(s.heads_q), std::nan(""));
  for (index_t h = 0; h < o.sinks.size(); ++h) sinks.push_back(o.sinks[h]);
  view<double, 1> const to(dsinks.data(), dims<1>(s.heads_q));
  if (!sinks.empty()) o.sinks = view<double const, 1>(sinks.data(), dims<1>(s.heads_q));
  p.forward(exec, o);
  auto const out = p.out.rows(), dout = p.dout.rows();
  if (sinks.empty())
    attention::backward(exec, p.q.rows(), p.k.rows(), p.v.rows(), out, p.lse.numbers(), dout, dlse.numbers(),
                        p.dq.rows(), p.dk.rows(), p.dv.rows(), o);
  else
    attention::backward(exec, p.q.rows(), p.k.rows(), p.v.rows(), out, p.lse.numbers(), dout, dlse.numbers(),
                        p.dq.rows(), p.dk.rows(), p.dv.rows(), to, o);
  exec.synchronize();
  auto const f = [&] { return loss(exec, p, dlse, o); };
  REQUIRE(worst_difference(p.q.data, p.dq.data, f) <= 1e-7);
  REQUIRE(worst_difference(p.k.data, p.dk.data, f) <= 1e-7);
  REQUIRE(worst_difference(p.v.data, p.dv.data, f) <= 1e-7);
  if (!sinks.empty()) REQUIRE(worst_difference(sinks, dsinks, f) <= 1e-7);
}

}  // namespace heddle::test
