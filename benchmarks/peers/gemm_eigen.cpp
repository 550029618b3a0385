// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// @file
/// The peer Eigen, with its own threads, compiled for this machine.

#include <Eigen/Core>

namespace {
using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using operand = Eigen::Map<matrix const>;
}  // namespace

extern "C" bool heddle_peer_sgemm(int m, int n, int k, bool at, bool bt, float const* a, float const* b, float* c,
                                  int threads) {
  Eigen::setNbThreads(threads);
  Eigen::Map<matrix> out(c, m, n);
  if (at && bt)
    out.noalias() = operand(a, k, m).transpose() * operand(b, n, k).transpose();
  else if (at)
    out.noalias() = operand(a, k, m).transpose() * operand(b, k, n);
  else if (bt)
    out.noalias() = operand(a, m, k) * operand(b, n, k).transpose();
  else
    out.noalias() = operand(a, m, k) * operand(b, k, n);
  return true;
}
