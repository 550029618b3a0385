// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/config.hpp>

/// @file
/// The backends, and the grid of tuned forms: which operation has one on which backend. The grid is declared here
/// and defined in backend/<tag>/<operation>.hpp, so what a file happens to include never changes what runs.

namespace heddle {

struct reference_tag;  ///< plain loops: the oracle
struct cpu_tag;        ///< vectors, instruction set chosen at run time, any threading
struct kokkos_tag;
struct cuda_tag;
struct sim_tag;  ///< device kernels on the CPU

struct matmul_fn;
struct matmul_row_statistics_fn;
struct matmul_swiglu_fn;
struct spmv_fn;
struct spmm_fn;
struct stencil_fn;
struct fft_fn;
struct top_k_fn;
struct grouped_matmul_fn;
struct grouped_matmul_weight_fn;
struct pack_fn;
namespace attention {
struct forward_fn;
struct backward_fn;
struct decode_fn;
}  // namespace attention
namespace tile {
struct run_fn;
}  // namespace tile

/// The tuned form of an operation on a backend: `static void run(exec, arguments...)`.
template <class Operation, class Backend>
struct kernel;

/// Whether the grid lists a tuned form. `check<K>()` fails to compile where its header is missing.
template <class Operation, class Backend>
struct kernel_declaration {
  static constexpr bool value = false;
};

namespace detail {
template <class K>
concept complete_type = requires { sizeof(K); };
}  // namespace detail

#define HEDDLE_DECLARE_KERNEL(operation, tag, header)                                                 \
  template <>                                                                                         \
  struct kernel<operation, tag>;                                                                      \
  template <>                                                                                         \
  struct kernel_declaration<operation, tag> {                                                         \
    static constexpr bool value = true;                                                               \
    template <class K>                                                                                \
    static consteval bool check() {                                                                   \
      static_assert(detail::complete_type<K>, "this operation has a tuned form here: #include <" header ">"); \
      return true;                                                                                    \
    }                                                                                                 \
  }

HEDDLE_DECLARE_KERNEL(tile::run_fn, reference_tag, "heddle/backend/reference/tile_context.hpp");
HEDDLE_DECLARE_KERNEL(tile::run_fn, cpu_tag, "heddle/backend/cpu/tile_context.hpp");
HEDDLE_DECLARE_KERNEL(tile::run_fn, sim_tag, "heddle/backend/sim/tile_context.hpp");
HEDDLE_DECLARE_KERNEL(tile::run_fn, cuda_tag, "heddle/backend/cuda/tile_context.hpp");
HEDDLE_DECLARE_KERNEL(matmul_fn, reference_tag, "heddle/backend/reference/matmul.hpp");
HEDDLE_DECLARE_KERNEL(matmul_fn, cpu_tag, "heddle/backend/cpu/matmul.hpp");
HEDDLE_DECLARE_KERNEL(matmul_row_statistics_fn, cpu_tag, "heddle/backend/cpu/matmul_row_statistics.hpp");
HEDDLE_DECLARE_KERNEL(matmul_swiglu_fn, cpu_tag, "heddle/backend/cpu/matmul_swiglu.hpp");
HEDDLE_DECLARE_KERNEL(spmv_fn, cpu_tag, "heddle/backend/cpu/sparse.hpp");
HEDDLE_DECLARE_KERNEL(spmm_fn, cpu_tag, "heddle/backend/cpu/sparse.hpp");
HEDDLE_DECLARE_KERNEL(fft_fn, cpu_tag, "heddle/backend/cpu/fft.hpp");
HEDDLE_DECLARE_KERNEL(stencil_fn, cpu_tag, "heddle/backend/cpu/stencil.hpp");
HEDDLE_DECLARE_KERNEL(top_k_fn, cpu_tag, "heddle/backend/cpu/top_k.hpp");
HEDDLE_DECLARE_KERNEL(grouped_matmul_fn, cpu_tag, "heddle/backend/cpu/grouped_matmul.hpp");
HEDDLE_DECLARE_KERNEL(grouped_matmul_weight_fn, cpu_tag, "heddle/backend/cpu/grouped_matmul.hpp");
HEDDLE_DECLARE_KERNEL(pack_fn, reference_tag, "heddle/backend/reference/matmul.hpp");
HEDDLE_DECLARE_KERNEL(pack_fn, cpu_tag, "heddle/backend/cpu/matmul.hpp");
HEDDLE_DECLARE_KERNEL(attention::forward_fn, cpu_tag, "heddle/backend/cpu/attention_forward.hpp");
HEDDLE_DECLARE_KERNEL(attention::backward_fn, cpu_tag, "heddle/backend/cpu/attention_backward.hpp");
HEDDLE_DECLARE_KERNEL(attention::decode_fn, cpu_tag, "heddle/backend/cpu/attention_decode.hpp");

/// Runs the tuned form where the grid lists one for the executor's backend, else `Operation::generic`.
template <class Operation, class Executor, class... Arguments>
HEDDLE_FN void run_kernel(Executor& exec, Arguments const&... arguments) {
  using backend = typename Executor::backend;
  using declaration = kernel_declaration<Operation, backend>;
  if constexpr (declaration::value) {
    using form = kernel<Operation, backend>;
    if constexpr (declaration::template check<form>()) form::run(exec, arguments...);
  } else {
    static_assert(requires { Operation::generic(exec, arguments...); },
                  "this operation has no form on the executor's backend: see docs/backend.md");
    Operation::generic(exec, arguments...);
  }
}

}  // namespace heddle
