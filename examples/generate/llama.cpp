// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "write.hpp"

namespace generate {

result write_llama(heddle::threads_executor& exec, heddle::checkpoint::store const& from,
                   heddle::model::decoder_sizes const& sizes, request const& r) {
  return write(exec, from, sizes, heddle::model::llama(sizes), r);
}

}  // namespace generate
