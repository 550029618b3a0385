// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// A GPT-2 with random weights as its published files lay it out, and its function written out in fp64.

#include <heddle/checkpoint/safetensors_writer.hpp>
#include <heddle/core/bf16.hpp>
#include <heddle/core/fp16.hpp>

#include <support/random.hpp>

#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace heddle::test {

struct published_gpt2 {
  index_t vocabulary = 11, positions = 7, layers = 2, width = 8, hidden = 12, head_size = 4;

  struct entry {
    std::vector<index_t> extents;
    std::vector<double> values;
  };
  std::map<std::string, entry> entries;

  published_gpt2() {
    add("wte.weight", {vocabulary, width});
    add("wpe.weight", {positions, width});
    for (index_t i = 0; i < layers; ++i) {
      std::string const h = "h." + std::to_string(i) + ".";
      add_norm(h + "ln_1");
      add_linear(h + "attn.c_attn", width, 3 * width);
      add_linear(h + "attn.c_proj", width, width);
      add_norm(h + "ln_2");
      add_linear(h + "mlp.c_fc", width, hidden);
      add_linear(h + "mlp.c_proj", hidden, width);
    }
    add_norm("ln_f");
  }

  /// Multiples of 1/64 up to 1: exact in every float type.
  void add(std::string const& name, std::vector<index_t> const& extents) {
    index_t n = 1;
    for (index_t e : extents) n *= e;
    entry e{extents, {}};
    for (index_t i = 0; i < n; ++i)
      e.values.push_back(static_cast<double>(random_below(entries.size(), i, 129) - 64) / 64);
    entries[name] = e;
  }
  void add_norm(std::string const& name) {
    add(name + ".weight", {width});
    add(name + ".bias", {width});
  }
  void add_linear(std::string const& name, index_t in, index_t out) {
    add(name + ".weight", {in, out});
    add(name + ".bias", {out});
  }

  /// Types by turns: F32, F16, BF16, F64.
  void write(std::string const& path, std::string const& prefix) const {
    checkpoint::dtype const types[] = {checkpoint::dtype::f32, checkpoint::dtype::f16, checkpoint::dtype::bf16,
                                       checkpoint::dtype::f64};
    checkpoint::safetensors_writer w(checkpoint::file::create(path));
    std::size_t n = 0;
    for (auto const& [name, e] : entries) w.declare(prefix + name, types[n++ % 4], e.extents.data(), e.extents.size());
    w.begin();
    n = 0;
    for (auto const& named : entries) {
      entry const& e = named.second;
      switch (n++ % 4) {
        case 0: append<float>(w, e); break;
        case 1: append<fp16>(w, e); break;
        case 2: append<bf16>(w, e); break;
        default: append<double>(w, e);
      }
    }
    w.finish();
  }
  template <class T>
  static void append(checkpoint::safetensors_writer& w, entry const& e) {
    std::vector<T> values;
    for (double v : e.values) values.push_back(static_cast<T>(static_cast<float>(v)));
    w.append(values.data(), static_cast<index_t>(values.size()));
  }

  using row = std::vector<double>;
  using rows = std::vector<row>;

  double at(std::string const& name, index_t i) const { return entries.at(name).values[static_cast<std::size_t>(i)]; }
  row norm(std::string const& name, row const& x) const {
    double mean = 0, variance = 0;
    for (double v : x) mean += v / static_cast<double>(width);
    for (double v : x) variance += (v - mean) * (v - mean) / static_cast<double>(width);
    row y;
    for (std::size_t i = 0; i < x.size(); ++i)
      y.push_back((x[i] - mean) / std::sqrt(variance + 1e-5) * at(name + ".weight", static_cast<index_t>(i)) +
                  at(name + ".bias", static_cast<index_t>(i)));
    return y;
  }
  row linear(std::string const& name, row const& x) const {
    index_t const out = entries.at(name + ".bias").extents[0];
    row y;
    for (index_t j = 0; j < out; ++j) {
      y.push_back(at(name + ".bias", j));
      for (std::size_t i = 0; i < x.size(); ++i)
        y.back() += x[i] * at(name + ".weight", static_cast<index_t>(i) * out + j);
    }
    return y;
  }
  /// Row t of one head attends to rows 0 .. t of [q, k, v] side by side.
  void attend(rows const& qkv, std::size_t t, std::size_t head, row& y) const {
    std::size_t const d = static_cast<std::size_t>(head_size), w = static_cast<std::size_t>(width), first = head * d;
    row weights;
    double sum = 0;
    for (std::size_t s = 0; s <= t; ++s) {
      double dot = 0;
      for (std::size_t i = 0; i < d; ++i) dot += qkv[t][first + i] * qkv[s][w + first + i];
      weights.push_back(std::exp(dot / std::sqrt(static_cast<double>(head_size))));
      sum += weights.back();
    }
    for (std::size_t i = 0; i < d; ++i) {
      double mixed = 0;
      for (std::size_t s = 0; s <= t; ++s) mixed += weights[s] / sum * qkv[s][2 * w + first + i];
      y[first + i] = mixed;
    }
  }
  /// The logits of every token of a text.
  rows logits(std::vector<std::int32_t> const& tokens) const {
    rows x, out;
    for (std::size_t t = 0; t < tokens.size(); ++t) {
      x.emplace_back();
      for (index_t i = 0; i < width; ++i)
        x.back().push_back(at("wte.weight", tokens[t] * width + i) +
                           at("wpe.weight", static_cast<index_t>(t) * width + i));
    }
    for (index_t l = 0; l < layers; ++l) block("h." + std::to_string(l) + ".", x);
    for (row const& r : x) {
      row const y = norm("ln_f", r);
      out.emplace_back();
      for (index_t v = 0; v < vocabulary; ++v) {
        out.back().push_back(0);
        for (index_t i = 0; i < width; ++i)
          out.back().back() += y[static_cast<std::size_t>(i)] * at("wte.weight", v * width + i);
      }
    }
    return out;
  }
  void block(std::string const& h, rows& x) const {
    rows qkv;
    for (row const& r : x) qkv.push_back(linear(h + "attn.c_attn", norm(h + "ln_1", r)));
    for (std::size_t t = 0; t < x.size(); ++t) {
      row mixed(x[t].size());
      for (index_t head = 0; head < width / head_size; ++head) attend(qkv, t, static_cast<std::size_t>(head), mixed);
      add_to(x[t], linear(h + "attn.c_proj", mixed));
      row inner = linear(h + "mlp.c_fc", norm(h + "ln_2", x[t]));
      for (double& v : inner) v = 0.5 * v * (1 + std::tanh(0.79788456080286536 * (v + 0.044715 * v * v * v)));
      add_to(x[t], linear(h + "mlp.c_proj", inner));
    }
  }
  static void add_to(row& x, row const& y) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
  }
};

}  // namespace heddle::test
