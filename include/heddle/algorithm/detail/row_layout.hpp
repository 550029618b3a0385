// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

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

HEDDLE_FN row_layouts<> make_row_layouts(bool, index_t) { return {}; }
template <any_view V, any_view... Rest>
HEDDLE_FN auto make_row_layouts(bool contiguous, index_t fold, V const& v, Rest const&... rest) {
  return row_layouts<typename V::value_type const, typename Rest::value_type const...>{
      make_row_layout(canonical_input(v), contiguous, fold), make_row_layouts(contiguous, fold, rest...)};
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
