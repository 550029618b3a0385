// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/core/owned.hpp>
#include <heddle/nn/ends.hpp>
#include <heddle/pipeline/run/links.hpp>
#include <heddle/pipeline/run/stage_memory.hpp>
#include <heddle/pipeline/schedule.hpp>

#include <vector>

namespace heddle::pipeline {

/// When an operation of the last pass ran. Units: nanoseconds of the monotonic clock.
struct operation_times {
  std::int64_t begin = 0;  ///< the queue came to it
  std::int64_t ready = 0;  ///< its message was there
  std::int64_t end = 0;
};

/// What one device does in one pass over a schedule: everything that the runner asks its owner for.
///
/// Valid expressions: `w.weights()`, `w.batch(m)`, `w.loss(m)`, `w.scale()`, `w.begin_call(m)`, `w.gradients(m)`.
/// Meaning: m is the microbatch of the schedule, local to this data-parallel rank. `batch(m)` stays valid from F to W;
/// `gradients(m)` is the tree that W overwrites; the call's ready hook is told about every bucket.
template <class W>
concept stage_work = requires(W& w, int m) {
  w.weights();
  { w.batch(m) } -> std::same_as<nn::token_batch>;
  { w.loss(m) } -> std::same_as<nn::loss_views>;
  w.scale();
  w.begin_call(m);
  w.gradients(m);
};

/// Executes the operations of one device of a schedule: one stage per device.
///
/// Types: T is the type of activations. Errors: `error` from the links; a failure of a send queue surfaces in `run`.
/// Sync: submits computation to `compute`; receives are work of the compute queue, sends of queues of their own.
/// Memory: nothing is allocated after construction.
/// Determinism: the order of the schedule's operations on the compute queue.
template <class Stage, class T, executor Compute, communicator Comm>
class runner {
 public:
  using plan_type = typename Stage::plan;

  /// @param rows rows of a microbatch
  HEDDLE_FN runner(Compute& compute, Stage const& stage, plan_type const& plan, schedule const& order, int device,
                   stage_memory<Compute>& memory, stage_links<Comm>& links, host_space& communication, index_t rows)
      : compute_(&compute), stage_(&stage), plan_(&plan), order_(&order), device_(device), memory_(&memory),
        links_(&links), times_(order.on(device).size(), operation_times{}), now_(nullptr), poison_(false) {
    HEDDLE_EXPECTS(order.stages == order.devices && !is_lowered(order),
                   "the runner takes schedules of one stage a device, without messages of their own", order.stages,
                   order.devices);
    index_t const width = stage.source.width();
    if (!stage.last)
      activation_out_ = make_owned<box>(compute, communication, links.activation_out, 1, rows, width);
    if (!stage.first)
      gradient_out_ = make_owned<box>(compute, communication, links.gradient_out, 0, rows, width);
  }
  runner(runner const&) = delete;
  runner& operator=(runner const&) = delete;
  HEDDLE_FN ~runner() {}

  /// Overwrites every activation with NaN as soon as its life is over.
  HEDDLE_FN void poison(bool on) noexcept { poison_ = on; }

  /// Submits the whole schedule.
  template <stage_work Work>
  HEDDLE_FN void run(Work& work) {
    std::vector<operation> const& ops = order_->on(device_);
    for (std::size_t i = 0; i < ops.size(); ++i) {
      operation const& op = ops[i];
      nn::frame const frame = memory_->frame(op.microbatch);
      now_ = &times_[i];
      stamp(&now_->begin);
      if (op.kind == op_kind::forward) forward(work, op.microbatch, frame);
      if (op.kind == op_kind::backward_input || op.kind == op_kind::backward) backward(work, op.microbatch, frame);
      if (op.kind == op_kind::backward_weight) stamp(&now_->ready);
      if (op.kind == op_kind::backward_weight || op.kind == op_kind::backward) weights(work, op.microbatch, frame);
      stamp(&now_->end);
    }
    now_ = nullptr;
  }
  /// When each operation of this device ran in the last pass, in the schedule's order. Pre: the queue has passed it.
  HEDDLE_FN std::vector<operation_times> const& times() const noexcept { return times_; }

  /// Submits the forward passes alone: no gradient is touched. Pre: nothing else of the schedule is in flight.
  template <stage_work Work>
  HEDDLE_FN void run_forward(Work& work) {
    for (int m = 0; m < order_->microbatches; ++m) forward(work, m, memory_->frame(m));
  }

  /// Blocks until every message was taken; throws what went wrong in a send queue.
  HEDDLE_FN void synchronize() {
    if (activation_out_) activation_out_->synchronize();
    if (gradient_out_) gradient_out_->synchronize();
  }
  /// Lets go of messages that were not sent, after the group has failed.
  HEDDLE_FN void cancel() noexcept {
    if (activation_out_) activation_out_->cancel();
    if (gradient_out_) gradient_out_->cancel();
  }

  /// Bytes of message buffers that one stage reserves.
  static HEDDLE_FN std::size_t message_bytes(bool first, bool last, index_t rows, index_t width) noexcept {
    return box::bytes(rows, width) * static_cast<std::size_t>((first ? 0 : 1) + (last ? 0 : 1));
  }

 private:
  using box = outbox<T, Comm, Compute>;

  template <class Work>
  HEDDLE_FN void forward(Work& work, int m, nn::frame const& frame) {
    if (!stage_->first)
      receive_into(*compute_, links_->activation_in, 0, key(traffic::activation, m),
                   stage_->template input<T>(*plan_, frame));
    if (now_) stamp(&now_->ready);
    view<T, 2> const y = activation_out_ ? activation_out_->prepare() : view<T, 2>();
    stage_->forward(work.begin_call(m), work.weights(), work.batch(m), y, work.loss(m), *plan_, frame);
    if (activation_out_) activation_out_->send(key(traffic::activation, m));
    if (poison_) memory_->poison(nn::life::fwd, m);
  }
  template <class Work>
  HEDDLE_FN void backward(Work& work, int m, nn::frame const& frame) {
    if (!stage_->last)
      receive_into(*compute_, links_->gradient_in, 1, key(traffic::gradient, m),
                   stage_->template cotangent<T>(*plan_, frame));
    if (now_) stamp(&now_->ready);
    view<T, 2> const dx = gradient_out_ ? gradient_out_->prepare() : view<T, 2>();
    stage_->backward_input(work.begin_call(m), work.weights(), work.batch(m), work.scale(), dx, *plan_, frame);
    if (gradient_out_) gradient_out_->send(key(traffic::gradient, m));
    if (poison_) {
      memory_->poison(nn::life::bwd, m);
      memory_->poison(nn::life::saved, m);
    }
  }
  template <class Work>
  HEDDLE_FN void weights(Work& work, int m, nn::frame const& frame) {
    auto&& gradients = work.gradients(m);
    stage_->template backward_weight<T>(work.begin_call(m), work.batch(m), *plan_, frame, gradients);
    if (poison_) {
      memory_->poison(nn::life::kept, m);
      memory_->poison(nn::life::deferred, m);
    }
  }
  HEDDLE_FN void stamp(std::int64_t* to) {
    compute_->for_each_tile(1, [to](index_t, int) { *to = deadline::now_ns(); });
  }
  static HEDDLE_FN channel key(traffic kind, int microbatch) {
    return make_channel(static_cast<unsigned>(kind), 0, microbatch);
  }

  Compute* compute_;
  Stage const* stage_;
  plan_type const* plan_;
  schedule const* order_;
  int device_;
  stage_memory<Compute>* memory_;
  stage_links<Comm>* links_;
  owned<box> activation_out_, gradient_out_;
  std::vector<operation_times> times_;
  operation_times* now_;
  bool poison_;
};

}  // namespace heddle::pipeline
