// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/transform.hpp>

namespace heddle {

/// out = in, element by element, converted where the types differ.
///
/// Shapes: vectors or matrices of equal extents, strides free (adjacent elements are fast); in may be a lazy vector,
/// which is written out. Types: any; narrowing floats rounds to nearest even. Pre: the views overlap nowhere, or
/// exactly. Complexity: one pass. Sync: submits.
struct copy_fn {
  template <executor E, input_view In, writable_view Out>
    requires(In::rank() == Out::rank())
  HEDDLE_FN void operator()(E& exec, In const& in, Out const& out) const {
    detail::transform_as(exec, "copy", out, tile::pass, in);
  }
};
inline constexpr copy_fn copy{};

}  // namespace heddle
