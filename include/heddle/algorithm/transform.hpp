// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/detail/row_layout.hpp>
#include <heddle/core/overlap.hpp>
#include <heddle/tile/vec.hpp>

namespace heddle {

namespace detail {

// The element of an operand as a program's type names it, and whether vectors of it can be read.
template <class In>
struct operand_facts {
  using element = In;
  static constexpr bool in_lanes = scalar<In>;
};
template <lazy_view In>
struct operand_facts<In> {
  using element = typename In::value_type;
  static constexpr bool in_lanes = In::in_lanes;
};
template <class In>
using operand_value_t = tile::value_t<typename operand_facts<In>::element>;

template <class F, class... In>
inline constexpr bool takes_lanes = false;
template <class F, class... In>
  requires(operand_facts<In>::in_lanes&&...)
inline constexpr bool takes_lanes<F, In...> = std::is_invocable_v<F const&, vec<operand_value_t<In>, 4> const&...>;

template <class F, class Out, class... In>
struct transform_program : plain_unless<takes_lanes<F, In...>> {
  F f;
  row_layout<Out> out;
  row_layouts<In const...> in;

  char const* operation;
  index_t rows, columns;  // of the operands as they were given
  bool stream;

  HEDDLE_FN transform_program(F const& call, row_layout<Out> const& o, row_layouts<In const...> const& i,
                              char const* name, index_t r, index_t c, bool past_caches)
      : f(call), out(o), in(i), operation(name), rows(r), columns(c), stream(past_caches) {}

  template <class Ctx>
  struct shared {};
  HEDDLE_FN bool unit_columns() const { return out.unit_columns() && in.unit_columns(); }
  HEDDLE_FN span work() const {
    return {.operation = operation,
            .shape = {rows, columns},
            .bytes = out.bytes() + in.bytes(),
            .flops = rows * columns * tile::flops_of<F>};
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
    tile::streamed_ref<Out> const to{out.template ref<Ctx>(at), stream};
    ctx.map_to(to, f, refs...);
  }
};

/// Elements of a row where memory is folded: long rows, unless they leave a worker fewer than two tiles of four.
HEDDLE_FN constexpr index_t transform_fold(index_t elements, int workers) {
  constexpr index_t longest = 4096, shortest = 1024;
  return elements >= 8 * longest * workers ? longest : shortest;
}

/// Outputs of so many bytes are written past the caches, unless they are read too.
inline constexpr index_t streamed_bytes = index_t{1} << 25;
template <class Out, class In>
HEDDLE_FN bool same_memory(Out const& out, In const& in) {
  if constexpr (any_view<In>)
    return static_cast<void const*>(in.data()) == static_cast<void const*>(out.data());
  else
    return false;
}

/// Submits out = f(in...) under the name of an operation.
template <executor E, class Out, class F, class... In>
HEDDLE_FN void transform_as(E& exec, char const* operation, Out const& out, F const& f, In const&... in) {
  ((HEDDLE_EXPECTS(in.extents() == out.extents(), "all operands must have the same extents", operation, in.extent(0),
                   in.extent(In::rank() - 1), out.extent(0), out.extent(Out::rank() - 1))),
   ...);
  expect_apart_or_same(operation, out, in...);
  if (out.empty()) return;
  bool const contiguous = (out.is_contiguous() && ... && in.is_contiguous());
  index_t const fold = transform_fold(out.size(), exec.concurrency());
  tile::run(exec, transform_program<F, typename Out::element_type, operand_t<In>...>(
                      f, make_row_layout(canonical(out), contiguous, fold), make_row_layouts(contiguous, fold, in...),
                      operation, Out::rank() == 1 ? 1 : out.extent(0), out.extent(Out::rank() - 1),
                      element_bytes(out) >= streamed_bytes && !(same_memory(out, in) || ...)));
}

}  // namespace detail

/// out = f(in...), element by element.
///
/// Shapes: vectors or matrices of equal extents, strides free (adjacent elements are fast); inputs may be lazy vectors
/// (algorithm/views.hpp). Types: any; f gets narrow floats as float, and its result is rounded once. Pre: f is
/// trivially copyable and pure. One that takes any type (`auto const&`, HEDDLE_LAMBDA) is called with vectors and
/// follows the rules of docs/tile.md; one with named types is called with numbers and compiled with the flags of the
/// file. Complexity: one pass. Sync: submits. Determinism: element-wise. out may be
/// inputs (in place), and overlaps no other.
struct transform_fn {
  template <executor E, writable_view Out, class F, input_view... In>
    requires(sizeof...(In) >= 1 && ((In::rank() == Out::rank()) && ...))
  HEDDLE_FN void operator()(E& exec, Out const& out, F const& f, In const&... in) const {
    detail::transform_as(exec, "transform", out, f, in...);
  }
};
inline constexpr transform_fn transform{};

}  // namespace heddle
