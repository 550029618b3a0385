// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdio>

float with_same_flags();
float with_other_flags();

int main() {
  float const a = with_same_flags(), b = with_other_flags();
  std::printf("%g %g\n", a, b);
  return a == 7.0f && b == 7.0f ? 0 : 1;
}
