// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/copy.hpp>
#include <heddle/algorithm/search.hpp>
#include <heddle/algorithm/sort.hpp>
#include <heddle/algorithm/views.hpp>
#include <heddle/core/overlap.hpp>

namespace heddle {

/// One entry of a sparse matrix that is a list.
///
/// Valid: `e.row`, `e.column`, integers, and `e.value`, a number; trivially copyable.
template <class Entry>
concept matrix_entry = std::is_trivially_copyable_v<Entry> && requires(Entry const& e) {
  requires std::integral<std::remove_cvref_t<decltype(e.row)>>;
  requires std::integral<std::remove_cvref_t<decltype(e.column)>>;
  requires scalar<std::remove_cvref_t<decltype(e.value)>>;
};

namespace detail {
struct row_of_entry {
  template <class Entry>
  HEDDLE_HD_FN index_t operator()(Entry const& e) const {
    return static_cast<index_t>(e.row);
  }
};
struct column_of_entry {
  template <class Entry>
  HEDDLE_HD_FN auto operator()(Entry const& e) const {
    return e.column;
  }
};
struct value_of_entry {
  template <class Entry>
  HEDDLE_HD_FN auto operator()(Entry const& e) const {
    return e.value;
  }
};
struct row_before {
  template <class I>
  HEDDLE_HD_FN bool operator()(index_t row, I const& other) const {
    return row < static_cast<index_t>(other);
  }
};
}  // namespace detail

/// Compresses the rows of a list of entries: the parts of a csr_view (algorithm/csr.hpp).
///
/// Shapes: entries a vector of n; row_offsets of rows + 1; columns and values of n; strides free. Types: entries any
/// struct with row, column and value; row_offsets and columns integers that hold n and the columns; values convert.
/// Pre: every row is in [0, rows); the outputs overlap nothing. Post: row r has [row_offsets(r), row_offsets(r + 1)),
/// its entries in the order of the list; entries that stand twice stay two. Rows outside leave offsets that `check` and
/// the products refuse. Complexity: a radix sort of the rows. Sync: submits. Memory: two numbers an entry and what sort
/// takes, of the arena. Determinism: exact.
struct coo_to_csr_fn {
  template <executor E, vector_view Entries, vector_view Offsets, vector_view Columns, vector_view Values>
    requires(matrix_entry<typename Entries::value_type>&& writable_view<Offsets>&& writable_view<Columns>&&
                 writable_view<Values>&& std::signed_integral<typename Offsets::value_type>)
  HEDDLE_FN void operator()(E& exec, Entries const& entries, Offsets const& row_offsets, Columns const& columns,
                            Values const& values) const {
    index_t const n = entries.extent(0);
    HEDDLE_EXPECTS(row_offsets.extent(0) >= 1, "n rows have n + 1 offsets", row_offsets.extent(0));
    HEDDLE_EXPECTS(columns.extent(0) == n && values.extent(0) == n, "every entry has a column and a value", n,
                   columns.extent(0), values.extent(0));
    expect_apart("coo_to_csr", row_offsets, entries, columns, values);
    expect_apart("coo_to_csr", columns, entries, values);
    expect_apart("coo_to_csr", values, entries);
    scratch_frame<E> frame(exec);
    view<index_t, 1> const row(frame.template take<index_t>(n), dims<1>(n));
    view<index_t, 1> const order(frame.template take<index_t>(n), dims<1>(n));
    copy(exec, views::map(detail::row_of_entry{}, entries), row);
    copy(exec, views::iota(n), order);
    sort_pairs(exec, row, row, order, order);
    using offset = typename Offsets::value_type;
    copy(exec, views::iota(row_offsets.extent(0), offset(0)), row_offsets);
    lower_bound(exec, row, row_offsets, row_offsets, detail::row_before{});
    auto const sorted = views::gather(entries, order);
    copy(exec, views::map(detail::column_of_entry{}, sorted), columns);
    copy(exec, views::map(detail::value_of_entry{}, sorted), values);
  }
};
inline constexpr coo_to_csr_fn coo_to_csr{};

}  // namespace heddle
