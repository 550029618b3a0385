// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/detail/row_layout.hpp>
#include <heddle/tile/vec.hpp>

namespace heddle {

namespace detail {

template <class F, class... In>
inline constexpr bool takes_lanes = false;
template <class F, class... In>
  requires(scalar<In>&&...)
inline constexpr bool takes_lanes<F, In...> = std::is_invocable_v<F const&, vec<tile::value_t<In>, 4> const&...>;

template <class F, class Out, class... In>
struct transform_program : plain_unless<takes_lanes<F, In...>> {
  F f;
  row_layout<Out> out;
  row_layouts<In const...> in;

  HEDDLE_FN transform_program(F const& call, row_layout<Out> const& o, row_layouts<In const...> const& i)
      : f(call), out(o), in(i) {}

  template <class Ctx>
  struct shared {};
  HEDDLE_FN bool unit_columns() const { return out.unit_columns() && in.unit_columns(); }
  HEDDLE_FN span work() const {
    return {.operation = "transform",
            .shape = {out.rows.extent(0), out.rows.extent(1)},
            .bytes = out.bytes() + in.bytes(),
            .flops = out.rows.size() * tile::flops_of<F>};
  }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return tile::ceil_div(out.row_count(), Ctx::rows);
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const at = ctx.tile() * Ctx::rows;
    in.template with<Ctx>(at, visit_rows<transform_program, Ctx>{*this, ctx, at});
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx, class... Ref>
  HEDDLE_TILE void visit(Ctx& ctx, index_t at, Ref const&... refs) const {
    ctx.map_to(out.template ref<Ctx>(at), f, refs...);
  }
};

}  // namespace detail

/// out = f(in...), element by element.
///
/// Shapes: vectors or matrices of equal extents, strides free (adjacent elements are fast). Types: any; f gets narrow
/// floats as float, and its result is rounded once. Pre: f is trivially copyable and pure. One that takes any type
/// (`auto const&`, HEDDLE_LAMBDA) is called with vectors and follows the rules of docs/tile.md; one with named types is
/// called with numbers and compiled with the flags of the file.
/// Complexity: one pass. Sync: submits. Determinism: element-wise. out may be one of the inputs (in place).
struct transform_fn {
  template <executor E, writable_view Out, class F, any_view... In>
    requires(sizeof...(In) >= 1 && ((In::rank() == Out::rank()) && ...))
  HEDDLE_FN void operator()(E& exec, Out const& out, F const& f, In const&... in) const {
    bool const equal = ((in.extents() == out.extents()) && ...);
    HEDDLE_EXPECTS(equal, "the operands of transform have one shape", out.size(), in.size()...);
    if (out.empty()) return;
    bool const contiguous = (out.is_contiguous() && ... && in.is_contiguous());
    tile::run(exec,
              detail::transform_program<F, typename Out::element_type, typename In::value_type...>(
                  f, detail::make_row_layout(canonical(out), contiguous), detail::make_row_layouts(contiguous, in...)));
  }
};
inline constexpr transform_fn transform{};

}  // namespace heddle
