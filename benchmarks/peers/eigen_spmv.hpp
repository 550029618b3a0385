// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Eigen's sparse product, in a file of its own: it is compiled with the flags that serve it best.

namespace heddle::bench {

/// y = A x for a matrix in compressed rows, with so many OpenMP threads.
void eigen_spmv(int rows, int columns, int entries, int const* offsets, int const* indices, float const* values,
                float const* x, float* y, int threads);

}  // namespace heddle::bench
