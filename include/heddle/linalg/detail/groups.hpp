// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/segment_of.hpp>
#include <heddle/core/tensor_view.hpp>

namespace heddle::linalg::detail {

/// Rows cut into groups by offsets that are read when the work runs: group e has the rows [begin(e), end(e)).
/// Group `groups` is the slack, the rows behind the last offset.
struct row_groups {
  index_t const* offsets;
  index_t step;    ///< between two offsets
  index_t groups;  ///< without the slack
  index_t rows;    ///< slack included

  template <vector_view V>
  HEDDLE_FN row_groups(V const& v, index_t all_rows)
      : offsets(v.data()), step(v.stride(0)), groups(v.extent(0) - 1), rows(all_rows) {}

  /// Pre: 0 <= e <= groups + 1. Errors: contract_error where the offset lies outside of the rows.
  HEDDLE_HD_FN index_t begin(index_t e) const {
    index_t const at = e > groups ? rows : offsets[e * step];
    HEDDLE_EXPECTS(at >= 0 && at <= rows && (e > 0 || at == 0), "offsets start at 0 and stay within the rows", e, at,
                   rows);
    return at;
  }
  /// Errors: contract_error where offsets descend.
  HEDDLE_HD_FN index_t end(index_t e) const {
    index_t const from = begin(e), to = begin(e + 1);
    HEDDLE_EXPECTS(from <= to, "offsets ascend", e, from, to);
    return to;
  }

  /// The group of a row, the slack included. Pre: 0 <= row < rows.
  HEDDLE_HD_FN index_t owner(index_t row) const { return slot_owner(row, 1, 0); }

  /// Groups cut into blocks of `unit` rows, in a number of slots that is known before the offsets are: group e owns
  /// the slots from begin(e) / unit + e on, as many as it can need; some stay empty.
  HEDDLE_HD_FN index_t first_slot(index_t e, index_t unit) const { return begin(e) / unit + e; }
  HEDDLE_HD_FN index_t slots(index_t unit) const { return rows / unit + groups + 1; }
  HEDDLE_HD_FN index_t owner_of_slot(index_t slot, index_t unit) const { return slot_owner(slot, unit, 1); }

 private:
  // The last group whose first slot (or row, without `each`) is at or before `slot`.
  HEDDLE_HD_FN index_t slot_owner(index_t slot, index_t unit, index_t each) const {
    return segment_of(groups + 1, slot, [&](index_t e) { return begin(e) / unit + each * e; });
  }
};

}  // namespace heddle::linalg::detail
