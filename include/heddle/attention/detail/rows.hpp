// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/tensor_view.hpp>

namespace heddle::attention::detail {

/// Rows [token, head, column] with unit stride along the column: a view without its extents, small enough to queue.
template <class T>
struct head_rows {
  T* data;
  index_t token_stride;
  index_t head_stride;

  HEDDLE_TILE T* row(index_t token, index_t head) const noexcept {
    return data + token * token_stride + head * head_stride;
  }
  /// How many rows from `token` on lie token_stride apart: as many as are asked for.
  HEDDLE_TILE index_t run(index_t, index_t rows) const noexcept { return rows; }
};

/// The same where tokens lie in pages: token t is row t % page of page table[t / page]. The tokens of sequence s are
/// numbered from s times the pages of a table row times the page size.
template <class T>
struct paged_rows {
  T* data;
  index_t page_stride;
  index_t token_stride;
  index_t head_stride;
  std::int32_t const* table;
  index_t page;

  HEDDLE_TILE T* row(index_t token, index_t head) const noexcept {
    return data + table[token / page] * page_stride + token % page * token_stride + head * head_stride;
  }
  HEDDLE_TILE index_t run(index_t token, index_t rows) const noexcept {
    index_t const left = page - token % page;
    return left < rows ? left : rows;
  }
};

template <any_view V>
HEDDLE_FN auto rows_of(V const& v) {
  return head_rows<typename V::element_type>{v.data(), v.stride(0), v.stride(1)};
}
/// One number per head and token, laid out [head, token].
template <any_view V>
HEDDLE_FN auto numbers_of(V const& v) {
  return head_rows<typename V::element_type>{v.data(), v.stride(1), v.stride(0)};
}

}  // namespace heddle::attention::detail
