// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/tensor_view.hpp>

#include <cstdint>

/// @file
/// Whether operands share memory, by comparing a few numbers: what every operation asks of its outputs.

namespace heddle {

namespace detail {

/// The bytes that a view surely covers: lines of adjacent bytes at one distance, from its lowest element on; and where
/// its highest element ends. All zero without elements.
struct footprint {
  std::uintptr_t first = 0, last = 0;  ///< [first, last) holds every element
  std::uintptr_t line = 0, pitch = 0;  ///< bytes of a line, and from one to the next (line: there is but one)
  std::uintptr_t lines_end = 0;        ///< where the last of these lines ends

  HEDDLE_FN footprint() {}
  template <any_view V>
  HEDDLE_FN explicit footprint(V const& v) {
    if (v.data() == nullptr || v.size() == 0) return;
    index_t sizes[V::rank() + 1] = {}, strides[V::rank() + 1] = {};
    index_t low = 0;
    for (std::size_t d = 0; d < V::rank(); ++d) {
      sizes[d] = v.extent(d);
      strides[d] = v.stride(d) < 0 ? -v.stride(d) : v.stride(d);
      if (v.stride(d) < 0) low += (v.extent(d) - 1) * v.stride(d);
    }
    cover(reinterpret_cast<std::uintptr_t>(v.data() + low), sizeof(typename V::value_type), sizes, strides,
          static_cast<int>(V::rank()));
  }

 private:
  // From the shortest stride up: elements that touch make the line, the first stride behind it is the distance of
  // lines, and one that only goes on with it makes more of them.
  HEDDLE_FN void cover(std::uintptr_t at, std::uintptr_t element, index_t* sizes, index_t* strides, int rank) {
    std::uintptr_t span = element, lines = 1;
    line = pitch = element;
    for (int done = 0; done < rank; ++done) {
      int next = done;
      for (int d = done + 1; d < rank; ++d)
        if (strides[d] < strides[next]) next = d;
      std::uintptr_t const n = static_cast<std::uintptr_t>(sizes[next]) - 1;
      std::uintptr_t const step = static_cast<std::uintptr_t>(strides[next]) * element;
      sizes[next] = sizes[done];
      strides[next] = strides[done];
      span += n * step;
      if (n == 0 || step == 0) continue;
      if (lines == 1 && step <= line)
        pitch = line += n * step;
      else if (lines == 1) {
        pitch = step;
        lines = n + 1;
      } else if (step == pitch * lines)
        lines *= n + 1;
    }
    first = at;
    last = at + span;
    lines_end = at + (lines - 1) * pitch + line;
  }
};

/// Whether two views with such footprints certainly share a byte.
HEDDLE_FN bool surely_meet(footprint const& a, footprint const& b) {
  if (a.first >= b.last || b.first >= a.last) return false;
  footprint const& low = a.first <= b.first ? a : b;
  footprint const& high = a.first <= b.first ? b : a;
  if (high.first >= low.lines_end) return false;
  // The first line of the later one begins inside a line of the earlier one, or runs into its next one.
  std::uintptr_t const shift = (high.first - low.first) % low.pitch;
  return shift < low.line || (shift + high.line > low.pitch && high.first + low.pitch - shift < low.lines_end);
}

// An operation in place: element for element the same memory.
template <class A, class B>
HEDDLE_FN bool same_elements(A const& a, B const& b) {
  if constexpr (A::rank() != B::rank() || sizeof(typename A::value_type) != sizeof(typename B::value_type)) {
    return false;
  } else {
    if (static_cast<void const*>(a.data()) != static_cast<void const*>(b.data())) return false;
    for (std::size_t d = 0; d < A::rank(); ++d)
      if (a.extent(d) != b.extent(d) || (a.extent(d) > 1 && a.stride(d) != b.stride(d))) return false;
    return true;
  }
}

template <class Out>
HEDDLE_FN void expect_distinct(char const* operation, Out const& out) {
  HEDDLE_EXPECTS(out.has_distinct_elements(), "no element of an output may stand twice", operation);
}
template <class Out, class In>
HEDDLE_FN void expect_apart_from(char const* operation, Out const& out, footprint const& written, In const& in,
                                 bool in_place) {
  if constexpr (any_view<In>)
    if (!(in_place && same_elements(out, in)))
      HEDDLE_EXPECTS(!surely_meet(written, footprint(in)),
                     in_place ? "an output must be an input (in place) or overlap none"
                              : "an output must overlap no input and no other output",
                     operation);
}

}  // namespace detail

/// Whether two views certainly share memory; false where a few comparisons can't tell.
/// Complexity: constant. Views of other memory than elements: a view of bytes.
template <any_view A, any_view B>
HEDDLE_FN bool surely_overlap(A const& a, B const& b) {
  return detail::surely_meet(detail::footprint(a), detail::footprint(b));
}

/// Refuses an output that overlaps itself or another operand, as far as `surely_overlap` tells. What is no view of
/// memory (a lazy one) passes.
/// Errors: contract_error that names the operation. Complexity: constant; touches no element.
template <writable_view Out, class... In>
HEDDLE_FN void expect_apart(char const* operation, Out const& out, In const&... in) {
  detail::expect_distinct(operation, out);
  if constexpr (sizeof...(In) > 0) {
    detail::footprint const written(out);
    (detail::expect_apart_from(operation, out, written, in, false), ...);
  }
}

/// The same for operations that work in place: an operand may also be the output, element for element.
template <writable_view Out, class... In>
HEDDLE_FN void expect_apart_or_same(char const* operation, Out const& out, In const&... in) {
  detail::expect_distinct(operation, out);
  if constexpr (sizeof...(In) > 0) {
    detail::footprint const written(out);
    (detail::expect_apart_from(operation, out, written, in, true), ...);
  }
}

}  // namespace heddle
