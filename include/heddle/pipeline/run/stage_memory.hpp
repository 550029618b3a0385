// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/tensor.hpp>
#include <heddle/exec/executor.hpp>
#include <heddle/nn/plan.hpp>
#include <heddle/pipeline/slots.hpp>

namespace heddle::pipeline {

/// Bytes that each life of a stage reserves, for one microbatch and for all that the schedule keeps alive at once.
struct stage_reservation {
  std::size_t each[nn::lives] = {};
  int count[nn::lives] = {};

  HEDDLE_FN std::size_t bytes(nn::life l) const noexcept {
    return each[static_cast<int>(l)] * static_cast<std::size_t>(count[static_cast<int>(l)]);
  }
  HEDDLE_FN std::size_t total() const noexcept {
    std::size_t n = 0;
    for (int i = 0; i < nn::lives; ++i) n += bytes(static_cast<nn::life>(i));
    return n;
  }
};

/// What a stage needs under a schedule, from its plan alone. The stacks of F and B exist once.
HEDDLE_FN stage_reservation reserve_for(nn::planner const& planned, slot_table const& table, int stage) {
  stage_reservation r{};
  for (int i = 0; i < nn::lives; ++i) {
    r.each[i] = planned.bytes(static_cast<nn::life>(i));
    r.count[i] = 1;
  }
  r.count[static_cast<int>(nn::life::saved)] = table.count(stage, span::saved);
  r.count[static_cast<int>(nn::life::kept)] = table.count(stage, span::kept);
  r.count[static_cast<int>(nn::life::deferred)] = table.count(stage, span::deferred);
  return r;
}

/// The activations of one stage: a region per life, cut into the slots of the schedule.
///
/// Memory: exactly `stage_reservation::total()` bytes of one space, made at set-up.
template <class Executor>
class stage_memory {
 public:
  HEDDLE_FN stage_memory(Executor& exec, host_space& space, stage_reservation const& reservation,
                         slot_table const& table, int stage)
      : exec_(&exec), table_(&table), reservation_(reservation), stage_(stage) {
    for (int i = 0; i < nn::lives; ++i)
      region_[i] = tensor<std::byte, 1>(
          exec, space, dims<1>(static_cast<index_t>(reservation.bytes(static_cast<nn::life>(i)))));
  }
  stage_memory(stage_memory const&) = delete;
  stage_memory& operator=(stage_memory const&) = delete;
  HEDDLE_FN ~stage_memory() {}

  /// Where one microbatch lives while it is in flight.
  HEDDLE_FN nn::frame frame(int microbatch) const {
    nn::frame f{};
    for (int i = 0; i < nn::lives; ++i) f.base[i] = base(static_cast<nn::life>(i), microbatch);
    return f;
  }

  /// Overwrites a life of a microbatch with NaN, by work in the queue: a use after its end shows in the numbers.
  HEDDLE_FN void poison(nn::life l, int microbatch) {
    std::byte* const data = base(l, microbatch);
    std::size_t const bytes = reservation_.each[static_cast<int>(l)];
    if (data == nullptr || bytes == 0) return;
    exec_->for_each_tile(1, [data, bytes](index_t, int) { __builtin_memset(data, 0xFF, bytes); });
  }

 private:
  HEDDLE_FN std::byte* base(nn::life l, int microbatch) const {
    int const i = static_cast<int>(l);
    if (region_[i].data() == nullptr) return nullptr;
    int slot = 0;
    if (l == nn::life::saved) slot = table_->slot(stage_, span::saved, microbatch);
    if (l == nn::life::kept) slot = table_->slot(stage_, span::kept, microbatch);
    if (l == nn::life::deferred) slot = table_->slot(stage_, span::deferred, microbatch);
    return slot < 0 ? nullptr : region_[i].data() + static_cast<std::size_t>(slot) * reservation_.each[i];
  }

  Executor* exec_;
  slot_table const* table_;
  stage_reservation reservation_{};
  int stage_;
  tensor<std::byte, 1> region_[nn::lives];
};

}  // namespace heddle::pipeline
