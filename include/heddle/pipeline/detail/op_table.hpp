// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/extents.hpp>
#include <heddle/pipeline/schedule.hpp>

#include <cstddef>
#include <vector>

namespace heddle::pipeline::detail {

inline constexpr op_place nowhere{-1, -1};

/// Where each operation of a schedule stands; of equal ones, the first. Skips what is out of range, so it accepts any
/// schedule. Memory: 8 * stages * microbatches bytes for each kind in use.
class op_table {
 public:
  HEDDLE_FN explicit op_table(schedule const& s) : stages_(s.stages), microbatches_(s.microbatches) {
    for (std::size_t d = 0; d < s.order.size(); ++d)
      for (std::size_t i = 0; i < s.order[d].size(); ++i)
        put(s.order[d][i], {static_cast<int>(d), static_cast<int>(i)});
  }
  HEDDLE_FN op_table(op_table const&) = default;
  HEDDLE_FN op_table(op_table&&) noexcept = default;
  HEDDLE_FN op_table& operator=(op_table const&) = default;
  HEDDLE_FN op_table& operator=(op_table&&) noexcept = default;
  HEDDLE_FN ~op_table() = default;

  HEDDLE_FN bool in_range(operation const& op) const noexcept {
    return static_cast<int>(op.kind) < op_kind_count && op.stage >= 0 && op.stage < stages_ && op.microbatch >= 0 &&
           (op.kind == op_kind::optimizer ? op.microbatch == 0 : op.microbatch < microbatches_);
  }

  HEDDLE_FN op_place find(op_kind kind, int stage, int microbatch) const noexcept {
    auto const& places = places_[static_cast<std::size_t>(kind)];
    if (places.empty() || stage < 0 || stage >= stages_ || microbatch < 0 || microbatch >= width(kind)) return nowhere;
    return places[at(kind, stage, microbatch)];
  }
  HEDDLE_FN bool has(op_kind kind, int stage, int microbatch) const noexcept {
    return find(kind, stage, microbatch).device >= 0;
  }

  /// The operation that makes the input gradient: B, or BW where there is no B.
  HEDDLE_FN op_place input_gradient(int stage, int microbatch) const noexcept {
    op_place const b = find(op_kind::backward_input, stage, microbatch);
    return b.device >= 0 ? b : find(op_kind::backward, stage, microbatch);
  }

 private:
  HEDDLE_FN int width(op_kind kind) const noexcept { return kind == op_kind::optimizer ? 1 : microbatches_; }
  HEDDLE_FN std::size_t at(op_kind kind, int stage, int microbatch) const noexcept {
    return static_cast<std::size_t>(index_t{stage} * width(kind) + microbatch);
  }
  HEDDLE_FN void put(operation const& op, op_place where) {
    if (!in_range(op)) return;
    auto& places = places_[static_cast<std::size_t>(op.kind)];
    if (places.empty()) places.resize(at(op.kind, stages_ - 1, width(op.kind) - 1) + 1, nowhere);
    op_place& first = places[at(op.kind, op.stage, op.microbatch)];
    if (first.device < 0) first = where;
  }

  int stages_;
  int microbatches_;
  std::vector<op_place> places_[op_kind_count];
};

}  // namespace heddle::pipeline::detail
