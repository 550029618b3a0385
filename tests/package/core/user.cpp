// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/heddle.hpp>

// One program that calls operations of several folders from the umbrella: their names must live together.
int main() {
  heddle::serial_executor exec;
  heddle::tensor<float, 2> a(exec, exec.scratch().space(), heddle::dims<2>(4, 4));
  heddle::tensor<float, 2> b(exec, exec.scratch().space(), heddle::dims<2>(4, 4));
  heddle::tensor<float, 2> lse(exec, exec.scratch().space(), heddle::dims<2>(2, 4));
  exec.for_each_tile(a.size(), [v = a.view()](heddle::index_t i, int) { v.data()[i] = 1.0f; });
  heddle::matmul(exec, a.view(), a.view(), b.view());
  heddle::nn::softmax(exec, b.view(), b.view());
  auto const heads = heddle::reshape(a.view(), heddle::dims<3>(4, 2, 2));
  auto const out = heddle::reshape(b.view(), heddle::dims<3>(4, 2, 2));
  heddle::attention::forward(exec, heads, heads, heads, out, lse.view());
  exec.synchronize();
  return b.view()(1, 2) == 1.0f ? 0 : 1;
}
