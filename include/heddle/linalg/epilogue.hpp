// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/arith.hpp>
#include <heddle/core/tensor_view.hpp>
#include <heddle/tile/vec.hpp>

#include <concepts>

/// @file
/// Epilogues: callables that a matrix product applies to its finished elements before they are stored.
///
/// An epilogue is called as `f(value, row, col, n)`: `value` holds n consecutive elements of row `row` that start at
/// column `col`, as a scalar (n = 1) or a vector whose lanes from n on are unspecified and not stored. It returns
/// the elements to store. It is copied, must be trivially copyable, and is marked HEDDLE_LAMBDA if it is a lambda;
/// helpers that it calls are marked HEDDLE_TILE.

namespace heddle {

/// Stores the product as it is.
struct no_epilogue {
  template <class V>
  HEDDLE_TILE V operator()(V const& value, index_t, index_t, index_t) const {
    return value;
  }
};

/// Whether an epilogue of products that are accumulated in T takes both forms of `value`.
template <class F, class T>
concept matmul_epilogue = std::invocable<F const&, T const&, index_t, index_t, index_t> &&
                          std::invocable<F const&, vec<T, 16 / sizeof(T)> const&, index_t, index_t, index_t>;

namespace epilogue {

/// What an epilogue reads from memory of its own: n elements that lie one after the other, in the type of `value`.
///
/// Types: T is any storage type; narrow ones widen. Pre: `from` has n elements. Post: lanes from n on are unspecified.
template <class V, class T>
HEDDLE_TILE V load_like(V const&, T const* from, index_t n) {
  if constexpr (std::is_arithmetic_v<V>)
    return static_cast<V>(*from);
  else
    return load_as<V>(from, n);
}

/// Adds a row vector: value + bias[col].
template <class T>
struct add_bias {
  T const* bias;
  template <class V>
  HEDDLE_TILE V operator()(V const& value, index_t, index_t col, index_t n) const {
    return value + load_like(value, bias + col, n);
  }
};
template <class T>
add_bias(T const*) -> add_bias<T>;

/// Adds another matrix with unit column stride: value + residual[row, col].
template <class T>
struct add_residual {
  T const* data;
  index_t row_stride;
  template <class V>
  HEDDLE_TILE V operator()(V const& value, index_t row, index_t col, index_t n) const {
    return value + load_like(value, data + row * row_stride + col, n);
  }
};
template <class T>
add_residual(T const*, index_t) -> add_residual<T>;

/// Applies the first, then the second.
template <class First, class Second>
struct then {
  First first;
  Second second;
  template <class V>
  HEDDLE_TILE V operator()(V const& value, index_t row, index_t col, index_t n) const {
    return second(first(value, row, col, n), row, col, n);
  }
};
template <class First, class Second>
then(First, Second) -> then<First, Second>;

/// Applies an elementwise function, for example an activation.
template <class F>
struct activation {
  F f;
  template <class V>
  HEDDLE_TILE V operator()(V const& value, index_t, index_t, index_t) const {
    return f(value);
  }
};
template <class F>
activation(F) -> activation<F>;

}  // namespace epilogue
}  // namespace heddle
