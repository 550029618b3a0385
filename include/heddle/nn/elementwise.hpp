// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/transform.hpp>
#include <heddle/core/monoid.hpp>

namespace heddle {
namespace nn {

/// y = a + b, element by element.
///
/// Shapes: a, b, y vectors or matrices of equal extents, strides free. Types: any float storage; added in fp32 (fp64),
/// rounded once. Pre: equal extents; y overlaps nothing else. Errors: contract_error. Complexity: one pass. Sync:
/// submits. Determinism: the same bits everywhere. y may be a or b (in place).
struct add_fn {
  template <executor E, any_view A, any_view B, writable_view Y>
    requires(A::rank() == Y::rank() && B::rank() == Y::rank())
  HEDDLE_FN void operator()(E& exec, A const& a, B const& b, Y const& y) const {
    heddle::detail::transform_as(exec, "add", y, plus<>{}, a, b);
  }
};
inline constexpr add_fn add{};

}  // namespace nn
}  // namespace heddle
