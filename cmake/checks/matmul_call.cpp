// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What compile_time.py measures: one matrix product whose epilogue is a lambda.
#include <heddle/backend/cpu/matmul.hpp>
#include <heddle/exec/threads_executor.hpp>
#include <heddle/linalg/matmul.hpp>

void product(heddle::threads_executor& exec, heddle::view<float const, 2> a, heddle::view<float const, 2> b,
             heddle::view<float, 2> c) {
  heddle::matmul(exec, a, b, c, {}, [](auto v, auto, auto, auto) HEDDLE_LAMBDA { return v + v; });
}
