// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/heddle.hpp>

#include <omp.h>

#if !defined(_OPENMP)
#error "heddle::openmp must bring the compiler's flag"
#endif

int main() {
  int seen = 0;
#pragma omp parallel num_threads(2) reduction(+ : seen)
  seen += 1;
  return seen >= 1 && omp_get_max_threads() >= 1 ? 0 : 1;
}
