// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/linalg/epilogue.hpp>

/// @file
/// Products that are stored as small numbers, by scales that are known before: `matmul(exec, a, b, bytes, {},
/// epilogue::bias(b) | epilogue::quantise{scale})`.

namespace heddle::epilogue {

/// Divides by a scale, so that c = value / scale is stored in the type of c: of bytes or fp8.
///
/// Pre: the scale is positive and normal. Numerics: value * (1 / scale), each rounded once, with the bits of
/// `nn::quantise_rows` for its scale; then the store rounds to nearest even and saturates.
struct quantise {
  float scale;

  template <class V>
  HEDDLE_TILE V operator()(V const& value, index_t, index_t, index_t) const {
    using T = lane_t<V>;
    return mul(value, splat<V>(T(1) / static_cast<T>(scale)));
  }
};

/// The same with a scale for each row of c. Pre: `scales` holds one for each row.
struct quantise_rows {
  float const* scales;

  template <class V>
  HEDDLE_TILE V operator()(V const& value, index_t row, index_t, index_t) const {
    using T = lane_t<V>;
    return mul(value, splat<V>(T(1) / static_cast<T>(scales[row])));
  }
};

}  // namespace heddle::epilogue
