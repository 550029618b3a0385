// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/tile/operand.hpp>

namespace heddle {

namespace detail {

enum class edge_kind { constant, clamp, periodic, copied };

/// The input of a stencil and what stands around it.
template <class T>
struct halo_source {
  T const* data;
  index_t size[3], step[3];
  index_t radius;
  std::size_t rank;  // the last dimensions are in use
  edge_kind kind;
  tile::value_t<T> value;

  HEDDLE_HD_FN T const& element(index_t z, index_t y, index_t x) const {
    return data[z * step[0] + y * step[1] + x * step[2]];
  }
  /// Whether all elements within the radius exist, in one dimension and in all.
  HEDDLE_HD_FN bool inside(int dim, index_t i) const {
    return dim + static_cast<int>(rank) < 3 || (i >= radius && i < size[dim] - radius);
  }
  HEDDLE_HD_FN bool inside(index_t z, index_t y, index_t x) const {
    return inside(0, z) && inside(1, y) && inside(2, x);
  }
  /// The element that stands for (z, y, x), which may be outside.
  HEDDLE_HD_FN tile::value_t<T> at(index_t z, index_t y, index_t x) const {
    if (outside(0, z) || outside(1, y) || outside(2, x)) {
      if (kind == edge_kind::constant) return value;
      z = moved(0, z), y = moved(1, y), x = moved(2, x);
    }
    return tile::widen(element(z, y, x));
  }

 private:
  HEDDLE_HD_FN bool outside(int dim, index_t i) const { return i < 0 || i >= size[dim]; }
  HEDDLE_HD_FN index_t moved(int dim, index_t i) const {
    index_t const n = size[dim];
    if (kind == edge_kind::periodic) return (i % n + n) % n;
    return i < 0 ? 0 : i >= n ? n - 1 : i;
  }
};

}  // namespace detail

}  // namespace heddle
