// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/exec/executor.hpp>
#include <heddle/tile/context.hpp>

namespace heddle {
namespace tile {

namespace detail {

template <class Program>
HEDDLE_FN span work_of(Program const& program) {
  if constexpr (requires { program.work(); })
    return program.work();
  else
    return {.operation = "tile program"};
}

}  // namespace detail

/// Submits a tile program to an executor, inside the span that the program's `work()` returns. Nobody calls `work()`
/// where the observer is null_observer and no plan is made; a program without one is seen, with neither flops nor
/// bytes.
///
/// Pre: the program's operands stay alive until the queue has passed it. Errors: contract_error from the program.
/// Sync: submits; blocks only where the executor completes work before it returns. Memory: scratch of
/// `sizeof(shared<Ctx>)` rounded up to 64 bytes per worker on CPU backends, shared memory of the block on devices.
/// Determinism: the same bits on every backend, for any number of workers.
struct run_fn {
  template <executor E, class Program>
  HEDDLE_FN void operator()(E& exec, Program const& program) const {
    static_assert(kernel_declaration<run_fn, typename E::backend>::value, "this backend runs no tile programs");
    observed_span<E> const scope(exec, [&program] { return detail::work_of(program); });
    run_kernel<run_fn>(exec, program);
  }
};

inline constexpr run_fn run{};

namespace detail {

// A program with a member type `plain` calls code that knows no vectors.
template <class Program>
inline constexpr bool knows_vectors = !requires {
  typename Program::plain;
};

template <class Program>
HEDDLE_FN bool runs_in_vectors(Program const& program) {
  if constexpr (requires { program.unit_columns(); })
    return program.unit_columns();
  else
    return true;
}

/// Bytes of scratch that one worker needs, in whole cache lines.
template <class Program, class Ctx>
inline constexpr index_t worker_bytes = (static_cast<index_t>(sizeof(typename Program::template shared<Ctx>)) + 63) /
                                        64 * 64;

/// Runs every tile with a context of type Ctx: `Body::run<Ctx>(program, shared, first, end)` does the tiles
/// [first, end). Small tiles go to a worker several at a time, while every worker still gets many turns.
template <class Ctx, class Body, class Executor, class Program>
HEDDLE_FN void run_on_workers(Executor& exec, Program const& program) {
  static_assert(tile_program<Program, Ctx>, "a tile program has shared<Ctx>, tiles<Ctx>() and a call operator");
  index_t const tiles = program.template tiles<Ctx>();
  if (tiles <= 0) return;
  scratch_frame<Executor> frame(exec);
  std::byte* const scratch = frame.template take<std::byte>(worker_bytes<Program, Ctx> * exec.concurrency());
  index_t const turns = tiles / (index_t{16} * exec.concurrency()), group = turns < 1 ? 1 : turns > 16 ? 16 : turns;
  exec.for_each_tile(ceil_div(tiles, group), [program, scratch, tiles, group](index_t turn, int worker) {
    index_t const first = turn * group, end = first + group < tiles ? first + group : tiles;
    Body::template run<Ctx>(program, scratch + worker * worker_bytes<Program, Ctx>, first, end);
  });
}

}  // namespace detail
}  // namespace tile
}  // namespace heddle
