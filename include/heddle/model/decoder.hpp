// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/attention/layer.hpp>
#include <heddle/nn/activation_layers.hpp>
#include <heddle/nn/concat.hpp>
#include <heddle/nn/linear.hpp>
#include <heddle/nn/named.hpp>
#include <heddle/nn/norm_layers.hpp>
#include <heddle/nn/recomputed.hpp>
#include <heddle/nn/residual.hpp>
#include <heddle/nn/sequence.hpp>
#include <heddle/nn/staged.hpp>

/// @file
/// The reference decoders, assembled from the blocks of nn and attention alone, with the parameter names and layouts
/// of the published checkpoints.

namespace heddle::model {

/// The sizes of a decoder.
struct decoder_sizes {
  index_t vocabulary = 256;  ///< rows of the token table
  index_t classes = 0;  ///< of these, tokens that exist; later rows pad the table. 0: all
  index_t layers = 4;
  index_t width = 128;
  index_t heads = 4;
  index_t key_heads = 4;   ///< Llama style; GPT-2 uses `heads`
  index_t hidden = 512;    ///< of the feed-forward part
  index_t positions = 128; ///< rows of the learned position table, GPT-2 style
  double rope_base = 10000;
  bool tied = true;        ///< the head uses the token table
  bool recompute = false;  ///< blocks forget what they saved and make it again

  HEDDLE_FN index_t head_size() const { return width / heads; }
  /// The tokens that exist.
  HEDDLE_FN index_t tokens() const { return classes > 0 ? classes : vocabulary; }
};

/// Refuses sizes that no decoder has, naming the first one that is wrong.
HEDDLE_FN void check(decoder_sizes const& s) {
  HEDDLE_EXPECTS(s.vocabulary >= 1 && s.layers >= 1 && s.width >= 1 && s.hidden >= 1,
                 "a decoder needs a vocabulary, layers, a width and a hidden size", s.vocabulary, s.layers, s.width,
                 s.hidden);
  HEDDLE_EXPECTS(s.classes >= 0 && s.classes <= s.vocabulary,
                 "the tokens that exist are rows of the token table, or 0 for all", s.classes, s.vocabulary);
  HEDDLE_EXPECTS(s.heads >= 1 && s.width % s.heads == 0, "the heads must divide the width", s.heads, s.width);
  HEDDLE_EXPECTS(s.key_heads >= 1 && s.heads % s.key_heads == 0, "the key heads must divide the query heads",
                 s.key_heads, s.heads);
}

namespace detail {

/// The head as a linear layer whose weight lies as the token table: [vocabulary, width].
HEDDLE_FN nn::linear head_of(decoder_sizes const& s) {
  return {s.width, s.vocabulary, false, nn::weight_layout::out_in, 0.02};
}

template <nn::fixed_string Name>
HEDDLE_FN auto gpt2_linear(index_t in, index_t out, double scale) {
  return nn::name<Name>(nn::linear{in, out, true, nn::weight_layout::in_out, scale});
}
template <nn::fixed_string Name>
HEDDLE_FN auto llama_linear(index_t in, index_t out, double scale) {
  return nn::name<Name>(nn::linear{in, out, false, nn::weight_layout::out_in, scale});
}

// Layers that end a residual branch start smaller, so that the stream's variance does not grow with depth.
HEDDLE_FN double branch_scale(decoder_sizes const& s) {
  return 0.02 / static_cast<double>(sqrt(2.0 * static_cast<double>(s.layers)));
}

HEDDLE_FN auto gpt2_block(decoder_sizes const& s) {
  auto attend = nn::name<"attn">(nn::sequence(gpt2_linear<"c_attn">(s.width, 3 * s.width, 0.02),
                                              attention::causal_layer(s.heads, s.heads, s.head_size()),
                                              gpt2_linear<"c_proj">(s.width, s.width, branch_scale(s))));
  auto think = nn::name<"mlp">(nn::sequence(gpt2_linear<"c_fc">(s.width, s.hidden, 0.02),
                                            nn::gelu_layer(nn::gelu_form::tanh),
                                            gpt2_linear<"c_proj">(s.hidden, s.width, branch_scale(s))));
  auto norm_1 = nn::name<"ln_1">(nn::layer_norm_layer{s.width, 1e-5});
  auto norm_2 = nn::name<"ln_2">(nn::layer_norm_layer{s.width, 1e-5});
  return nn::recomputed{nn::sequence(nn::residual{nn::sequence(norm_1, attend)},
                                     nn::residual{nn::sequence(norm_2, think)}),
                        s.recompute};
}

HEDDLE_FN auto llama_block(decoder_sizes const& s) {
  index_t const d = s.head_size();
  auto project = nn::concat{llama_linear<"q_proj">(s.width, s.heads * d, 0.02),
                            nn::concat{llama_linear<"k_proj">(s.width, s.key_heads * d, 0.02),
                                       llama_linear<"v_proj">(s.width, s.key_heads * d, 0.02)}};
  auto attend = nn::name<"self_attn">(nn::sequence(project, nn::rope_layer(s.heads + s.key_heads, d, s.rope_base),
                                                   attention::causal_layer(s.heads, s.key_heads, d),
                                                   llama_linear<"o_proj">(s.heads * d, s.width, branch_scale(s))));
  auto think = nn::name<"mlp">(nn::sequence(nn::concat{llama_linear<"gate_proj">(s.width, s.hidden, 0.02),
                                                       llama_linear<"up_proj">(s.width, s.hidden, 0.02)},
                                            nn::swiglu_layer{},
                                            llama_linear<"down_proj">(s.hidden, s.width, branch_scale(s))));
  auto norm_1 = nn::name<"input_layernorm">(nn::rms_norm_layer{s.width, 1e-5});
  auto norm_2 = nn::name<"post_attention_layernorm">(nn::rms_norm_layer{s.width, 1e-5});
  return nn::recomputed{nn::sequence(nn::residual{nn::sequence(norm_1, attend)},
                                     nn::residual{nn::sequence(norm_2, think)}),
                        s.recompute};
}

template <class Source, class Block, class Back>
HEDDLE_FN auto decoder_of(decoder_sizes const& s, Source const& source, Block const& block, Back const& back,
                          char const* path) {
  using blocks = nn::repeat<Block>;
  nn::cross_entropy_options loss = {};
  loss.classes = s.classes;
  return nn::staged<Source, blocks, Back, nn::cross_entropy_sink>{source, blocks{block, 0, s.layers}, back, {loss},
                                                                  path};
}

}  // namespace detail

/// GPT-2: learned positions, layer norm, GELU (tanh), biases. The head is named "wte" where it is tied to the token
/// table, else "lm_head". Source: Radford et al. 2019.
HEDDLE_FN auto gpt2(decoder_sizes const& s) {
  check(s);
  nn::token_source<"wte", "wpe"> const source{s.vocabulary, s.width, s.positions, 0.02};
  auto const norm = nn::name<"ln_f">(nn::layer_norm_layer{s.width, 1e-5});
  auto const head = nn::labelled<nn::linear>{s.tied ? "wte" : "lm_head", detail::head_of(s)};
  return detail::decoder_of(s, source, detail::gpt2_block(s), nn::sequence(norm, head), "h");
}

/// Llama: RMS norm, rotary positions, grouped query heads, SwiGLU, no biases. The head is named "model.embed_tokens"
/// where it is tied to the token table, else "lm_head". Source: Touvron et al. 2023.
HEDDLE_FN auto llama(decoder_sizes const& s) {
  check(s);
  nn::token_source<"model.embed_tokens", "positions"> const source{s.vocabulary, s.width, 0, 0.02};
  auto const norm = nn::name<"model.norm">(nn::rms_norm_layer{s.width, 1e-5});
  auto const head = nn::labelled<nn::linear>{s.tied ? "model.embed_tokens" : "lm_head", detail::head_of(s)};
  return detail::decoder_of(s, source, detail::llama_block(s), nn::sequence(norm, head), "model.layers");
}

}  // namespace heddle::model
