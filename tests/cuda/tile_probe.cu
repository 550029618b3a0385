// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Compiled, not run: the programs of the tile probe on all backends from one source.
#include <heddle/algorithm/copy.hpp>
#include <heddle/algorithm/reduce.hpp>
#include <heddle/algorithm/scan.hpp>
#include <heddle/backend/cpu/tile_context.hpp>
#include <heddle/backend/cuda/tile_context.hpp>
#include <heddle/backend/reference/tile_context.hpp>
#include <heddle/backend/sim/tile_context.hpp>
#include <heddle/exec/observed.hpp>
#include <heddle/exec/plan.hpp>
#include <heddle/exec/reference_executor.hpp>
#include <heddle/exec/serial_executor.hpp>
#include <heddle/linalg/grouped_matmul.hpp>
#include <heddle/linalg/tile_matmul.hpp>
#include <heddle/nn/softmax.hpp>

using namespace heddle;

template <class Executor>
void probe(Executor& exec, view<float const, 2> const& x, view<float, 2> const& y) {
  copy(exec, x, y);
  reduce(exec, x, view<float, 1>(y.data(), dims<1>(1)), plus<float>{});
  inclusive_scan(exec, select(x, 0, 0), select(y, 0, 0), plus<float>{});
  nn::softmax(exec, x, y);
  nn::softmax_backward(exec, x, x, y);
  linalg::tile_matmul(exec, x, x, y);
}

// Backends without a form of their own.
template <class Executor>
void probe_groups(Executor& exec, view<float const, 2> const& x, view<float, 2> const& y) {
  view<index_t const, 1> const offsets(nullptr, dims<1>(1));
  view<float const, 3> const no_matrices(nullptr, dims<3>(0, x.extent(1), y.extent(1)));
  view<float, 3> const no_gradients(nullptr, dims<3>(0, x.extent(1), y.extent(1)));
  grouped_matmul(exec, x, no_matrices, offsets, y);
  grouped_matmul_weight(exec, x, y, offsets, no_gradients);
}

void probe_all(view<float const, 2> const& x, view<float, 2> const& y) {
  reference_executor reference;
  serial_executor serial;
  sim_executor sim;
  cuda_executor gpu;
  probe(reference, x, y);
  probe(serial, x, y);
  probe(sim, x, y);
  probe(gpu, x, y);
  probe_groups(reference, x, y);
  probe_groups(sim, x, y);
  probe_groups(gpu, x, y);
  counter seen;
  observed watched(gpu, seen);
  probe(watched, x, y);
  plan(gpu, [&] { probe(gpu, x, y); });
}
