// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// @file
/// The peer libxsmm: one kernel generated for the whole product, on one thread. Large products are left to the others.

#include <libxsmm.h>

extern "C" bool heddle_peer_sgemm(int m, int n, int k, bool at, bool bt, float const* a, float const* b, float* c,
                                  int /*threads*/) {
  constexpr double largest = 512.0 * 512 * 512;
  if (at || bt || static_cast<double>(m) * n * k > largest) return false;
  static libxsmm_smmfunction kernel = nullptr;
  static int shape[3] = {};
  if (shape[0] != m || shape[1] != n || shape[2] != k) {
    float const one = 1, zero = 0;
    int const lda = k, ldb = n, ldc = n, flags = LIBXSMM_GEMM_FLAG_BETA_0, prefetch = LIBXSMM_GEMM_PREFETCH_NONE;
    kernel = libxsmm_smmdispatch(n, m, k, &ldb, &lda, &ldc, &one, &zero, &flags, &prefetch);
    shape[0] = m, shape[1] = n, shape[2] = k;
  }
  if (!kernel) return false;
  kernel(b, a, c);  // column-major: the transposed problem
  return true;
}
