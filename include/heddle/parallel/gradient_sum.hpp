// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/tree.hpp>
#include <heddle/exec/context.hpp>

#include <vector>

namespace heddle::parallel {

/// Where the weight gradient of one microbatch is written, and what is added up behind it.
struct gradient_step {
  int slot = 0;    ///< the buffer that W overwrites
  int merges = 0;  ///< then slot - 1 += slot, slot - 2 += slot - 1, ... so many times
};

/// How the gradients of a rank's microbatches are summed: which buffers exist and what is added to what.
///
/// repeatable, relaxed: ascending into one buffer. elastic: along the tree over all microbatches of the step, so that
/// the bits do not depend on how they are dealt out; what is left are the maximal subtrees inside the rank's range.
/// Memory: `slots()` buffers: 1 or 2; elastic: `tree_slots`, at most 2 ceil(log2 m) + 1.
class gradient_sum {
 public:
  /// The rank's microbatches [lo, hi) of `all`. Pre: 0 <= lo <= hi <= all, all >= 1.
  HEDDLE_FN gradient_sum(order_policy order, index_t all, index_t lo, index_t hi) : slots_(0), pieces_(0) {
    tree_accumulate tree(all, lo, hi);
    for (index_t m = lo; m < hi; ++m) {
      gradient_step s{};
      if (order == order_policy::elastic) {
        s.slot = tree.next_slot();
        s.merges = tree.push();
        pieces_ = tree.pieces();
      } else {
        s.slot = s.merges = m == lo ? 0 : 1;
        pieces_ = 1;
      }
      if (s.slot + 1 > slots_) slots_ = s.slot + 1;
      steps_.push_back(s);
    }
  }
  HEDDLE_FN gradient_sum(gradient_sum const& o) : steps_(o.steps_), slots_(o.slots_), pieces_(o.pieces_) {}
  HEDDLE_FN gradient_sum& operator=(gradient_sum const& o) {
    steps_ = o.steps_;
    slots_ = o.slots_;
    pieces_ = o.pieces_;
    return *this;
  }
  HEDDLE_FN ~gradient_sum() {}

  /// Of the rank's i-th microbatch, in ascending order.
  HEDDLE_FN gradient_step step(int i) const { return steps_[static_cast<std::size_t>(i)]; }
  HEDDLE_FN int microbatches() const noexcept { return static_cast<int>(steps_.size()); }
  HEDDLE_FN int slots() const noexcept { return slots_; }
  /// Partial sums that are left when all microbatches are done: slots [0, pieces()).
  HEDDLE_FN int pieces() const noexcept { return pieces_; }

 private:
  std::vector<gradient_step> steps_;
  int slots_, pieces_;
};

}  // namespace heddle::parallel
