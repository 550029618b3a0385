// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/tile/run.hpp>

/// @file
/// Vectors of any stride for operations that work on adjacent elements: those are used where they lie, others are
/// copied into scratch and back.

namespace heddle {
namespace detail {

/// to[i * to_step] = from[i * from_step]
template <class T>
struct restride_program {
  using plain = void;
  static constexpr index_t grain = 4096;

  index_t n;
  T const* from;
  index_t from_step;
  T* to;
  index_t to_step;

  template <class Ctx>
  struct shared {};
  HEDDLE_FN span work() const {
    return {.operation = "restride", .shape = {n}, .bytes = 2 * n * static_cast<index_t>(sizeof(T))};
  }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return tile::ceil_div(n, grain);
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const first = ctx.tile() * grain, left = n - first;
    ctx.for_each(left < grain ? left : grain, [this, first](index_t e) {
      index_t const i = first + e;
      to[i * to_step] = from[i * from_step];
    });
  }
};

template <any_view V>
HEDDLE_FN bool is_adjacent(V const& v) {
  return v.size() <= 1 || v.stride(0) == 1;
}

/// Where results are written: the output itself, or a place in scratch for `put_back`.
template <any_view Out, executor E>
HEDDLE_FN auto* adjacent_output(scratch_frame<E>& frame, Out const& out, index_t n) {
  HEDDLE_EXPECTS(out.size() == n, "all operands of a sort have one extent", out.size(), n);
  HEDDLE_EXPECTS(out.has_distinct_elements(), "no element of an output may stand twice", out.stride(0));
  return is_adjacent(out) ? out.data() : frame.template take<typename Out::value_type>(n);
}

/// The elements of an input: where they lie, or copied to `room`.
template <executor E, any_view In>
HEDDLE_FN auto const* adjacent_input(E& exec, In const& in, typename In::value_type* room, index_t n) {
  using T = typename In::value_type;
  HEDDLE_EXPECTS(in.size() == n, "all operands of a sort have one extent", in.size(), n);
  if (!is_adjacent(in)) tile::run(exec, restride_program<T>{n, in.data(), in.stride(0), room, 1});
  return is_adjacent(in) ? static_cast<T const*>(in.data()) : room;
}

template <executor E, any_view Out>
HEDDLE_FN void put_back(E& exec, typename Out::value_type const* from, Out const& out) {
  using T = typename Out::value_type;
  if (!is_adjacent(out)) tile::run(exec, restride_program<T>{out.size(), from, 1, out.data(), out.stride(0)});
}

}  // namespace detail
}  // namespace heddle
