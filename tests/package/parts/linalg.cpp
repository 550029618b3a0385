// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of raw arrays, on the user's own executor.
#include <heddle/backend/reference/matmul.hpp>
#include <heddle/linalg/gemv.hpp>

#include "reference_user.hpp"

int main() {
  using heddle::dims;
  using heddle::view;
  reference_user exec;
  float const a[6] = {1, 2, 3, 4, 5, 6}, x[3] = {1, 0, -1};
  float y[2], c[4];
  view<float const, 2> const A(a, dims<2>(2, 3));
  heddle::gemv(exec, A, view<float const, 1>(x, dims<1>(3)), view<float, 1>(y, dims<1>(2)));
  heddle::matmul(exec, A, heddle::transpose(A), view<float, 2>(c, dims<2>(2, 2)));
  return y[0] == -2 && y[1] == -2 && c[0] == 14 && c[1] == 32 && c[2] == 32 && c[3] == 77 ? 0 : 1;
}
