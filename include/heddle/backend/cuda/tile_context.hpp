// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/backend/cuda/executor.hpp>
#include <heddle/simt/block_tile_context.hpp>
#include <heddle/tile/run.hpp>

namespace heddle {
namespace tile {

using cuda_context = simt::block_tile_context<cuda::block_context>;

namespace detail {
template <class Program>
struct cuda_tile {
  Program program;
  __device__ __forceinline__ void operator()(cuda::block_context& block) const {
    cuda_context ctx(block, worker_bytes<Program, cuda_context>);
    program(ctx);
  }
};
}  // namespace detail
}  // namespace tile

/// Every tile is a thread block of a CUDA grid.
template <>
struct kernel<tile::run_fn, cuda_tag> {
  template <class Executor, class Program>
  static HEDDLE_FN void run(Executor& exec, Program const& program) {
    using context = tile::cuda_context;
    static_assert(tile::tile_program<Program, context>);
    exec.launch(program.template tiles<context>(), context::threads,
                tile::detail::worker_bytes<Program, context> + context::context_bytes,
                tile::detail::cuda_tile<Program>{program});
  }
};

}  // namespace heddle
