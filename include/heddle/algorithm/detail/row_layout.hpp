// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/views.hpp>
#include <heddle/tile/run.hpp>

/// @file
/// Vectors and matrices as rows of tiles: contiguous memory is folded into rows of one width, a matrix with gaps keeps
/// its own rows.

namespace heddle {
namespace detail {

/// One operand. `fold`: so many elements of a single vector, rows.extent(1) long, make a row. 0: the matrix's own rows.
template <class T>
struct row_layout {
  view<T, 2> rows;
  index_t fold;

  HEDDLE_FN bool unit_columns() const { return tile::has_unit_columns(rows); }
  HEDDLE_FN index_t bytes() const { return element_bytes(rows); }
  HEDDLE_HD_FN index_t row_count() const { return fold > 0 ? tile::ceil_div(rows.extent(1), fold) : rows.extent(0); }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE tile::matrix_ref<T> ref(index_t at) const {
    if (fold > 0)
      return Ctx::ref_flat(view<T, 1>(rows.data(), dims<1>(rows.extent(1)), rows.stride(1)), at * fold, fold);
    return Ctx::ref(rows, at, 0, rows.extent(1));
  }
};

/// A lazy operand: a vector.
template <lazy_view V>
struct row_layout<V const> {
  V source;
  index_t fold;

  HEDDLE_FN bool unit_columns() const { return source.unit(); }
  HEDDLE_FN index_t bytes() const { return source.bytes(); }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx>
  HEDDLE_TILE tile::lazy_ref<V> ref(index_t at) const {
    index_t const base = at * fold, left = source.extent(0) - base;
    index_t const count = left < Ctx::rows * fold ? tile::ceil_div(left, fold) : index_t{Ctx::rows};
    index_t const last = left < count * fold ? left - (count - 1) * fold : fold;
    return {source, base, count, fold, last};
  }
};

/// What stands for an operand in the type of a program: the element of a view of memory, a lazy view itself.
template <class V>
struct operand_of {
  using type = typename V::value_type;
};
template <lazy_view V>
struct operand_of<V> {
  using type = V;
};
template <class V>
using operand_t = typename operand_of<V>::type;

template <any_view V>
HEDDLE_FN auto make_row_layout(V const& v, bool contiguous, index_t fold) {
  static_assert(V::rank() == 1 || V::rank() == 2, "element-wise operations take vectors and matrices");
  using T = typename V::element_type;
  if constexpr (V::rank() == 1)
    return row_layout<T>{view<T, 2>(v.data(), dims<2>(1, v.extent(0)), 0, v.stride(0)), fold};
  else if (contiguous)
    return row_layout<T>{view<T, 2>(v.data(), dims<2>(1, v.size()), 0, 1), fold};
  else
    return row_layout<T>{view<T, 2>(v), 0};
}

/// Several operands, handed together to a callable.
template <class... T>
struct row_layouts;
template <>
struct row_layouts<> {
  HEDDLE_FN bool unit_columns() const { return true; }
  HEDDLE_FN index_t bytes() const { return 0; }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx, class G, class... Ref>
  HEDDLE_TILE void with(index_t, G const& g, Ref const&... refs) const {
    g(refs...);
  }
};
template <class T, class... Rest>
struct row_layouts<T, Rest...> {
  row_layout<T> first;
  row_layouts<Rest...> rest;

  HEDDLE_FN bool unit_columns() const { return first.unit_columns() && rest.unit_columns(); }
  HEDDLE_FN index_t bytes() const { return first.bytes() + rest.bytes(); }
  HEDDLE_DEVICE_PASS_QUIET
  template <class Ctx, class G, class... Ref>
  HEDDLE_TILE void with(index_t at, G const& g, Ref const&... refs) const {
    rest.template with<Ctx>(at, g, refs..., first.template ref<Ctx>(at));
  }
};

/// Hands operands to `program.visit(ctx, at, refs...)`. A struct and not a lambda: nvcc lets only templates call what
/// exists on one side.
template <class Program, class Ctx>
struct visit_rows {
  Program const& program;
  Ctx& ctx;
  index_t at;
  HEDDLE_DEVICE_PASS_QUIET
  template <class... Ref>
  HEDDLE_TILE void operator()(Ref const&... refs) const {
    program.visit(ctx, at, refs...);
  }
};

template <lazy_view V>
HEDDLE_FN row_layout<V const> make_input_layout(V const& v, bool, index_t fold) {
  return {v, fold};
}
template <any_view V>
HEDDLE_FN auto make_input_layout(V const& v, bool contiguous, index_t fold) {
  return make_row_layout(canonical_input(v), contiguous, fold);
}
HEDDLE_FN row_layouts<> make_row_layouts(bool, index_t) { return {}; }
template <input_view V, input_view... Rest>
HEDDLE_FN auto make_row_layouts(bool contiguous, index_t fold, V const& v, Rest const&... rest) {
  return row_layouts<operand_t<V> const, operand_t<Rest> const...>{make_input_layout(v, contiguous, fold),
                                                                   make_row_layouts(contiguous, fold, rest...)};
}

/// A base class that says whether a program's callables know vectors.
template <bool Lanes>
struct plain_unless {};
template <>
struct plain_unless<false> {
  using plain = void;
};

}  // namespace detail
}  // namespace heddle
