// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/views.hpp>
#include <heddle/tile/run.hpp>

namespace heddle {

namespace detail {
template <class F>
struct for_each_program {
  using plain = void;
  index_t n, grain;
  F f;

  template <class Ctx>
  struct shared {};
  HEDDLE_FN span work() const { return {.operation = "for_each", .shape = {n}, .flops = n * tile::flops_of<F>}; }
  template <class Ctx>
  HEDDLE_HD_FN index_t tiles() const {
    return tile::ceil_div(n, grain);
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE void operator()(Ctx& ctx) const {
    index_t const first = ctx.tile() * grain, left = n - first;
    ctx.for_each(left < grain ? left : grain, [first, &call = f](index_t i) { call(first + i); });
  }
};
template <class V, class F>
struct element_call {
  V v;
  F f;
  HEDDLE_DEVICE_PASS_QUIET
  HEDDLE_HD_FN void operator()(index_t i) const { f(v(i)); }
};
}  // namespace detail

/// Calls f(i) for every i in [0, n), or f(v(i)) for every element of a vector, in any order and perhaps at once.
///
/// Shapes: v a vector, lazy ones included; f gets a reference to an element in memory and may write through it.
/// Types: f is trivially copyable and callable where the executor runs. It is compiled with the flags of the file.
/// Pre: n >= 0, grain >= 1; calls for different i don't write what others touch. Complexity: n calls, `grain` in a
/// row: few where one call is long. Sync: submits.
struct for_each_fn {
  template <executor E, class F>
  HEDDLE_FN void operator()(E& exec, index_t n, F const& f, index_t grain = 4096) const {
    HEDDLE_EXPECTS(n >= 0, "a count must not be negative", n);
    HEDDLE_EXPECTS(grain >= 1, "a worker takes at least one call at a time", grain);
    if (n > 0) tile::run(exec, detail::for_each_program<F>{n, grain, f});
  }
  template <executor E, input_vector V, class F>
  HEDDLE_FN void operator()(E& exec, V const& v, F const& f) const {
    (*this)(exec, v.extent(0), detail::element_call<V, F>{v, f});
  }
};
inline constexpr for_each_fn for_each{};

}  // namespace heddle
