// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/backend/cpu/matmul.hpp>
#include <heddle/exec/threads_executor.hpp>

#include <cstdio>
#include <vector>

int main() {
  int const m = 300, k = 200, n = 500;
  std::vector<float> a(m * k, 0.5f), b(k * n), c(m * n);  // heddle works on memory that you own
  for (int i = 0; i < k * n; ++i) b[i] = static_cast<float>(i % 7 - 3);
  heddle::view<float, 2> A(a.data(), heddle::dims<2>(m, k)), B(b.data(), heddle::dims<2>(k, n));
  heddle::view<float, 2> C(c.data(), heddle::dims<2>(m, n));

  heddle::threads_executor exec;  // all cores, and the best instructions of this machine
  auto relu = [](auto const& x, auto...) HEDDLE_LAMBDA { return heddle::max(x, 0.0f); };
  heddle::matmul(exec, A, B, C, {}, relu);  // C = relu(A B); the lambda sees elements while they are in registers
  exec.synchronize();

  float sum = 0;
  for (int e = 0; e < k; ++e) sum += A(7, e) * B(e, 13);
  std::printf("C(7, 13) = %g, by a plain loop %g\n", C(7, 13), sum > 0 ? sum : 0);
  return C(7, 13) == (sum > 0 ? sum : 0) ? 0 : 1;
}
