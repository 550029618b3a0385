// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/extents.hpp>
#include <heddle/core/monoid.hpp>

namespace heddle {
namespace tile {

/// What one call of F on one element counts in `span::flops`: its constant `flops`, where it has one, else 1.
template <class F>
inline constexpr index_t flops_of = 1;
template <class F>
  requires requires { F::flops; }
inline constexpr index_t flops_of<F> = F::flops;

/// The argument itself, a number or a vector.
struct pass_fn {
  static constexpr index_t flops = 0;
  HEDDLE_DEVICE_PASS_QUIET
  template <class V>
  HEDDLE_TILE V operator()(V const& a) const {
    return a;
  }
};
inline constexpr pass_fn pass{};

namespace detail {
struct larger_operation {
  static constexpr bool selects = true;
  template <class T>
  HEDDLE_HD_FN static constexpr T identity_of() {
    return heddle::detail::range_end<T>(false);
  }
  HEDDLE_DEVICE_PASS_QUIET
  template <class V>
  HEDDLE_TILE V operator()(V const& a, V const& b) const noexcept {
    return select(a > b, a, b);
  }
};
}  // namespace detail

/// maximum<T> in one instruction, for rows where no NaN and no sign of zero can be seen in the end: a NaN stays or gets
/// lost, and of two zeros any is taken.
template <class T>
struct larger : heddle::detail::operation_on<T, detail::larger_operation> {};

}  // namespace tile
}  // namespace heddle
