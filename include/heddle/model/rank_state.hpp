// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/comm/exact_sum.hpp>
#include <heddle/model/trainer_options.hpp>
#include <heddle/optim/shard.hpp>
#include <heddle/pipeline/run/runner.hpp>
#include <heddle/pipeline/verify.hpp>

#include <vector>

namespace heddle::model {

/// What a step tells the host, the same on every rank.
struct step_result {
  float loss = 0;     ///< mean over the targets of the step that the sink counts; 0 where there are none
  double norm = 0;    ///< of all gradients, before clipping
  bool skipped = false;  ///< the norm was not finite: nothing was changed
};

/// The six categories in which a rank's memory is predicted and counted. Units: bytes.
struct memory_plan {
  std::size_t parameters = 0;     ///< stored parameters, in the storage type
  std::size_t gradients = 0;      ///< partial sums of weight gradients
  std::size_t optimizer = 0;      ///< master copies, moments, counters
  std::size_t activations = 0;    ///< everything between F, B and W
  std::size_t communication = 0;  ///< messages on their way to other ranks
  std::size_t workspace = 0;      ///< tokens, scalars and the scratch of both queues

  HEDDLE_FN std::size_t total() const noexcept {
    return parameters + gradients + optimizer + activations + communication + workspace;
  }
  HEDDLE_FN friend bool operator==(memory_plan const& a, memory_plan const& b) noexcept {
    return a.parameters == b.parameters && a.gradients == b.gradients && a.optimizer == b.optimizer &&
           a.activations == b.activations && a.communication == b.communication && a.workspace == b.workspace;
  }
};

/// One memory space per category, counted.
struct memory_spaces {
  host_space parameters, gradients, optimizer, activations, communication, workspace;

  HEDDLE_FN memory_spaces() {}
  memory_spaces(memory_spaces const&) = delete;
  memory_spaces& operator=(memory_spaces const&) = delete;
  HEDDLE_FN ~memory_spaces() {}

  /// The most that each category has held.
  HEDDLE_FN memory_plan peaks() const noexcept {
    auto const peak = [](host_space const& s) { return static_cast<std::size_t>(s.counts().peak); };
    return {peak(parameters),  peak(gradients),     peak(optimizer),
            peak(activations), peak(communication), peak(workspace)};
  }
  /// Allocations made so far, in all categories.
  HEDDLE_FN index_t allocations() const noexcept {
    return parameters.counts().allocations + gradients.counts().allocations + optimizer.counts().allocations +
           activations.counts().allocations + communication.counts().allocations + workspace.counts().allocations;
  }
};

/// Everything about a rank that follows from the flags alone: no memory, no communication.
///
/// Types: T is the storage type of parameters and activations.
template <class Model, class T>
struct rank_state {
  using optimizer = optim::optimizer_shard<optim::adam, T, serial_executor>;

  coordinates at{};
  Model stage;
  pipeline::schedule schedule;
  pipeline::slot_table table;
  nn::planner planned;
  typename Model::plan plan;
  parallel::parameter_list list;
  optim::flat_layout owned;  ///< how the optimizer is cut: as the list with ZeRO-1, else whole
  index_t owner;             ///< this rank's part of it

  HEDDLE_FN rank_state(Model const& whole, trainer_options const& o, int rank)
      : at(o.mesh.coordinates_of(rank)), stage(whole.cut(at.on<axis::pp>(), o.mesh.pp)),
        schedule(schedule_of(o, at.on<axis::dp>())), table(pipeline::slots(schedule)), planned(sizeof(T)),
        plan(stage.make_plan(planned, {o.sequences, o.tokens, stage.source.width()})), list(stage, whole, o.mesh.dp),
        owned(o.shard_optimizer ? list.layout() : list.layout().recut(1)),
        owner(o.shard_optimizer ? at.on<axis::dp>() : 0) {
    pipeline::verify_report const report = pipeline::verify(schedule);
    HEDDLE_EXPECTS(report.ok(), "a schedule must be proven before it runs", report.message().c_str());
  }
  rank_state(rank_state const&) = delete;
  rank_state& operator=(rank_state const&) = delete;
  HEDDLE_FN ~rank_state() {}

  HEDDLE_FN int stage_index() const { return at.on<axis::pp>(); }
  HEDDLE_FN int dp_rank() const { return at.on<axis::dp>(); }
  HEDDLE_FN part microbatches(trainer_options const& o) const {
    return parallel::own_microbatches(o.reducer(), o.mesh.dp, dp_rank());
  }
  HEDDLE_FN pipeline::stage_reservation activations() const {
    return pipeline::reserve_for(planned, table, stage_index());
  }
  /// Whether this stage exchanges the gradient of a tied parameter with another one.
  HEDDLE_FN bool exchanges_tie() const { return list.tied_here() && !list.aliased(); }
  HEDDLE_FN int tie_bucket() const { return stage.first ? list.source_tie_bucket() : list.back_tie_bucket(); }
  /// The elements of a bucket that this rank has reduced gradients of.
  HEDDLE_FN segment reduced(trainer_options const& o, int bucket) const {
    return o.shard_optimizer ? list.layout().owned(bucket, dp_rank()) : segment{0, list.layout().bucket(bucket).size};
  }
  HEDDLE_FN std::vector<optim::shard_parameter> shard_parameters() const {
    std::vector<optim::shard_parameter> out;
    for (std::size_t i = 0; i < list.records().size(); ++i) {
      auto const& r = list.records()[i];
      bool const alias = list.aliased() && r.use == parallel::tied_use::back;
      out.push_back({r.options.decay, list.stored_at(i), list.layout().place(static_cast<index_t>(i)).lo, !alias});
    }
    out.push_back({false, 0, 0, false});  // the empty entry that ends the layout
    return out;
  }
};

/// Scalars and tokens that a rank keeps for a step. Units: bytes.
HEDDLE_FN std::size_t input_bytes(trainer_options const& o, index_t microbatches) {
  return static_cast<std::size_t>(microbatches * o.rows()) * 2 * sizeof(std::int32_t) +  // tokens, targets
         static_cast<std::size_t>(microbatches) * (sizeof(float) + sizeof(std::int64_t)) +
         static_cast<std::size_t>(o.microbatches) * sizeof(float) +   // losses of all microbatches
         sizeof(std::int64_t) +                                       // targets that count
         sizeof(float) * 2 + sizeof(std::int32_t) + sizeof(double) +  // scale, clip, skip, norm
         exact_sum_words * sizeof(std::uint64_t);
}

}  // namespace heddle::model
