// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The schedule verifier alone: no executor, no model.
#include <heddle/pipeline/generate.hpp>
#include <heddle/pipeline/verify.hpp>

#include <utility>

int main() {
  namespace pl = heddle::pipeline;
  pl::schedule s = pl::one_forward_one_backward(4, 8);
  if (!pl::verify(s).ok()) return 1;
  std::swap(s.on(0)[0], s.on(0).back());  // the first device now starts with its last backward pass
  return pl::verify(s).ok() ? 2 : 0;
}
