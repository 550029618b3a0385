// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Attention on raw pointers, on the user's own executor.
#include <heddle/attention/forward.hpp>

#include "user_executor.hpp"

namespace {
// The plain form is enough here; a tag of the user's own has no tuned one.
struct user_tag;
struct plain_executor : user_executor {
  using backend = user_tag;
};
}  // namespace

int main() {
  using heddle::dims;
  using heddle::view;
  plain_executor exec;
  float const q[2] = {1, 1}, k[2] = {0, 0}, v[2] = {1, 3};
  float out[2], lse[2];
  dims<3> const one_head(2, 1, 1);
  heddle::attention::forward(exec, view<float const, 3>(q, one_head), view<float const, 3>(k, one_head),
                             view<float const, 3>(v, one_head), view<float, 3>(out, one_head),
                             view<float, 2>(lse, dims<2>(1, 2)));
  return out[0] == 1 && out[1] == 2 ? 0 : 1;  // equal scores: the mean of what each query sees
}
