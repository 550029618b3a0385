// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// @file
/// Causal attention forward on two threads, as a share of the rate of our own matmul at 1024 cubed, and bf16 beside it.
/// Prints evidence attention.fwd.<tokens>.d<columns>, attention.bf16, attention.f32.ratio.t1 and .t2.

#include "causal_case.hpp"

using namespace heddle;

namespace {

// 2048 tokens, 8 heads of 64.
void on_threads(int threads, int runs) {
  threads_executor exec(threads);
  bench::causal_case<float> work(2048, 64);
  bench::product_case product;
  work.seconds(exec, false);
  product.flops_per_second(exec);
  std::vector<double> rates, ceiling;
  for (int i = 0; i < runs; ++i) {
    rates.push_back(work.flops(false) / work.seconds(exec, false));
    ceiling.push_back(product.flops_per_second(exec));
  }
  std::printf("evidence attention.f32.ratio.t%d %.3f ratio\n", threads, bench::median(rates) / bench::median(ceiling));
}

}  // namespace

int main(int argc, char** argv) {
  bool const quick = bench::is_quick(argc, argv);
  for (int threads = 1; threads <= 2; ++threads) on_threads(threads, 11);
  double const gain = bench::compare_all("fwd", false, quick, 9);
  std::printf("evidence attention.bf16 %.3f ratio\n", gain);
}
