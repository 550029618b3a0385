// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "train.hpp"

namespace train_gpt {

void train_llama_bf16(settings const& s, examples::text_data const& text, heddle::thread_communicator& world,
                heddle::threads_executor& exec) {
  train<heddle::bf16>(s, text, world, exec, heddle::model::llama(s.sizes));
}

}  // namespace train_gpt
