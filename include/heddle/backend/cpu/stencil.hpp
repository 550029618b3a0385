// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/stencil.hpp>
#include <heddle/backend/cpu/tile_context.hpp>
#include <heddle/tile/targets.hpp>

namespace heddle {
namespace detail {

/// A tile of a stencil: vectors where all surroundings exist, numbers along the ends.
struct stencil_body {
  template <class Isa, class Work>
  HEDDLE_SHIM void operator()(Isa, Work const& w, index_t const& tile) const {
    index_t const first = tile % w.chunks() * Work::columns_of_tile, row = tile / w.chunks() * w.rows_of_tile();
    index_t const end = tile::detail::smaller(w.in.size[2], first + Work::columns_of_tile);
    index_t const last_row = tile::detail::smaller(w.rows(), row + w.rows_of_tile());
    for (index_t r = row; r < last_row; ++r) run_row<Isa>(w, r / w.in.size[1], r % w.in.size[1], first, end);
  }

 private:
  template <class Isa, class Work>
  static HEDDLE_SHIM void run_row(Work const& w, index_t z, index_t y, index_t first, index_t end) {
    using T = typename Work::number;
    using In = typename Work::input;
    constexpr int lanes = Isa::register_bytes / static_cast<int>(sizeof(T));
    using V = vec<T, lanes, lanes>;
    index_t x = first;
    if (w.in.inside(0, z) && w.in.inside(1, y)) {
      for (; x < end && x < w.in.radius; ++x) w.put(z, y, x);
      index_t const stop = tile::detail::smaller(end, w.in.size[2] - w.in.radius);
      for (; x + lanes <= stop; x += lanes)
        store_as(&w.result(z, y, x), w.f(neighbourhood<V, In>(&w.in.element(z, y, x), w.in.step[0], w.in.step[1])));
    }
    for (; x < end; ++x) w.put(z, y, x);
  }
};

template <class F, class T>
inline constexpr bool takes_neighbourhood_of_lanes =
    scalar<T>&& std::is_invocable_v<F const&, neighbourhood<vec<tile::value_t<T>, 4, 4>, T> const&>;

}  // namespace detail

/// Stencils on CPUs, instruction set chosen at run time. Gives the bits of the generic form.
template <>
struct kernel<stencil_fn, cpu_tag> {
  template <class Executor, class In, class Out, class F>
  HEDDLE_FN static void run(Executor& exec, detail::stencil_work<In, Out, F> const& work) {
    using work_type = detail::stencil_work<In, Out, F>;
    detail::stencil_program<work_type> const program{work};
    if constexpr (detail::takes_neighbourhood_of_lanes<F, In>) {
      if (work.in.step[2] == 1 && work.step[2] == 1) {
        observed_span<Executor> const scope(exec, [&program] { return program.work(); });
        exec.for_each_tile(work.tile_count(),
                           [work](index_t tile, int) { dispatch_isa(detail::stencil_body{}, work, tile); });
        return;
      }
    }
    tile::run(exec, program);
  }
};

}  // namespace heddle
