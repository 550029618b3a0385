// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/backend/cpu/matmul.hpp>
#include <heddle/exec/serial_executor.hpp>

static_assert(HEDDLE_CONTRACTS == 0);

float with_other_flags() {
  heddle::serial_executor exec;
  float a[] = {1, 2, 3, 4}, c[4] = {};
  heddle::view<float, 2> const v(a, heddle::dims<2>(2, 2)), out(c, heddle::dims<2>(2, 2));
  heddle::matmul(exec, v, v, out);
  return c[0];
}
