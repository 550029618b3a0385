// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/model/decoder.hpp>
#include <heddle/nn/linear.hpp>
#include <heddle/nn/parameters.hpp>

#include <support/catch.hpp>

#include <string>
#include <vector>

namespace heddle {
namespace {

using names = std::vector<std::string>;

template <class Layer>
names names_of(Layer const& layer) {
  names all;
  nn::for_each_leaf(layer, [&](char const* name, auto const&, nn::leaf_options const&) { all.push_back(name); });
  return all;
}
template <class Layer>
index_t elements_of(Layer const& layer) {
  index_t n = 0;
  nn::for_each_leaf(layer, [&](char const*, auto const& e, nn::leaf_options const&) { n += e.size(); });
  return n;
}
bool contains(names const& all, char const* name) {
  for (std::string const& n : all)
    if (n == name) return true;
  return false;
}

/// GPT-2 small and Llama 2 7B, as published.
model::decoder_sizes gpt2_small() {
  model::decoder_sizes s;
  s.vocabulary = 50257;
  s.layers = 12;
  s.width = 768;
  s.heads = s.key_heads = 12;
  s.hidden = 3072;
  s.positions = 1024;
  return s;
}
model::decoder_sizes llama_7b() {
  model::decoder_sizes s;
  s.vocabulary = 32000;
  s.layers = 32;
  s.width = 4096;
  s.heads = s.key_heads = 32;
  s.hidden = 11008;
  s.tied = false;
  return s;
}

using weights = nn::linear::parameters<nn::in_use<float>>;
using gradients = nn::linear::parameters<nn::gradient<float>>;
using at_rest = nn::linear::parameters<nn::at_rest<float>>;

// The three families are different types, leaf by leaf: none can stand for another.
static_assert(!std::is_same_v<weights, gradients> && !std::is_same_v<weights, at_rest> &&
              !std::is_same_v<gradients, at_rest>);
static_assert(!std::is_convertible_v<gradients, weights> && !std::is_convertible_v<weights, gradients> &&
              !std::is_convertible_v<at_rest, weights>);
static_assert(!std::is_same_v<decltype(weights::weight), decltype(gradients::weight)>);

template <class P>
using leaf_placement = typename decltype(P::weight)::placement;
using whole = nn::whole_at_rest;
static_assert(std::is_same_v<leaf_placement<at_rest>, whole>);
static_assert(
    std::is_same_v<leaf_placement<weights>, spec<resident, varying, varying, replicated, replicated>>);
using sum = partial<red::sum>;
static_assert(
    std::is_same_v<leaf_placement<gradients>, spec<resident, sum, sum, replicated, replicated>>);
// Layers can't write what they read.
static_assert(std::is_same_v<decltype(weights::weight.local), view<float const, 2>>);
static_assert(std::is_same_v<decltype(gradients::weight.local), view<float, 2>>);

}  // namespace

TEST_CASE("GPT-2's parameters have the published names and count", "[nn]") {
  auto const model = model::gpt2(gpt2_small());
  names const all = names_of(model);
  CHECK(all.size() == 2 + 12 * 12 + 2 + 1);  // the tied head is listed at both of its uses
  CHECK(elements_of(model) - 50257 * 768 == 124439808);
  CHECK(all.front() == "wte.weight");
  CHECK(all[1] == "wpe.weight");
  names const block = {"ln_1.weight",        "ln_1.bias",        "attn.c_attn.weight", "attn.c_attn.bias",
                       "attn.c_proj.weight", "attn.c_proj.bias", "ln_2.weight",        "ln_2.bias",
                       "mlp.c_fc.weight",    "mlp.c_fc.bias",    "mlp.c_proj.weight",  "mlp.c_proj.bias"};
  for (std::size_t i = 0; i < 12; ++i) {
    CHECK(all[2 + i] == "h.0." + block[i]);
    CHECK(all[2 + 11 * 12 + i] == "h.11." + block[i]);
  }
  CHECK(all[146] == "ln_f.weight");
  CHECK(all[147] == "ln_f.bias");
  CHECK(all[148] == "wte.weight");
}

TEST_CASE("Llama's parameters have the published names and count", "[nn]") {
  auto const model = model::llama(llama_7b());
  names const all = names_of(model);
  CHECK(all.size() == 1 + 32 * 9 + 2);
  CHECK(elements_of(model) == 6738415616);
  CHECK(all.front() == "model.embed_tokens.weight");
  for (char const* name :
       {"model.layers.0.input_layernorm.weight", "model.layers.0.self_attn.q_proj.weight",
        "model.layers.9.self_attn.k_proj.weight", "model.layers.10.self_attn.v_proj.weight",
        "model.layers.31.self_attn.o_proj.weight", "model.layers.31.post_attention_layernorm.weight",
        "model.layers.31.mlp.gate_proj.weight", "model.layers.31.mlp.up_proj.weight",
        "model.layers.31.mlp.down_proj.weight"})
    CHECK(contains(all, name));
  CHECK(all[all.size() - 2] == "model.norm.weight");
  CHECK(all.back() == "lm_head.weight");
}

TEST_CASE("leaves have the published extents, initial values and decay", "[nn]") {
  auto const gpt2 = model::gpt2(gpt2_small());
  auto const extents_in = [](auto const& model, std::string const& wanted) {
    std::vector<index_t> e;
    nn::for_each_leaf(model, [&](char const* name, auto const& sizes, nn::leaf_options const&) {
      if (name != wanted || !e.empty()) return;
      for (std::size_t i = 0; i < sizes.rank(); ++i) e.push_back(sizes[i]);
    });
    return e;
  };
  CHECK(extents_in(gpt2, "h.3.attn.c_attn.weight") == std::vector<index_t>{768, 2304});  // [in, out]
  CHECK(extents_in(gpt2, "h.3.mlp.c_proj.bias") == std::vector<index_t>{768});
  auto const llama = model::llama(llama_7b());
  CHECK(extents_in(llama, "model.layers.3.mlp.up_proj.weight") == std::vector<index_t>{11008, 4096});  // [out, in]
  CHECK(extents_in(llama, "model.layers.3.input_layernorm.weight") == std::vector<index_t>{4096});
  int wrong = 0;
  nn::for_each_leaf(gpt2, [&](char const*, auto const& e, nn::leaf_options const& o) {
    bool const matrix = e.rank() == 2;  // biases and norms have rank 1, and don't decay
    wrong += o.decay != matrix;
    wrong += (o.init.how == nn::initializer::kind::normal) != matrix;
  });
  CHECK(wrong == 0);
}

TEST_CASE("a walk zips any number of trees and keeps them apart", "[nn]") {
  nn::linear const layer{3, 2};
  weights w = layer.tree<nn::in_use<float>>();
  gradients g = layer.tree<nn::gradient<float>>();
  float numbers[8] = {}, sums[8] = {};
  index_t at = 0;
  names seen;
  nn::for_each_leaf(
      layer,
      [&](char const* name, auto const& e, nn::leaf_options const&, auto& leaf, auto& gradient) {
        seen.push_back(name);
        leaf.local = {numbers + at, e};
        gradient.local = {sums + at, e};
        at += e.size();
      },
      w, g);
  CHECK(seen == names{"weight", "bias"});
  CHECK(w.weight.local.data() == numbers);
  CHECK(w.bias.local.data() == numbers + 6);
  CHECK(g.bias.local.data() == sums + 6);
  CHECK(g.weight.local.extent(0) == 3);
}

TEST_CASE("a path takes parts and numbers, and refuses what is too long", "[nn]") {
  nn::path p;
  CHECK(std::string(p.c_str()).empty());
  std::size_t const root = p.push("model");
  std::size_t const model = p.push(index_t{12});
  p.push("w");
  CHECK(std::string(p.c_str()) == "model.12.w");
  p.pop(model);
  CHECK(std::string(p.c_str()) == "model");
  p.pop(root);
  CHECK(std::string(p.c_str()).empty());
  CHECK_NOTHROW(p.push(std::string(nn::path::capacity, 'x').c_str()));
  CHECK_THROWS_AS(p.push("y"), contract_error);
}

}  // namespace heddle
