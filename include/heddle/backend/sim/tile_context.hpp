// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/simt/block_tile_context.hpp>
#include <heddle/simt/sim_executor.hpp>
#include <heddle/tile/run.hpp>

namespace heddle {
namespace tile {

using sim_context = simt::block_tile_context<simt::sim_block_context>;
static_assert(tile_context<sim_context>);

namespace detail {
template <class Program>
struct sim_tile {
  Program program;
  HEDDLE_FN void operator()(simt::sim_block_context& block) const {
    sim_context ctx(block, worker_bytes<Program, sim_context>);
    program(ctx);
  }
};
}  // namespace detail
}  // namespace tile

/// Every tile is a thread block of the simulator.
template <>
struct kernel<tile::run_fn, sim_tag> {
  template <class Executor, class Program>
  static HEDDLE_FN void run(Executor& exec, Program const& program) {
    using context = tile::sim_context;
    static_assert(tile::tile_program<Program, context>);
    exec.launch(program.template tiles<context>(), context::threads,
                tile::detail::worker_bytes<Program, context> + context::context_bytes,
                tile::detail::sim_tile<Program>{program});
  }
};

}  // namespace heddle
