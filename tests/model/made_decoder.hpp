// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Tiny decoders with made weights, and what a training forward pass says about a sequence.

#include <heddle/model/generator.hpp>

#include <support/random.hpp>

#include <vector>

namespace heddle::test {

/// Two layers, more tokens than one block of keys of attention.
inline model::decoder_sizes tiny_sizes(bool llama) {
  model::decoder_sizes s;
  s.vocabulary = 19;
  s.layers = 2;
  s.width = 16;
  s.heads = 2;
  s.key_heads = llama ? 1 : 2;
  s.hidden = 24;
  s.positions = llama ? 0 : 150;
  return s;
}

template <class T>
void make_weights(model::weights<T> const& w) {
  for (std::size_t i = 0; i < w.list().records().size(); ++i)
    if (!w.is_alias(i)) fill_random(w.values(i), 100 + i, -0.7, 0.9);
}

inline std::vector<std::int32_t> made_tokens(index_t n, index_t vocabulary, std::uint64_t seed = 5) {
  std::vector<std::int32_t> out;
  for (index_t i = 0; i < n; ++i) out.push_back(static_cast<std::int32_t>(random_below(seed, i, vocabulary)));
  return out;
}
inline view<std::int32_t const, 1> token_view(std::vector<std::int32_t> const& t) {
  return {t.data(), dims<1>(static_cast<index_t>(t.size()))};
}

/// The logits of every position, by the forward pass that training runs.
template <class T, class E, class Model>
std::vector<T> training_logits(E& exec, Model const& m, model::weights<T> const& w,
                               std::vector<std::int32_t> const& tokens) {
  index_t const n = static_cast<index_t>(tokens.size());
  auto tree = m.template tree<nn::in_use<T>>();
  w.bind(m, tree);
  nn::planner p(sizeof(T));
  auto const plan = m.make_plan(p, {1, n, m.source.width()});
  std::vector<tensor<std::byte, 1>> regions;
  nn::frame frame;
  for (int i = 0; i < nn::lives; ++i) {
    index_t const bytes = static_cast<index_t>(p.bytes(static_cast<nn::life>(i)));
    regions.emplace_back(exec, default_host_space, dims<1>(bytes + 64));
    frame.base[i] = regions.back().data();
  }
  float sum = 0;
  std::int64_t count = 0;
  context<E> const run(exec);
  call<context<E>> const c{&run};
  m.forward(c, tree, nn::token_batch{token_view(tokens), token_view(tokens), n}, view<T, 2>(),
            nn::loss_views{view<float, 1>(&sum, dims<1>(1)), view<std::int64_t, 1>(&count, dims<1>(1))}, plan, frame);
  exec.synchronize();
  auto const logits = frame.at<T>(plan.logits);
  return std::vector<T>(logits.data(), logits.data() + logits.size());
}

/// Whether f() throws an exception of this kind whose message holds a text.
template <class Error, class F>
bool refuses(F const& f, char const* text) {
  try {
    f();
  } catch (Error const& e) {
    return std::string(e.what()).find(text) != std::string::npos;
  }
  return false;
}

}  // namespace heddle::test
