// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/exec/threads_executor.hpp>
#include <heddle/model/description.hpp>
#include <heddle/model/sampler.hpp>

#include <vector>

namespace generate {

/// What to write: a prompt goes on for some tokens. `begin`, where there is one, is called once the model is loaded,
/// `emit` for each token as it is chosen.
struct request {
  std::vector<std::int32_t> prompt;
  heddle::index_t tokens = 200;
  heddle::model::sampling_options sampling;
  void (*begin)(void* data) = nullptr;
  void (*emit)(std::int32_t token, void* data) = nullptr;
  void* data = nullptr;
};

/// What it took. Units: nanoseconds, bytes.
struct result {
  std::int64_t prompt_ns = 0, token_ns = 0;
  std::size_t bytes = 0;
};

/// Loads the model of a checkpoint and writes. A text that fills the positions of the checkpoint goes on from its last
/// half.
/// Each style of model is compiled in a file of its own. Errors: errc::format for a checkpoint of another model.
using write_function = result (*)(heddle::threads_executor&, heddle::checkpoint::store const&,
                                  heddle::model::decoder_sizes const&, request const&);
result write_gpt2(heddle::threads_executor&, heddle::checkpoint::store const&, heddle::model::decoder_sizes const&,
                  request const&);
result write_llama(heddle::threads_executor&, heddle::checkpoint::store const&, heddle::model::decoder_sizes const&,
                   request const&);

}  // namespace generate
