// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/attention/lists.hpp>
#include <heddle/attention/mask.hpp>

namespace heddle::attention {

/// A mask of listed blocks, in compressed rows: queries come in blocks of `q_block`, counted from query 0 of their
/// sequence, keys in blocks of `k_block`, and a key is visible where its block is listed for the query's block.
///
/// `row_ptr` [lists, query blocks + 1]: where each row's columns begin in `col_idx`, and end. `col_idx`: blocks of
/// keys, strictly rising inside a row. There is one list for all, one per key head, or one per sequence and key head
/// (sequence-major). The last blocks may be short; a row without columns sees nothing.
/// Compose with others by `&`: `causal{} & block_sparse(...)`.
/// Errors: contract_error for shapes at once; for what the lists hold when the work that reads them runs.
/// Memory: borrows both lists.
class block_sparse {
 public:
  template <matrix_view RowPtr, vector_view ColIdx>
  HEDDLE_HD_FN constexpr block_sparse(RowPtr const& row_ptr, ColIdx const& col_idx, index_t q_block, index_t k_block)
      : row_ptr_(row_ptr),
        col_idx_(col_idx),
        lists_(narrow(row_ptr.extent(0))),
        rows_(narrow(row_ptr.extent(1) - 1)),
        q_block_(narrow(q_block)),
        k_block_(narrow(k_block)) {
    HEDDLE_EXPECTS(q_block >= 1 && k_block >= 1, "a block holds at least one query and one key", q_block, k_block);
    HEDDLE_EXPECTS(row_ptr.extent(0) >= 1 && row_ptr.extent(1) >= 1,
                   "row_ptr holds query blocks + 1 numbers for each list", row_ptr.extent(0), row_ptr.extent(1));
  }

  /// The mask of one list.
  class listed {
   public:
    HEDDLE_HD_FN listed(block_sparse const& m, place const& p)
        : row_ptr_(m.row_ptr_),
          col_idx_(m.col_idx_),
          first_(m.list_of(p) * (m.rows_ + 1)),
          rows_(m.rows_),
          q_block_(m.q_block_),
          k_block_(m.k_block_),
          offset_(p.offset) {}

    HEDDLE_HD_FN bool visible(index_t i, index_t j) const {
      index_t const row = (i - offset_) / q_block_;
      if (i < offset_ || row >= rows_) return false;
      index_t const at = lower_bound(row, j / k_block_);
      return at < end(row) && col_idx_[at] == j / k_block_;
    }
    HEDDLE_HD_FN block kv_range(block q) const {
      block found{no_bound, 0};
      for (index_t row = first_row(q); row < end_row(q); ++row) {
        if (begin(row) == end(row)) continue;
        index_t const lo = col_idx_[begin(row)] * k_block_, hi = (col_idx_[end(row) - 1] + 1) * k_block_;
        found = {lo < found.begin ? lo : found.begin, hi > found.end ? hi : found.end};
      }
      return found;
    }
    HEDDLE_HD_FN block_kind kind(block q, block k) const {
      index_t const lo = k.begin / k_block_, hi = (k.end - 1) / k_block_ + 1;
      bool any = false, all = q.begin >= offset_ && q.end - offset_ <= rows_ * q_block_;
      for (index_t row = first_row(q); row < end_row(q); ++row) {
        index_t const here = lower_bound(row, hi) - lower_bound(row, lo);
        any = any || here > 0;
        all = all && here == hi - lo;
      }
      return !any ? block_kind::skip : all ? block_kind::full : block_kind::partial;
    }

   private:
    HEDDLE_HD_FN index_t begin(index_t row) const { return row_ptr_[first_ + row]; }
    HEDDLE_HD_FN index_t end(index_t row) const { return row_ptr_[first_ + row + 1]; }
    HEDDLE_HD_FN index_t first_row(block q) const { return q.begin > offset_ ? (q.begin - offset_) / q_block_ : 0; }
    HEDDLE_HD_FN index_t end_row(block q) const {
      if (q.end <= offset_) return 0;
      index_t const row = (q.end - 1 - offset_) / q_block_ + 1;
      return row < rows_ ? row : rows_;
    }
    /// The first place of a row whose column is not below `column`.
    HEDDLE_HD_FN index_t lower_bound(index_t row, index_t column) const {
      index_t lo = begin(row), hi = end(row);
      while (lo < hi) {
        index_t const mid = lo + (hi - lo) / 2;
        if (col_idx_[mid] < column)
          lo = mid + 1;
        else
          hi = mid;
      }
      return lo;
    }

    integer_list row_ptr_, col_idx_;
    index_t first_, rows_, q_block_, k_block_, offset_;
  };

  HEDDLE_HD_FN listed at(place const& p) const { return listed(*this, p); }

  /// Checks the list of one sequence and key head. Errors: contract_error.
  HEDDLE_FN void check(place const& p) const {
    HEDDLE_EXPECTS(lists_ == 1 || lists_ == p.heads_kv || lists_ == p.sequences * p.heads_kv,
                   "row_ptr holds one list, one per key head, or one per sequence and key head", lists_, p.heads_kv,
                   p.sequences);
    HEDDLE_EXPECTS(index_t{rows_} * q_block_ >= p.q_length, "the query blocks must cover the sequence", rows_, q_block_,
                   p.q_length);
    index_t const first = list_of(p) * (rows_ + 1), blocks = (p.k_length + k_block_ - 1) / k_block_;
    for (index_t row = 0; row < rows_; ++row) {
      index_t const begin = row_ptr_[first + row], end = row_ptr_[first + row + 1];
      HEDDLE_EXPECTS(begin >= 0 && begin <= end && end <= col_idx_.size(),
                     "row_ptr must not fall and stay inside col_idx", row, begin, end, col_idx_.size());
      for (index_t n = begin; n < end; ++n) {
        HEDDLE_EXPECTS(n == begin || col_idx_[n] > col_idx_[n - 1], "the columns of a row must rise strictly", row, n,
                       col_idx_[n]);
        HEDDLE_EXPECTS(col_idx_[n] >= 0 && col_idx_[n] < blocks, "a column names a block of keys of the sequence", row,
                       n, col_idx_[n], blocks);
      }
    }
  }

 private:
  // Small, because masks travel with queued work.
  static HEDDLE_HD_FN constexpr std::int32_t narrow(index_t x) {
    HEDDLE_EXPECTS(x >= -1 && x < index_t{1} << 31, "sizes of block lists lie below 2^31", x);
    return static_cast<std::int32_t>(x);
  }
  HEDDLE_HD_FN index_t list_of(place const& p) const noexcept {
    return lists_ == 1 ? 0 : lists_ == p.heads_kv ? p.kv_head : p.sequence * p.heads_kv + p.kv_head;
  }

  integer_list row_ptr_, col_idx_;
  std::int32_t lists_, rows_, q_block_, k_block_;
};

}  // namespace heddle::attention
