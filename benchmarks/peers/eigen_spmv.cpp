// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "eigen_spmv.hpp"

#include <Eigen/SparseCore>

namespace heddle::bench {

void eigen_spmv(int rows, int columns, int entries, int const* offsets, int const* indices, float const* values,
                float const* x, float* y, int threads) {
  using matrix = Eigen::SparseMatrix<float, Eigen::RowMajor, int>;
  Eigen::setNbThreads(threads);
  Eigen::Map<matrix const> const a(rows, columns, entries, offsets, indices, values);
  Eigen::Map<Eigen::VectorXf const> const from(x, columns);
  Eigen::Map<Eigen::VectorXf> to(y, rows);
  to.noalias() = a * from;
}

}  // namespace heddle::bench
