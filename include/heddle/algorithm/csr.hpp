// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/tensor_view.hpp>
#include <heddle/core/text.hpp>

#include <concepts>

namespace heddle {

/// A sparse matrix in compressed rows, in memory that somebody else owns.
///
/// Row r has the entries [row_offsets(r), row_offsets(r + 1)) of `columns` and `values`. Entries of a row may stand in
/// any order and a column may come twice: entries are then added. Types: T the element, I a signed integer.
template <class T, std::signed_integral I>
struct csr_view {
  using element = T;
  using index = I;

  view<I const, 1> row_offsets;  ///< rows + 1 of them
  view<I const, 1> columns;
  view<T const, 1> values;
  index_t column_count;

  HEDDLE_HD_FN index_t rows() const noexcept { return row_offsets.extent(0) - 1; }
  HEDDLE_HD_FN index_t entries() const noexcept { return values.extent(0); }
};

/// What can be wrong with the structure of a csr_view.
enum class csr_fault { no_offsets, extents_differ, first_offset, falling_offset, last_offset, column_outside };

/// What a fault means, in words.
HEDDLE_FN char const* name(csr_fault f) noexcept {
  constexpr char const* names[] = {"n rows have n + 1 offsets",
                                   "columns and values have one extent",
                                   "the first offset is 0",
                                   "an offset is below the one before",
                                   "the last offset is above the number of entries",
                                   "a column is outside the matrix"};
  return names[static_cast<int>(f)];
}

/// Everything that is wrong with a structure; true where nothing is.
///
/// Memory: keeps the first 16 faults and counts the rest.
struct csr_report {
  struct item {
    csr_fault what;
    index_t position;  ///< of the offset, or of the entry
    index_t value;     ///< what stands there
  };
  static constexpr index_t most = 16;

  item items[most];
  index_t count;  ///< of all faults

  HEDDLE_FN csr_report() noexcept : items{}, count(0) {}
  HEDDLE_FN explicit operator bool() const noexcept { return count == 0; }
  HEDDLE_FN index_t kept() const noexcept { return count < most ? count : most; }
  HEDDLE_FN void add(csr_fault what, index_t position, index_t value) noexcept {
    if (count < most) items[count] = {what, position, value};
    ++count;
  }
  /// The first faults in one line.
  HEDDLE_FN text summary() const {
    text t;
    for (index_t i = 0; i < kept() && i < 3; ++i)
      t.append(i > 0 ? "; " : "")
          .append(name(items[i].what))
          .append(": ")
          .append(items[i].value)
          .append(" at ")
          .append(items[i].position);
    if (count > 3) t.append("; and ").append(count - 3).append(" more");
    return t;
  }
};

/// Looks at every offset and every column of a matrix in host memory.
///
/// Complexity: rows + entries. Sync: reads at once; pass the queue first where work still writes the structure.
template <class T, class I>
HEDDLE_FN csr_report check(csr_view<T, I> const& a) {
  csr_report r;
  if (a.row_offsets.extent(0) < 1) {
    r.add(csr_fault::no_offsets, 0, a.row_offsets.extent(0));
    return r;
  }
  if (a.columns.extent(0) != a.values.extent(0))
    r.add(csr_fault::extents_differ, a.values.extent(0), a.columns.extent(0));
  auto const offset = [&](index_t i) {
    return static_cast<index_t>(a.row_offsets.data()[i * a.row_offsets.stride(0)]);
  };
  if (offset(0) != 0) r.add(csr_fault::first_offset, 0, offset(0));
  for (index_t i = 1; i <= a.rows(); ++i)
    if (offset(i) < offset(i - 1)) r.add(csr_fault::falling_offset, i, offset(i));
  if (offset(a.rows()) > a.entries()) r.add(csr_fault::last_offset, a.rows(), offset(a.rows()));
  for (index_t e = 0; e < a.columns.extent(0); ++e) {
    index_t const c = static_cast<index_t>(a.columns.data()[e * a.columns.stride(0)]);
    if (c < 0 || c >= a.column_count) r.add(csr_fault::column_outside, e, c);
  }
  return r;
}

}  // namespace heddle
