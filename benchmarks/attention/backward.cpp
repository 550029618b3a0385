// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// @file
/// Causal attention backward on two threads, as a share of the rate of our own matmul at 1024 cubed, and what bf16
/// gains. Prints evidence attention.bwd.<tokens>.d<columns> and attention.bf16_backward.

#include "causal_case.hpp"

int main(int argc, char** argv) {
  using namespace heddle;
  double const gain = bench::compare_all("bwd", true, bench::is_quick(argc, argv), 9);
  std::printf("evidence attention.bf16_backward %.3f ratio\n", gain);
}
