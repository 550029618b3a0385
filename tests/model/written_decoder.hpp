// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// The two decoders written out as loops over scalars, from their papers: the reference of a training step.

#include "tape.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

namespace heddle::test {

struct written_sizes {
  int width, heads, key_heads, hidden, layers, vocabulary, tokens;
  bool llama;

  int head() const { return width / heads; }
};

template <class Real>
class written_decoder {
 public:
  using id = int;
  using row = std::vector<id>;

  /// @param values of each parameter by its dotted name, row-major
  written_decoder(written_sizes const& s, std::map<std::string, std::vector<float>> const& values) : s_(s) {
    for (auto const& [name, numbers] : values)
      for (float x : numbers) leaves_[name].push_back(tape_.leaf(x));
  }

  /// Adds the losses of one sequence; rows whose target is negative do not count.
  void sequence(std::int32_t const* tokens, std::int32_t const* targets) {
    std::vector<row> x;
    for (int t = 0; t < s_.tokens; ++t) x.push_back(embedded(tokens[t], t));
    for (int layer = 0; layer < s_.layers; ++layer) block(x, layer);
    for (int t = 0; t < s_.tokens; ++t)
      if (targets[t] >= 0) losses_.push_back(cross_entropy(logits(x[static_cast<std::size_t>(t)]), targets[t]));
  }
  /// The mean over the rows that count.
  id loss() { return tape_.line(tape_.sum(losses_), 1 / static_cast<double>(losses_.size())); }
  tape<Real> const& numbers() const { return tape_; }
  row const& row_losses() const { return losses_; }
  std::map<std::string, row> const& leaves() const { return leaves_; }

 private:
  id weight(std::string const& name, int i) const { return leaves_.at(name).at(static_cast<std::size_t>(i)); }
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  row embedded(int token, int position) {
    row out;
    for (int c = 0; c < s_.width; ++c) {
      id const e = weight(s_.llama ? "model.embed_tokens.weight" : "wte.weight", token * s_.width + c);
      out.push_back(s_.llama ? e : tape_.plus(e, weight("wpe.weight", position * s_.width + c)));
    }
    return out;
  }
  /// x W with W [in, out] and a bias, as GPT-2 stores it, or x W' with W' [out, in], as Llama does.
  row linear(row const& x, std::string const& name, int out, bool transposed) {
    int const in = static_cast<int>(x.size());
    row y;
    for (int o = 0; o < out; ++o) {
      typename tape<Real>::pairs terms;
      for (int i = 0; i < in; ++i)
        terms.push_back({x[at(i)], weight(name + ".weight", transposed ? o * in + i : i * out + o)});
      y.push_back(tape_.dot(terms));
      if (!transposed) y.back() = tape_.plus(y.back(), weight(name + ".bias", o));
    }
    return y;
  }
  row norm(row const& x, std::string const& name) {
    double const n = static_cast<double>(x.size());
    row centred = x;
    if (!s_.llama) {
      id const mean = tape_.line(tape_.sum(x), -1 / n);
      for (id& c : centred) c = tape_.plus(c, mean);
    }
    typename tape<Real>::pairs squares;
    for (id c : centred) squares.push_back({c, c});
    id const scale = tape_.reciprocal_root(tape_.line(tape_.dot(squares), 1 / n, 1e-5));
    for (std::size_t i = 0; i < x.size(); ++i) {
      centred[i] = tape_.times(tape_.times(centred[i], scale), weight(name + ".weight", static_cast<int>(i)));
      if (!s_.llama) centred[i] = tape_.plus(centred[i], weight(name + ".bias", static_cast<int>(i)));
    }
    return centred;
  }
  /// Turns the pairs (i, i + half) of one head.
  void rotate(row& x, int first, int position) {
    int const half = s_.head() / 2;
    for (int i = 0; i < half; ++i) {
      double const angle = position * std::pow(10000.0, -static_cast<double>(i) / half);
      id const c = tape_.leaf(std::cos(angle)), s = tape_.leaf(std::sin(angle));
      id const minus = tape_.leaf(-std::sin(angle));
      id const a = x[at(first + i)], b = x[at(first + half + i)];
      x[at(first + i)] = tape_.dot({{a, c}, {b, minus}});
      x[at(first + half + i)] = tape_.dot({{b, c}, {a, s}});
    }
  }
  /// Exponentials of x minus the largest, and their sum.
  std::pair<row, id> exponentials(row const& x) {
    Real top = tape_.value(x[0]);
    for (id v : x) top = std::max(top, tape_.value(v));
    row out;
    for (id v : x) out.push_back(tape_.exp(tape_.line(v, 1, -top)));
    id const sum = tape_.sum(out);
    return {out, sum};
  }
  /// Causal attention; rows hold all query heads, then keys, then values.
  std::vector<row> attend(std::vector<row> const& x) {
    int const d = s_.head(), keys = s_.heads * d, values = keys + s_.key_heads * d;
    std::vector<row> out(x.size());
    for (std::size_t t = 0; t < x.size(); ++t)
      for (int h = 0; h < s_.heads; ++h) {
        int const from = h / (s_.heads / s_.key_heads) * d;
        row scores;
        for (std::size_t j = 0; j <= t; ++j) {
          typename tape<Real>::pairs terms;
          for (int c = 0; c < d; ++c) terms.push_back({x[t][at(h * d + c)], x[j][at(keys + from + c)]});
          scores.push_back(tape_.line(tape_.dot(terms), 1 / std::sqrt(static_cast<double>(d))));
        }
        auto const [weights, sum] = exponentials(scores);
        id const inverse = tape_.reciprocal(sum);
        for (int c = 0; c < d; ++c) {
          typename tape<Real>::pairs terms;
          for (std::size_t j = 0; j <= t; ++j) terms.push_back({weights[j], x[j][at(values + from + c)]});
          out[t].push_back(tape_.times(tape_.dot(terms), inverse));
        }
      }
    return out;
  }
  row projected(row const& x, std::string const& path, int position) {
    if (!s_.llama) return linear(x, path + ".attn.c_attn", 3 * s_.width, false);
    int const d = s_.head();
    row q = linear(x, path + ".self_attn.q_proj", s_.heads * d, true);
    row k = linear(x, path + ".self_attn.k_proj", s_.key_heads * d, true);
    row const v = linear(x, path + ".self_attn.v_proj", s_.key_heads * d, true);
    for (int h = 0; h < s_.heads; ++h) rotate(q, h * d, position);
    for (int h = 0; h < s_.key_heads; ++h) rotate(k, h * d, position);
    q.insert(q.end(), k.begin(), k.end());
    q.insert(q.end(), v.begin(), v.end());
    return q;
  }
  id gelu(id x) {
    id const cube = tape_.times(tape_.times(x, x), x);
    id const inner = tape_.line(tape_.plus(x, tape_.line(cube, 0.044715)), std::sqrt(2 / 3.14159265358979323846));
    return tape_.times(tape_.line(x, 0.5), tape_.line(tape_.tanh(inner), 1, 1));
  }
  id swiglu(id gate, id up) {
    id const s = tape_.reciprocal(tape_.line(tape_.exp(tape_.line(gate, -1)), 1, 1));
    return tape_.times(tape_.times(gate, s), up);
  }
  row fed_forward(row const& x, std::string const& path) {
    if (!s_.llama) {
      row hidden = linear(x, path + ".mlp.c_fc", s_.hidden, false);
      for (id& h : hidden) h = gelu(h);
      return linear(hidden, path + ".mlp.c_proj", s_.width, false);
    }
    row gate = linear(x, path + ".mlp.gate_proj", s_.hidden, true);
    row const up = linear(x, path + ".mlp.up_proj", s_.hidden, true);
    for (std::size_t i = 0; i < gate.size(); ++i) gate[i] = swiglu(gate[i], up[i]);
    return linear(gate, path + ".mlp.down_proj", s_.width, true);
  }
  void add(row& x, row const& branch) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = tape_.plus(x[i], branch[i]);
  }
  void block(std::vector<row>& x, int layer) {
    std::string const path = (s_.llama ? "model.layers." : "h.") + std::to_string(layer);
    std::vector<row> qkv;
    for (std::size_t t = 0; t < x.size(); ++t)
      qkv.push_back(projected(norm(x[t], path + (s_.llama ? ".input_layernorm" : ".ln_1")), path, static_cast<int>(t)));
    std::vector<row> const seen = attend(qkv);
    std::string const out = path + (s_.llama ? ".self_attn.o_proj" : ".attn.c_proj");
    for (std::size_t t = 0; t < x.size(); ++t) {
      add(x[t], linear(seen[t], out, s_.width, s_.llama));
      add(x[t], fed_forward(norm(x[t], path + (s_.llama ? ".post_attention_layernorm" : ".ln_2")), path));
    }
  }
  row logits(row const& x) {
    return linear(norm(x, s_.llama ? "model.norm" : "ln_f"), s_.llama ? "model.embed_tokens" : "wte", s_.vocabulary,
                  true);
  }
  id cross_entropy(row const& z, int target) {
    auto const [weights, sum] = exponentials(z);
    (void)weights;
    Real top = tape_.value(z[0]);
    for (id v : z) top = std::max(top, tape_.value(v));
    return tape_.plus(tape_.line(tape_.log(sum), 1, top), tape_.line(z[at(target)], -1));
  }

  written_sizes s_;
  tape<Real> tape_;
  std::map<std::string, row> leaves_;
  row losses_;
};

/// AdamW with decoupled decay from its paper: one parameter element, in place; t counts steps from 1.
struct written_adamw {
  double lr, decay, beta1, beta2, eps;

  bounded operator()(bounded p, bounded g, bounded& m, bounded& v, int t) const {
    auto const number = [](double x) { return bounded{x, unit * std::abs(x)}; };
    m = number(beta1) * m + number(1 - beta1) * g;
    v = number(beta2) * v + number(1 - beta2) * (g * g);
    bounded const m_hat = m / number(1 - std::pow(beta1, t)), v_hat = v / number(1 - std::pow(beta2, t));
    return number(1 - lr * decay) * p - number(lr) * m_hat / (root(v_hat) + number(eps));
  }
};

}  // namespace heddle::test
