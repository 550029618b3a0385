// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/attention/detail/geometry.hpp>
#include <heddle/attention/detail/rows.hpp>

namespace heddle::attention {

/// Keys and values in pages: position j of sequence s is row j % page of page table[s][j / page].
///
/// Shapes: k [pages, page, Hkv, dk], v [pages, page, Hkv, dv], table [sequences, most pages of one], lengths
/// [sequences]; strides of k and v are free except that columns lie side by side; the table lies without gaps. A page
/// holds at least one row; pages may be shared between sequences. T may be const for caches that are only read.
/// `lengths` are the rows in use. Table entries that are needed for none of them, and rows behind them, are never read.
/// Memory: borrows everything; trivially copyable.
template <class T, class Space = host_space>
struct paged_cache {
  using element_type = T;
  using value_type = std::remove_const_t<T>;

  view<T, 4, Space> k, v;
  view<std::int32_t const, 2, Space> table;
  view<std::int32_t const, 1, Space> lengths;

  HEDDLE_HD_FN constexpr index_t page() const noexcept { return k.extent(1); }
  HEDDLE_HD_FN constexpr index_t sequences() const noexcept { return table.extent(0); }
  /// Rows that one sequence has room for.
  HEDDLE_HD_FN constexpr index_t capacity() const noexcept { return table.extent(1) * page(); }
};

namespace detail {

template <class C>
inline constexpr bool is_paged_cache = false;
template <class T, class Space>
inline constexpr bool is_paged_cache<paged_cache<T, Space>> = true;

}  // namespace detail

/// A paged_cache of any element.
template <class C>
concept any_paged_cache = detail::is_paged_cache<std::remove_cv_t<C>>;

namespace detail {

template <any_paged_cache Cache>
HEDDLE_FN void expect_cache(Cache const& c) {
  HEDDLE_EXPECTS(c.k.extent(0) == c.v.extent(0) && c.page() == c.v.extent(1) && c.k.extent(2) == c.v.extent(2),
                 "the pages of k and v hold the same rows and heads", c.k.extent(0), c.v.extent(0), c.k.extent(1),
                 c.v.extent(1), c.k.extent(2), c.v.extent(2));
  HEDDLE_EXPECTS(c.page() >= 1, "a page holds at least one row", c.page());
  HEDDLE_EXPECTS(c.lengths.extent(0) == c.sequences(), "one used length per sequence", c.lengths.extent(0),
                 c.sequences());
  HEDDLE_EXPECTS(c.lengths.is_contiguous() && c.table.is_contiguous(), "page table and lengths lie without gaps",
                 c.table.stride(0), c.lengths.stride(0));
  HEDDLE_EXPECTS((c.k.extent(3) <= 1 || c.k.stride(3) == 1) && (c.v.extent(3) <= 1 || c.v.stride(3) == 1),
                 "columns must lie side by side", c.k.stride(3), c.v.stride(3));
}

/// Rows of one side of a cache, tokens of sequence s numbered from s * capacity.
template <class Element, class T, class Space>
HEDDLE_FN paged_rows<Element> paged_rows_of(view<T, 4, Space> const& v,
                                            view<std::int32_t const, 2, Space> const& table) {
  return {v.data(), v.stride(0), v.stride(1), v.stride(2), table.data(), v.extent(1)};
}

/// The pages that a sequence uses must exist. Errors: contract_error.
template <class T>
HEDDLE_FN void check_pages(paged_rows<T> const& rows, segment const& s, index_t pages) {
  std::int32_t const* const table = rows.table + s.k_begin / rows.page;
  for (index_t n = 0; n < (s.k_length + rows.page - 1) / rows.page; ++n)
    HEDDLE_EXPECTS(table[n] >= 0 && table[n] < pages, "a page table names pages of the cache", s.number, n, table[n],
                   pages);
}

/// Submits the check of the lengths and of the tables, so that no page is read where they are wrong.
template <class Executor, class T>
HEDDLE_FN void submit_page_check(Executor& exec, geometry const& g, paged_rows<T> const& rows, index_t pages) {
  exec.for_each_tile(1, [g, rows, pages](index_t, int) {
    for (index_t s = 0; s < g.sequences; ++s) check_pages(rows, g.at(s), pages);
  });
}

}  // namespace detail
}  // namespace heddle::attention
