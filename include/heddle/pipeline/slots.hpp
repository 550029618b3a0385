// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/extents.hpp>
#include <heddle/pipeline/detail/op_table.hpp>
#include <heddle/pipeline/peak_memory.hpp>
#include <heddle/pipeline/schedule.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle::pipeline {

/// How long something of one microbatch stays on one stage. Ends are inclusive: a slot is free behind the last
/// operation.
enum class span : std::uint8_t {
  saved,     ///< F to B
  kept,      ///< F to W
  deferred,  ///< B to W
};

/// How many spans there are.
inline constexpr int span_count = 3;

/// How many copies of a stage's buffers a schedule needs, and which microbatch uses which.
///
/// The bytes of stage v are the sum over spans of `count(v, span)` times the bytes of one microbatch in that span; this
/// is what an executor reserves. Memory: 12 bytes per stage and microbatch.
class slot_table {
 public:
  HEDDLE_FN slot_table(int stages, int microbatches)
      : stages_(stages),
        microbatches_(microbatches),
        count_(static_cast<std::size_t>(stages) * span_count, 0),
        slot_(static_cast<std::size_t>(index_t{stages} * microbatches * span_count), -1) {}
  HEDDLE_FN slot_table(slot_table const&) = default;
  HEDDLE_FN slot_table(slot_table&&) noexcept = default;
  HEDDLE_FN slot_table& operator=(slot_table const&) = default;
  HEDDLE_FN slot_table& operator=(slot_table&&) noexcept = default;
  HEDDLE_FN ~slot_table() = default;

  HEDDLE_FN int stages() const noexcept { return stages_; }
  HEDDLE_FN int microbatches() const noexcept { return microbatches_; }

  /// The most microbatches that are in flight at once on a stage, which is the number of slots.
  HEDDLE_FN int count(int stage, span which) const { return count_[row(stage, which)]; }

  /// The slot of a microbatch, in [0, count); -1 where the schedule has no such span.
  HEDDLE_FN int slot(int stage, span which, int microbatch) const {
    HEDDLE_EXPECTS(microbatch >= 0 && microbatch < microbatches_, "the microbatch must exist", microbatch,
                   microbatches_);
    return slot_[row(stage, which) * static_cast<std::size_t>(microbatches_) + static_cast<std::size_t>(microbatch)];
  }

  /// The bytes that a stage's slots take. Complexity: O(1).
  HEDDLE_FN index_t bytes(int stage, stage_bytes const& each) const {
    return count(stage, span::saved) * each.saved + count(stage, span::kept) * each.kept +
           count(stage, span::deferred) * each.deferred;
  }

  /// Gives a microbatch a slot, and makes room for it. Pre: slot >= 0.
  HEDDLE_FN void assign(int stage, span which, int microbatch, int slot) {
    HEDDLE_EXPECTS(microbatch >= 0 && microbatch < microbatches_, "the microbatch must exist", microbatch,
                   microbatches_);
    slot_[row(stage, which) * static_cast<std::size_t>(microbatches_) + static_cast<std::size_t>(microbatch)] = slot;
    int& n = count_[row(stage, which)];
    n = slot + 1 > n ? slot + 1 : n;
  }

 private:
  HEDDLE_FN std::size_t row(int stage, span which) const {
    HEDDLE_EXPECTS(stage >= 0 && stage < stages_, "the stage must exist", stage, stages_);
    return static_cast<std::size_t>(stage * span_count + static_cast<int>(which));
  }

  int stages_;
  int microbatches_;
  std::vector<int> count_;
  std::vector<int> slot_;
};

namespace detail {
// Slots of one span on one stage: the lowest that is free, which for intervals in order of their start needs no more
// slots than intervals overlap.
class slot_pool {
 public:
  HEDDLE_FN slot_pool() = default;
  HEDDLE_FN slot_pool(slot_pool const&) = default;
  HEDDLE_FN slot_pool(slot_pool&&) noexcept = default;
  HEDDLE_FN slot_pool& operator=(slot_pool const&) = default;
  HEDDLE_FN slot_pool& operator=(slot_pool&&) noexcept = default;
  HEDDLE_FN ~slot_pool() = default;

  HEDDLE_FN int take() {
    for (std::size_t i = 0; i < used_.size(); ++i)
      if (!used_[i]) {
        used_[i] = 1;
        return static_cast<int>(i);
      }
    used_.push_back(1);
    return static_cast<int>(used_.size()) - 1;
  }
  HEDDLE_FN void give(int slot) {
    HEDDLE_EXPECTS(slot >= 0 && static_cast<std::size_t>(slot) < used_.size(),
                   "an operation must come behind those that it needs: verify the schedule first", slot);
    used_[static_cast<std::size_t>(slot)] = 0;
  }

 private:
  std::vector<char> used_;
};

HEDDLE_FN void open_span(slot_table& t, std::vector<slot_pool>& pools, operation const& op, span which) {
  auto const row = static_cast<std::size_t>(op.stage * span_count + static_cast<int>(which));
  t.assign(op.stage, which, op.microbatch, pools[row].take());
}
HEDDLE_FN void close_span(slot_table const& t, std::vector<slot_pool>& pools, operation const& op, span which) {
  auto const row = static_cast<std::size_t>(op.stage * span_count + static_cast<int>(which));
  pools[row].give(t.slot(op.stage, which, op.microbatch));
}
}  // namespace detail

/// Assigns a slot to every span of every microbatch, on the order of the lists alone.
///
/// Pre: `verify(s)` finds nothing under V1, V2 and V3. Post: microbatches that share a slot of a stage and span never
/// overlap, and no fewer slots would do. BW counts as B, then W, so it needs one deferred slot. In a forward-only
/// schedule saved and kept last during F, and nothing is deferred.
/// Complexity: O(operations * slots). Errors: contract_error where the order is not one that `verify` accepts.
HEDDLE_FN slot_table slots(schedule const& s) {
  slot_table t(s.stages, s.microbatches);
  std::vector<detail::slot_pool> pools(static_cast<std::size_t>(s.stages) * span_count);
  for (auto const& list : s.order)
    for (operation const& op : list) {
      if (!is_compute(op.kind)) continue;
      HEDDLE_EXPECTS(op.stage >= 0 && op.stage < s.stages, "the stage must exist", op.stage, s.stages);
      bool const ends_b = op.kind == op_kind::backward_input || op.kind == op_kind::backward;
      bool const ends_w = op.kind == op_kind::backward_weight || op.kind == op_kind::backward;
      if (op.kind == op_kind::forward) {
        detail::open_span(t, pools, op, span::saved);
        detail::open_span(t, pools, op, span::kept);
      }
      if (ends_b) detail::open_span(t, pools, op, span::deferred);
      if (ends_b || (s.forward_only && op.kind == op_kind::forward)) detail::close_span(t, pools, op, span::saved);
      if (ends_w || (s.forward_only && op.kind == op_kind::forward)) detail::close_span(t, pools, op, span::kept);
      if (ends_w) detail::close_span(t, pools, op, span::deferred);
    }
  return t;
}

}  // namespace heddle::pipeline
