// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "train.hpp"

namespace train_gpt {

void train_gpt2_f32(settings const& s, examples::text_data const& text, heddle::thread_communicator& world,
                heddle::threads_executor& exec) {
  train<float>(s, text, world, exec, heddle::model::gpt2(s.sizes));
}

}  // namespace train_gpt
