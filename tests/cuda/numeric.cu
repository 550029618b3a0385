// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Compiled, not run: segments, sparse products, transforms and stencils on all backends from one source.
#include <heddle/algorithm/balanced_for.hpp>
#include <heddle/algorithm/rfft.hpp>
#include <heddle/algorithm/sparse.hpp>
#include <heddle/algorithm/stencil.hpp>
#include <heddle/backend/cpu/fft.hpp>
#include <heddle/backend/cpu/sparse.hpp>
#include <heddle/backend/cpu/stencil.hpp>
#include <heddle/backend/cuda/executor.hpp>
#include <heddle/backend/cuda/tile_context.hpp>
#include <heddle/backend/reference/tile_context.hpp>
#include <heddle/backend/sim/tile_context.hpp>
#include <heddle/exec/reference_executor.hpp>
#include <heddle/exec/serial_executor.hpp>

using namespace heddle;

struct mark {
  int* seen;
  HEDDLE_HD_FN void begin(index_t) {}
  HEDDLE_HD_FN void item(index_t, index_t, index_t) {}
  HEDDLE_HD_FN void end(index_t segment) { seen[segment] = 1; }
};
struct slope {
  template <class N>
  HEDDLE_TILE auto operator()(N const& n) const {
    return n(1) - n(-1);
  }
};

struct operands {
  csr_view<float, int> a;
  view<float, 1> x, y;
  view<float, 2> m;
  view<complex<float>, 1> z;
  mark seen;
};

template <class Executor>
void probe(Executor& exec, operands const& o) {
  balanced_for(exec, o.a.row_offsets, segment_mapped{}, o.seen);
  balanced_for(exec, o.a.row_offsets, merge_path{}, o.seen);
  balanced_for(exec, o.a.row_offsets, lpt{}, o.seen);
  spmv(exec, o.a, o.x, o.y);
  spmm(exec, o.a, o.m, o.m);
  stencil(exec, o.x, o.y, 1, slope{}, clamp_edge{});
  fft_plan<float> const plan(8);
  rfft_plan<float> const real(8);
  fft(exec, plan, o.z, o.z);
  ifft(exec, plan, o.z, o.z);
  rfft(exec, real, o.x, o.z);
  irfft(exec, real, o.z, o.x);
}

void probe_all(operands const& o) {
  reference_executor reference;
  serial_executor serial;
  sim_executor sim;
  cuda_executor gpu;
  probe(reference, o);
  probe(serial, o);
  probe(sim, o);
  probe(gpu, o);
}
