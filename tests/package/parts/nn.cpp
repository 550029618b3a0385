// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One operation and its backward pass over raw arrays, on the user's own executor.
#include <heddle/backend/reference/tile_context.hpp>
#include <heddle/nn/softmax.hpp>

#include "reference_user.hpp"

int main() {
  using matrix = heddle::view<float, 2>;
  reference_user exec;
  heddle::dims<2> const one_row(1, 2);
  float x[2] = {3, 3}, y[2], dy[2] = {1, 0}, dx[2];
  heddle::nn::softmax(exec, matrix(x, one_row), matrix(y, one_row));
  heddle::nn::softmax_backward(exec, matrix(y, one_row), matrix(dy, one_row), matrix(dx, one_row));
  return y[0] == 0.5f && y[1] == 0.5f && dx[0] == 0.25f && dx[1] == -0.25f ? 0 : 1;
}
