// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/linalg/epilogue.hpp>

namespace heddle::epilogue {

/// Sums of bytes back to numbers: value * rows[row] * columns[col], then + bias[col] where there is one.
///
/// Types: for products whose epilogue sees float (c is a float). Pre: `rows` and `columns` hold a scale for each row
/// and column of c; a null one stands for ones. Numerics: each product and the sum are rounded once, in that order.
template <class Bias = float>
struct dequantize {
  float const* rows;
  float const* columns;
  Bias const* bias = nullptr;

  template <class V>
  HEDDLE_TILE V operator()(V const& value, index_t row, index_t col, index_t n) const {
    V y = value;
    if (rows) y = mul(y, splat<V>(static_cast<lane_t<V>>(rows[row])));
    if (columns) y = mul(y, load_like(y, columns + col, n));
    if (bias) y = y + load_like(y, bias + col, n);
    return y;
  }
};
dequantize(float const*, float const*)->dequantize<float>;
template <class Bias>
dequantize(float const*, float const*, Bias const*) -> dequantize<Bias>;

}  // namespace heddle::epilogue
