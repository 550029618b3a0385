// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Tile programs over the contexts of cpu and of the simulated device.
#include <heddle/algorithm/reduce.hpp>
#include <heddle/backend/cpu/tile_context.hpp>
#include <heddle/backend/sim/tile_context.hpp>
#include <heddle/exec/serial_executor.hpp>
#include <heddle/linalg/tile_matmul.hpp>
#include <heddle/nn/softmax.hpp>
#include <heddle/simt/sim_executor.hpp>

using namespace heddle;

template <class Executor>
static void run(float* memory) {
  Executor exec;
  view<float, 2> const x(memory, dims<2>(4, 4)), y(memory + 16, dims<2>(4, 4));
  nn::softmax(exec, x, y);
  linalg::tile_matmul(exec, x, x, y);
  reduce(exec, select(x, 0, 0), view<float, 1>(memory, dims<1>(1)), plus<float>{});
}

void use_tile(float* memory) {
  run<serial_executor>(memory);
  run<sim_executor>(memory);
}
