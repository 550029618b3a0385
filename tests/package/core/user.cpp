// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/heddle.hpp>

int main() {
  heddle::serial_executor exec;
  heddle::tensor<float, 2> a(exec, exec.scratch().space(), heddle::dims<2>(2, 3));
  exec.for_each_tile(a.size(), [v = a.view()](heddle::index_t i, int) { v.data()[i] = 1.0f; });
  exec.synchronize();
  return a.view()(1, 2) == 1.0f ? 0 : 1;
}
