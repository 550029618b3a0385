// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "algorithms.hpp"

#include <omp.h>
#include <thrust/execution_policy.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>

namespace heddle::bench::peers {

float thrust_reduce(float const* x, std::size_t n) {
  omp_set_num_threads(2);
  return thrust::reduce(thrust::device, x, x + n, 0.0f);
}
void thrust_scan(float const* x, float* y, std::size_t n) {
  omp_set_num_threads(2);
  thrust::inclusive_scan(thrust::device, x, x + n, y);
}

}  // namespace heddle::bench::peers
