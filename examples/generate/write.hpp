// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/backend/cpu/attention_forward.hpp>
#include <heddle/backend/cpu/matmul.hpp>
#include <heddle/backend/cpu/tile_context.hpp>
#include <heddle/exec/wait.hpp>
#include <heddle/model/generator.hpp>

#include "settings.hpp"

namespace generate {

namespace hd = heddle;
using hd::index_t;

/// Tokens that the model can look back on: the positions that its checkpoint names, or all there will be.
inline index_t window_of(hd::model::decoder_sizes const& s, request const& r) {
  index_t const all = static_cast<index_t>(r.prompt.size()) + r.tokens;
  return s.positions > 0 && s.positions < all ? s.positions : all;
}

template <class Model>
result write(hd::threads_executor& exec, hd::checkpoint::store const& from, hd::model::decoder_sizes const& sizes,
             Model const& model, request const& r) {
  HEDDLE_EXPECTS(!r.prompt.empty(), "there is at least one token to start from");
  hd::model::weights<float> weights(exec, model);
  hd::checkpoint::require(weights.load(from), from.folder());
  index_t const window = window_of(sizes, r);
  hd::model::generator<Model, float, hd::threads_executor> model_run(exec, model, weights, {window, 0});
  hd::model::sampler choose(r.sampling, sizes.tokens());
  std::vector<std::int32_t> text = r.prompt;
  // Reads the last n tokens of the text; what they say about the next one.
  auto const read = [&](index_t n) {
    std::int32_t const* const first = text.data() + static_cast<index_t>(text.size()) - n;
    return model_run.append(hd::view<std::int32_t const, 1>(first, hd::dims<1>(n)));
  };
  result took;
  took.bytes = model_run.planned().total() + static_cast<std::size_t>(weights.size()) * sizeof(float);
  if (r.begin) r.begin(r.data);
  std::int64_t const begin = hd::deadline::now_ns();
  index_t const size = static_cast<index_t>(text.size());
  hd::view<float const, 1> logits = read(size < window ? size : (window + 1) / 2);
  exec.synchronize();
  std::int64_t const prompted = hd::deadline::now_ns();
  for (index_t i = 0; i < r.tokens; ++i) {
    exec.synchronize();
    std::int32_t const token = choose(hd::slice(logits, 0, 0, sizes.tokens()), static_cast<index_t>(text.size()));
    text.push_back(token);
    r.emit(token, r.data);
    if (i + 1 == r.tokens) break;
    if (model_run.size() == window) {
      model_run.rewind(0);
      logits = read((window + 1) / 2);
    } else {
      logits = read(1);
    }
  }
  took.prompt_ns = prompted - begin;
  took.token_ns = hd::deadline::now_ns() - prompted;
  return took;
}

}  // namespace generate
