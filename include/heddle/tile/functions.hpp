// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/arith.hpp>
#include <heddle/core/extents.hpp>

namespace heddle {
namespace tile {

/// What one call of F on one element counts in `span::flops`: its constant `flops`, where it has one, else 1.
template <class F>
inline constexpr index_t flops_of = 1;
template <class F>
  requires requires { F::flops; }
inline constexpr index_t flops_of<F> = F::flops;

/// Callables that tile programs need again and again: they take numbers and vectors alike.
struct plus_fn {
  HEDDLE_DEVICE_PASS_QUIET
  template <class V>
  HEDDLE_TILE V operator()(V const& a, V const& b) const {
    return a + b;
  }
};
/// NaN if either is NaN, and -0 < +0.
struct maximum_fn {
  HEDDLE_DEVICE_PASS_QUIET
  template <class V>
  HEDDLE_TILE V operator()(V const& a, V const& b) const {
    return max(a, b);
  }
};
struct minimum_fn {
  HEDDLE_DEVICE_PASS_QUIET
  template <class V>
  HEDDLE_TILE V operator()(V const& a, V const& b) const {
    return min(a, b);
  }
};
struct pass_fn {
  static constexpr index_t flops = 0;
  HEDDLE_DEVICE_PASS_QUIET
  template <class V>
  HEDDLE_TILE V operator()(V const& a) const {
    return a;
  }
};
/// a where a > b, else b: cheaper than maximum where no NaN and no sign of zero can be seen in the end.
struct larger_fn {
  HEDDLE_DEVICE_PASS_QUIET
  template <class V>
  HEDDLE_TILE V operator()(V const& a, V const& b) const {
    return select(a > b, a, b);
  }
};
/// Rounded before anything is added to it.
struct product_fn {
  HEDDLE_DEVICE_PASS_QUIET
  template <class V>
  HEDDLE_TILE V operator()(V const& a, V const& b) const {
    return mul(a, b);
  }
};

inline constexpr plus_fn plus{};
inline constexpr maximum_fn maximum{};
inline constexpr minimum_fn minimum{};
inline constexpr larger_fn larger{};
inline constexpr product_fn product{};
inline constexpr pass_fn pass{};  ///< its argument

}  // namespace tile
}  // namespace heddle
