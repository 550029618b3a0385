// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// @file
/// Eigen's sparse product: y = A x for a matrix in compressed rows, with so many OpenMP threads.

#include <Eigen/SparseCore>

extern "C" void heddle_peer_spmv(int rows, int columns, int entries, int const* offsets, int const* indices,
                                 float const* values, float const* x, float* y, int threads) {
  using matrix = Eigen::SparseMatrix<float, Eigen::RowMajor, int>;
  Eigen::setNbThreads(threads);
  Eigen::Map<matrix const> const a(rows, columns, entries, offsets, indices, values);
  Eigen::Map<Eigen::VectorXf const> const from(x, columns);
  Eigen::Map<Eigen::VectorXf> to(y, rows);
  to.noalias() = a * from;
}
