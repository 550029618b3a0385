// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/arith.hpp>
#include <heddle/core/tensor_view.hpp>
#include <heddle/tile/vec.hpp>

#include <concepts>
#include <cstdint>

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

namespace linalg::detail {

/// Whether an epilogue needs elements of a row together (`takes_rows`): where columns of c are adjacent, backends with
/// vectors hand it no single ones.
template <class F>
inline constexpr bool takes_rows = false;
template <class F>
  requires(F::takes_rows)
inline constexpr bool takes_rows<F> = true;

/// Whether an epilogue writes by itself, `f.store(value, row, col, n)`; then c is only an extent.
template <class F>
inline constexpr bool stores_itself = false;
template <class F>
  requires(F::stores_itself)
inline constexpr bool stores_itself<F> = true;

/// Registers of one row that an epilogue is handed together (`registers_at_once`).
template <class F>
inline constexpr int registers_at_once = 1;
template <class F>
  requires(F::registers_at_once > 1)
inline constexpr int registers_at_once<F> = F::registers_at_once;

/// A number as it is converted to C: for bytes, whole, between -127 and 127; NaN is 0.
template <class C, class V>
HEDDLE_TILE V stored_number(V const& value) {
  if constexpr (std::is_same_v<C, std::int8_t> && std::is_floating_point_v<lane_t<V>>) {
    using T = lane_t<V>;
    V const known = select(value == value, value, splat<V>(T(0)));
    V const low = select(known < splat<V>(T(-127)), splat<V>(T(-127)), known);
    V const inside = select(splat<V>(T(127)) < low, splat<V>(T(127)), low);
    return (inside + splat<V>(T(12582912))) - splat<V>(T(12582912));  // 1.5 2^23: the last place is 1
  } else {
    return value;
  }
}

/// Lets an epilogue that knows the sizes of what it reads compare them with those of c.
template <class Epilogue>
HEDDLE_FN void check_epilogue(Epilogue const& epilogue, index_t rows, index_t columns) {
  if constexpr (requires { epilogue.check(rows, columns); }) epilogue.check(rows, columns);
}

}  // namespace linalg::detail

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
  index_t size = -1;  ///< elements behind `bias`, or -1: as many as c has columns

  HEDDLE_FN void check(index_t, index_t columns) const {
    HEDDLE_EXPECTS(size == -1 || size == columns, "a bias has one element per column of c", size, columns);
  }
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
  index_t rows = -1, columns = -1;  ///< of the matrix, or -1: those of c

  HEDDLE_FN void check(index_t m, index_t n) const {
    HEDDLE_EXPECTS((rows == -1 && columns == -1) || (rows == m && columns == n),
                   "a matrix that an epilogue reads has the rows and columns of c", rows, columns, m, n);
  }
  template <class V>
  HEDDLE_TILE V operator()(V const& value, index_t row, index_t col, index_t n) const {
    return value + load_like(value, data + row * row_stride + col, n);
  }
};
template <class T>
add_residual(T const*, index_t) -> add_residual<T>;

/// Multiplies by another matrix with unit column stride: value * gate[row, col].
template <class T>
struct multiply_gate {
  T const* data;
  index_t row_stride;
  index_t rows = -1, columns = -1;  ///< of the matrix, or -1: those of c

  HEDDLE_FN void check(index_t m, index_t n) const {
    HEDDLE_EXPECTS((rows == -1 && columns == -1) || (rows == m && columns == n),
                   "a matrix that an epilogue reads has the rows and columns of c", rows, columns, m, n);
  }
  template <class V>
  HEDDLE_TILE V operator()(V const& value, index_t row, index_t col, index_t n) const {
    return mul(value, load_like(value, data + row * row_stride + col, n));
  }
};
template <class T>
multiply_gate(T const*, index_t) -> multiply_gate<T>;

/// Multiplies by a number, which is rounded to the accumulator's type.
struct scale {
  double factor;
  template <class V>
  HEDDLE_TILE V operator()(V const& value, index_t, index_t, index_t) const {
    return mul(value, splat<V>(static_cast<lane_t<V>>(factor)));
  }
};

/// Applies the first, then the second.
template <class First, class Second>
struct then {
  First first;
  Second second;

  HEDDLE_FN void check(index_t rows, index_t columns) const {
    linalg::detail::check_epilogue(first, rows, columns);
    linalg::detail::check_epilogue(second, rows, columns);
  }
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

/// Epilogues by short names, for chains: `bias(b) | gelu | residual(x)`.
template <class T>
HEDDLE_FN add_bias<std::remove_const_t<T>> bias(T* from) {
  return {from, -1};
}
/// Pre: columns are adjacent.
template <vector_view V>
HEDDLE_FN add_bias<typename V::value_type> bias(V const& v) {
  HEDDLE_EXPECTS(v.stride(0) == 1 || v.extent(0) <= 1, "a bias has adjacent elements", v.stride(0));
  return {v.data(), v.extent(0)};
}
/// Pre: columns are adjacent.
template <matrix_view V>
HEDDLE_FN add_residual<typename V::value_type> residual(V const& v) {
  HEDDLE_EXPECTS(v.stride(1) == 1 || v.extent(1) <= 1, "a residual has adjacent columns", v.stride(1));
  return {v.data(), v.stride(0), v.extent(0), v.extent(1)};
}
/// Pre: columns are adjacent.
template <matrix_view V>
HEDDLE_FN multiply_gate<typename V::value_type> gate(V const& v) {
  HEDDLE_EXPECTS(v.stride(1) == 1 || v.extent(1) <= 1, "a gate has adjacent columns", v.stride(1));
  return {v.data(), v.stride(0), v.extent(0), v.extent(1)};
}

/// The first, then the second; one of them is an epilogue of the library, so that `|` is found.
template <class First, class Second>
  requires((matmul_epilogue<First, float> || matmul_epilogue<First, double>) &&
           (matmul_epilogue<Second, float> || matmul_epilogue<Second, double>))
HEDDLE_FN constexpr then<First, Second> operator|(First const& first, Second const& second) {
  return {first, second};
}

}  // namespace epilogue
}  // namespace heddle
