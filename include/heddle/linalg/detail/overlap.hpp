// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/tensor_view.hpp>

#include <cstdint>

namespace heddle::linalg::detail {

/// The bytes between the first and the last element of a view: [first, last) holds every element.
struct byte_range {
  std::uintptr_t first = 0, last = 0;

  template <any_view V>
  HEDDLE_FN explicit byte_range(V const& v) {
    if (v.data() == nullptr || v.size() == 0) return;
    index_t low = 0, high = 0;
    for (std::size_t d = 0; d < V::rank(); ++d) (v.stride(d) < 0 ? low : high) += (v.extent(d) - 1) * v.stride(d);
    first = reinterpret_cast<std::uintptr_t>(v.data() + low);
    last = reinterpret_cast<std::uintptr_t>(v.data() + high) + sizeof(typename V::value_type);
  }
};

/// The bytes of a view, as far as a few comparisons can tell: lines of adjacent elements at one distance.
struct footprint : byte_range {
  std::uintptr_t line = 0, pitch = 0;  ///< bytes of a line and between two; pitch 0: not such a shape

  template <any_view V>
  HEDDLE_FN explicit footprint(V const& v) : byte_range(v) {
    if (v.data() == nullptr || v.size() == 0) return;
    index_t const size = sizeof(typename V::value_type);
    if (v.is_contiguous()) {
      line = pitch = last - first;
      return;
    }
    constexpr std::size_t r = V::rank();
    for (std::size_t d = 0; d + 2 < r; ++d)
      if (v.extent(d) != 1) return;
    // Extents of 1 have no stride worth naming.
    bool const by_column = v.stride(r - 2) == 1 && v.extent(r - 2) > 1;
    std::size_t const along = by_column ? r - 2 : r - 1, across = by_column ? r - 1 : r - 2;
    if (v.stride(along) != 1 && v.extent(along) != 1) return;
    line = static_cast<std::uintptr_t>(v.extent(along) * size);
    if (v.extent(across) == 1)
      pitch = line;
    else if (v.stride(across) >= v.extent(along))
      pitch = static_cast<std::uintptr_t>(v.stride(across) * size);
  }
};

/// Whether two views with such footprints, whose ranges meet, certainly share an element.
HEDDLE_FN bool surely_meet(footprint const& a, footprint const& b) {
  if (a.first == b.first) return true;
  if (a.pitch == 0 || b.pitch == 0) return false;
  footprint const& low = a.first < b.first ? a : b;
  footprint const& high = a.first < b.first ? b : a;
  bool const gapless = low.pitch == low.line && high.pitch == high.line;
  if (gapless) return true;
  if (low.pitch != high.pitch) return false;
  // Lines at one distance: the later view begins inside a line of the earlier one, or runs into its next one.
  std::uintptr_t const shift = (high.first - low.first) % low.pitch;
  return shift < low.line || (shift + high.line > low.pitch && high.first + low.pitch - shift < low.last);
}

/// Whether two views certainly share an element; false where it can't be told by comparing a few numbers.
template <any_view A, any_view B>
HEDDLE_FN bool surely_overlap(A const& a, B const& b) {
  byte_range const x(a), y(b);
  return x.first < y.last && y.first < x.last && surely_meet(footprint(a), footprint(b));
}

}  // namespace heddle::linalg::detail
