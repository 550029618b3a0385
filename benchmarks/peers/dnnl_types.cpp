// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// @file
/// oneDNN's product of bf16 into float on one thread, for bench_linalg_matmul_types.

#include <oneapi/dnnl/dnnl.hpp>

#include <memory>

#include <omp.h>

namespace {

struct product {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  dnnl::memory a, b, c, inner;
  dnnl::matmul call;
  dnnl::reorder bring;
  bool reorders = false;
};

dnnl::memory::desc matrix(dnnl::memory::dims const& sizes, dnnl::memory::data_type type, bool transposed) {
  using tag = dnnl::memory::format_tag;
  return {sizes, type, transposed ? tag::ba : tag::ab};
}

}  // namespace

/// A product of row-major operands, or null. With `own_layout` b is brought to the layout that the library likes best,
/// as a part of each call.
extern "C" void* heddle_dnnl_make(int m, int n, int k, bool bt, void* a, void* b, float* c, bool own_layout) try {
  using type = dnnl::memory::data_type;
  omp_set_num_threads(1);
  auto p = std::make_unique<product>();
  dnnl::memory::desc const da = matrix({m, k}, type::bf16, false), db = matrix({k, n}, type::bf16, bt),
                           dc = matrix({m, n}, type::f32, false),
                           any({k, n}, type::bf16, dnnl::memory::format_tag::any);
  dnnl::matmul::primitive_desc const d({da, own_layout ? any : db, dc}, p->engine);
  p->a = dnnl::memory(da, p->engine, a), p->b = dnnl::memory(db, p->engine, b), p->c = dnnl::memory(dc, p->engine, c);
  p->call = dnnl::matmul(d);
  p->inner = p->b;
  if (d.weights_desc() != db) {
    p->inner = dnnl::memory(d.weights_desc(), p->engine);
    p->bring = dnnl::reorder(p->b, p->inner);
    p->reorders = true;
  }
  return p.release();
} catch (...) {
  return nullptr;
}

extern "C" void heddle_dnnl_run(void* handle) {
  product& p = *static_cast<product*>(handle);
  if (p.reorders) p.bring.execute(p.stream, p.b, p.inner);
  p.call.execute(p.stream, {{DNNL_ARG_SRC, p.a}, {DNNL_ARG_WEIGHTS, p.inner}, {DNNL_ARG_DST, p.c}});
  p.stream.wait();
}

extern "C" void heddle_dnnl_drop(void* handle) { delete static_cast<product*>(handle); }
