// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/views.hpp>
#include <heddle/core/overlap.hpp>
#include <heddle/tile/run.hpp>

namespace heddle {

namespace detail {
template <class Source, class Indices, class Out>
struct scatter_program {
  using plain = void;
  static constexpr index_t grain = 4096;

  Source source;
  Indices indices;
  view<Out, 1> out;
  index_t n;

  template <class Ctx>
  struct shared {};
  HEDDLE_FN span work() const {
    return {.operation = "scatter_elements",
            .shape = {n, out.extent(0)},
            .bytes = source.bytes() + indices.bytes() + n * static_cast<index_t>(sizeof(Out))};
  }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return tile::ceil_div(n, grain);
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const first = ctx.tile() * grain, left = n - first;
    ctx.for_each(left < grain ? left : grain, [this, first](index_t i) { put(first + i); });
  }

 private:
  HEDDLE_DEVICE_PASS_QUIET
  HEDDLE_HD_FN void put(index_t i) const {
    index_t const at = static_cast<index_t>(indices(i));
    HEDDLE_EXPECTS(at >= -1 && at < out.extent(0), "an index names an element of the output, or is -1", i, at,
                   out.extent(0));
    if (at >= 0) out.data()[at * out.stride(0)] = static_cast<Out>(source(i));
  }
};
}  // namespace detail

/// out[indices[i]] = in[i]; an index of -1 drops its element.
///
/// Shapes: in and indices vectors of one extent, lazy ones included; out a vector of any extent. Types: elements
/// convert to out's; indices are signed integers. Pre: apart from -1 no index stands twice; out overlaps nothing that
/// is read. Post: elements that no index names are left as they were. Errors: contract_error from the work for an index
/// outside out. Complexity: one pass. Sync: submits. Determinism: exact. The opposite is `copy(exec, views::gather(v,
/// indices), out)`; the name `scatter` belongs to the collective.
struct scatter_elements_fn {
  template <executor E, input_vector In, input_vector Indices, vector_view Out>
  requires writable_view<Out> && std::signed_integral<typename Indices::value_type> HEDDLE_FN void operator()(
      E& exec, In const& in, Indices const& indices, Out const& out) const {
    HEDDLE_EXPECTS(in.extent(0) == indices.extent(0), "every element has an index", in.extent(0), indices.extent(0));
    expect_apart("scatter_elements", out, in, indices);
    using program =
        detail::scatter_program<detail::source_t<In>, detail::source_t<Indices>, typename Out::element_type>;
    if (!in.empty())
      tile::run(exec, program{detail::source_of(in), detail::source_of(indices), canonical(out), in.extent(0)});
  }
};
inline constexpr scatter_elements_fn scatter_elements{};

}  // namespace heddle
