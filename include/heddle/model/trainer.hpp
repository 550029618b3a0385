// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/transform.hpp>
#include <heddle/core/bf16.hpp>
#include <heddle/core/owned.hpp>
#include <heddle/core/philox.hpp>
#include <heddle/exec/plan.hpp>
#include <heddle/mesh/mesh.hpp>
#include <heddle/model/rank_state.hpp>
#include <heddle/optim/clip.hpp>

#include <exception>

namespace heddle::model {

/// One rank of a training run over a mesh <pp, dp>: its stage, its memory and its step.
///
/// Types: T is the storage type of parameters and activations, float or bf16 as `policy.storage` says; gradients,
/// moments and masters are fp32.
/// Errors: contract_error for options that can't be, or a storage policy that isn't that of T; errc::out_of_memory,
/// before any allocation, for a plan larger than the machine; `error` from communication. A failure before the commit
/// point of a step leaves parameters unchanged. Destroyed by an exception, it first marks the group as failed, so that
/// no peer waits for it, then lets its queues run dry, and only then frees what it holds.
/// Sync: construction and `step` are collective over all ranks.
/// Determinism: that of the policy's order. Memory: exactly `predicted()`, nothing is allocated after construction,
/// with communicators that share memory; over messages collectives take scratch of the queues as well.
template <class Model, class T, executor Compute, failable_communicator Comm>
class trainer {
 public:
  using state_type = rank_state<Model, T>;
  using communication_executor = queued<serial_executor>;
  using context_type = context<Compute, communication_executor, mesh<Comm>>;
  using call_type = call<context_type>;
  using optimizer_type = optim::optimizer_shard<optim::adam, T, Compute>;
  using reducer_type = parallel::gradient_reducer<Model, Compute, communication_executor, Comm>;
  using runner_type = pipeline::runner<Model, T, Compute, Comm>;

  /// @param world all ranks of the mesh, in its order; @param spaces one rank's, which outlive the trainer
  HEDDLE_FN trainer(Compute& compute, Comm& world, memory_spaces& spaces, Model const& whole, trainer_options const& o)
      : compute_(&compute), world_(&world), spaces_(&spaces), options_(o), unwinding_(std::uncaught_exceptions()),
        state_(whole, checked(o, world), world.rank()), mesh_(world, o.mesh),
        context_(compute, communication_, mesh_, o.policy),
        links_(pipeline::make_stage_links(mesh_.template group<axis::pp>())) {
    predicted_ = predict();
    allocate();
  }
  trainer(trainer const&) = delete;
  trainer& operator=(trainer const&) = delete;
  HEDDLE_FN ~trainer() {
    if (std::uncaught_exceptions() > unwinding_) abandon("an exception left the training loop");
  }

  HEDDLE_FN state_type const& state() const noexcept { return state_; }
  HEDDLE_FN trainer_options const& options() const noexcept { return options_; }
  HEDDLE_FN memory_plan const& predicted() const noexcept { return predicted_; }
  /// What the rank has reserved so far.
  HEDDLE_FN memory_plan measured() noexcept {
    memory_plan m = spaces_->peaks();
    m.workspace += compute_->scratch().capacity() + communication_.scratch().capacity();
    return m;
  }
  HEDDLE_FN memory_spaces& spaces() noexcept { return *spaces_; }
  HEDDLE_FN optimizer_type& optimizer() noexcept { return *optimizer_; }
  HEDDLE_FN T* parameters() noexcept { return parameters_.data(); }
  HEDDLE_FN Compute& compute() noexcept { return *compute_; }
  HEDDLE_FN Comm& world() noexcept { return *world_; }

  /// Fills all parameters with their initial values: random numbers keyed by seed, name and element, so that they do
  /// not depend on the mesh.
  HEDDLE_FN void initialize() {
    auto const& records = state_.list.records();
    for (std::size_t i = 0; i < records.size(); ++i) {
      philox const random(options_.policy.seed, site_of(records[i].name.c_str()));
      fill(i, [&](index_t e) {
        nn::initializer const& init = records[i].options.init;
        if (init.how == nn::initializer::kind::normal)
          return mul(static_cast<float>(init.scale), random.normal(static_cast<std::uint64_t>(e)));
        return init.how == nn::initializer::kind::ones ? 1.0f : 0.0f;
      });
    }
  }
  /// Sets a parameter of this stage, element by element: `value(e)` for its row-major index e.
  template <class Value>
  HEDDLE_FN void fill(std::size_t record, Value const& value) {
    compute_->synchronize();
    index_t const size = state_.list.records()[record].size, at = state_.list.stored_at(record);
    for (index_t e = 0; e < size; ++e) parameters_.data()[at + e] = static_cast<T>(value(e));
    optimizer_->fill_masters(static_cast<index_t>(record), value);
  }

  /// One optimizer step on fresh data: `data(step, microbatch, tokens, targets)` writes one microbatch, whose
  /// microbatch index counts over all ranks. Loss and gradient are those of the mean over the targets that the sink
  /// counts (`ignore_index` is not): 0 with a zero gradient where none does.
  template <class Data>
  HEDDLE_FN step_result step(index_t number, double lr, Data const& data) {
    step_ = number;
    load(data);
    work w{this};
    runner_->run(w);
    reducer_->join();
    exchange_tie();
    norm();
    commit(lr);
    collect_losses();
    synchronize();
    return {mean_loss(), *norm_.data(), *skip_.data() != 0};
  }
  /// When each operation of the last step's schedule ran on this rank.
  HEDDLE_FN std::vector<pipeline::operation_times> const& times() const noexcept { return runner_->times(); }

  /// The mean loss on data without learning: a forward pass over the same microbatches.
  template <class Data>
  HEDDLE_FN float evaluate(Data const& data) {
    load(data);
    work w{this};
    runner_->run_forward(w);
    collect_losses();
    synchronize();
    return mean_loss();
  }

  /// Blocks until all queues of the rank are dry; throws what went wrong in any of them.
  HEDDLE_FN void synchronize() {
    compute_->synchronize();
    communication_.synchronize();
    runner_->synchronize();
  }

  /// Gives up: wakes all peers, lets the queues run dry. Idempotent.
  HEDDLE_FN void abandon(char const* reason) noexcept {
    world_->fail(reason);
    if (runner_) runner_->cancel();
    communication_.cancel();
    if constexpr (requires { compute_->cancel(); }) compute_->cancel();
    drain([&] { compute_->synchronize(); });
    drain([&] { communication_.synchronize(); });
    if (runner_) drain([&] { runner_->synchronize(); });
  }

 private:
  /// What the pipeline runner asks for.
  struct work {
    trainer* self;
    HEDDLE_FN auto& weights() const { return self->weights_; }
    HEDDLE_FN nn::token_batch batch(int m) const {
      index_t const rows = self->options_.rows();
      dims<1> const e(rows);
      return {view<std::int32_t const, 1>(self->tokens_.data() + m * rows, e),
              view<std::int32_t const, 1>(self->targets_.data() + m * rows, e), self->options_.tokens};
    }
    HEDDLE_FN nn::loss_views loss(int m) const {
      return {slice(self->losses_.view(), 0, m, m + 1), slice(self->counts_.view(), 0, m, m + 1)};
    }
    HEDDLE_FN view<float const, 1> scale() const { return self->scale_.view(); }
    HEDDLE_FN call_type begin_call(int m) const {
      call_type c{&self->context_};
      c.step = self->step_;
      c.microbatch = self->state_.microbatches(self->options_).offset + m;
      c.first_row = c.microbatch * self->options_.rows();
      c.ready_hook = [](void* reducer, int bucket) { static_cast<reducer_type*>(reducer)->ready(bucket); };
      c.ready_state = self->reducer_.get();
      return c;
    }
    HEDDLE_FN auto& gradients(int m) const { return self->reducer_->begin(m); }
  };

  static HEDDLE_FN trainer_options const& checked(trainer_options const& o, Comm const& world) {
    check(o);
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, bf16>, "a trainer stores float or bf16");
    HEDDLE_EXPECTS(o.policy.storage == (std::is_same_v<T, float> ? storage_policy::fp32 : storage_policy::bf16),
                   "policy.storage must name the type that the trainer stores: fp32 for float, bf16 for bf16",
                   static_cast<int>(o.policy.storage), sizeof(T));
    HEDDLE_EXPECTS(world.size() == o.mesh.ranks(), "the mesh must have as many ranks as the communicator",
                   o.mesh.ranks(), world.size());
    return o;
  }
  template <class F>
  static HEDDLE_FN void drain(F const& f) noexcept {
    try {
      f();
    } catch (...) {  // the failure that led here is on its way already
    }
  }
  HEDDLE_FN Comm& stages() noexcept { return mesh_.template group<axis::pp>(); }
  HEDDLE_FN Comm& replicas() noexcept { return mesh_.template group<axis::dp>(); }
  HEDDLE_FN index_t local_microbatches() const { return state_.microbatches(options_).size; }

  HEDDLE_FN memory_plan predict();
  HEDDLE_FN void allocate();
  HEDDLE_FN work_plan plan_compute();

  template <class Data>
  HEDDLE_FN void load(Data const& data) {
    index_t const rows = options_.rows();
    part const own = state_.microbatches(options_);
    for (index_t m = 0; m < own.size; ++m)
      data(step_, own.offset + m, tokens_.data() + m * rows, targets_.data() + m * rows);
    count_targets();
  }

  /// The gradient is that of a mean, so how many targets count must be known on every replica before a backward pass.
  HEDDLE_FN void count_targets() {
    std::int64_t* const valid = valid_.data();
    *valid = 0;
    for (index_t i = 0; i < targets_.size(); ++i) *valid += state_.stage.sink.counts(targets_.data()[i]) ? 1 : 0;
    all_reduce(replicas(), *compute_, view<std::int64_t const, 1>(valid_.view()), valid_.view());
    float* const scale = scale_.data();
    compute_->for_each_tile(
        1, [valid, scale](index_t, int) { *scale = *valid > 0 ? 1.0f / static_cast<float>(*valid) : 0.0f; });
  }

  /// Both uses of a tied parameter on different stages: the source adds them and hands the sum back.
  HEDDLE_FN void exchange_tie() {
    if (!state_.list.tied_here()) return;
    float* const flat = reducer_->result().data();
    auto place = [&](int bucket) {
      segment const r = state_.reduced(options_, bucket);
      return view<float, 1>(flat + state_.list.layout().bucket(bucket).offset + r.lo, dims<1>(r.size()));
    };
    if (state_.list.aliased()) {
      auto const first = place(state_.list.source_tie_bucket()), second = place(state_.list.back_tie_bucket());
      transform(*compute_, first, plus<>{}, first, second);
      return;
    }
    int const other = state_.stage.first ? options_.mesh.pp - 1 : 0;
    auto const mine = place(state_.tie_bucket());
    channel const key = make_channel(static_cast<unsigned>(pipeline::traffic::tied_gradient));
    if (state_.stage.last) {
      send(stages(), *compute_, mine, other, key);
      receive(stages(), *compute_, mine, other, key);
    } else {
      receive(stages(), *compute_, tie_.view(), other, key);
      transform(*compute_, mine, plus<>{}, mine, tie_.view());
      send(stages(), *compute_, mine, other, key);
    }
  }

  /// The norm over every parameter once, and what it says about the step. Exact, so the bits fit any mesh.
  HEDDLE_FN void norm() {
    std::uint64_t* const words = square_sum_.data();
    compute_->for_each_tile(1, [words](index_t, int) {
      for (index_t i = 0; i < exact_sum_words; ++i) words[i] = 0;
    });
    auto const& layout = state_.list.layout();
    for (int b = 0; b < state_.list.buckets(); ++b) {
      if (b == state_.list.back_tie_bucket()) continue;  // counted where it is used first
      segment const own = layout.owned(b, state_.dp_rank());
      if (own.size() > 0)
        exact_sum_add(*compute_,
                      view<float const, 1>(reducer_->result().data() + layout.bucket(b).offset + own.lo,
                                           dims<1>(own.size())),
                      square_sum_.view());
    }
    all_reduce(*world_, *compute_, view<std::uint64_t const, 1>(square_sum_.view()), square_sum_.view());
    exact_sum_round(*compute_, square_sum_.view(), norm_.view());
    double* const norm = norm_.data();
    compute_->for_each_tile(1, [norm](index_t, int) { *norm = sqrt(*norm); });
    optim::clip_from_norm(*compute_, view<double const, 1>(norm_.view()), options_.clip, clip_.view(), skip_.view());
  }

  /// The commit point: from here on nothing that this rank does alone can fail.
  HEDDLE_FN void commit(double lr) {
    optim::step_args<float> args{};
    args.lr = lr;
    args.weight_decay = options_.weight_decay;
    args.clip = clip_.data();
    args.skip = skip_.data();
    optimizer_->step(parameters_.data(), reducer_->result().data(), args);
    if (!options_.shard_optimizer || replicas().size() == 1) return;
    auto const& layout = state_.list.layout();
    for (int b = 0; b < state_.list.buckets(); ++b) {
      optim::flat_bucket const& k = layout.bucket(b);
      if (k.size == 0 || (state_.list.aliased() && b == state_.list.back_tie_bucket())) continue;
      segment const own = layout.owned(b, state_.dp_rank());
      view<T, 1> const whole(parameters_.data() + k.offset, dims<1>(k.size));
      all_gather(replicas(), *compute_, view<T const, 1>(whole.data() + own.lo, dims<1>(own.size())), whole);
    }
  }

  /// Every rank learns the loss of every microbatch: one rank has a value, the others add zero.
  HEDDLE_FN void collect_losses() {
    float* const all = all_losses_.data();
    float const* const mine = losses_.data();
    index_t const n = options_.microbatches;
    part const own = state_.microbatches(options_);
    bool const last = state_.stage.last;
    compute_->for_each_tile(1, [=](index_t, int) {
      for (index_t m = 0; m < n; ++m) all[m] = last && m >= own.offset && m < own.end() ? mine[m - own.offset] : 0.0f;
    });
    all_reduce(*world_, *compute_, view<float const, 1>(all_losses_.view()), all_losses_.view());
  }
  HEDDLE_FN float mean_loss() const {
    float const sum = tree_reduce(
        options_.microbatches, [this](index_t m) { return all_losses_.data()[m]; },
        [](float a, float b) { return a + b; });
    std::int64_t const valid = *valid_.data();
    return valid > 0 ? sum / static_cast<float>(valid) : 0.0f;
  }

  Compute* compute_;
  Comm* world_;
  memory_spaces* spaces_;
  trainer_options options_;
  int unwinding_;
  state_type state_;
  mesh<Comm> mesh_;
  communication_executor communication_;
  context_type context_;
  pipeline::stage_links<Comm> links_;
  memory_plan predicted_{};
  index_t step_ = 0;

  tensor<T, 1> parameters_;
  typename Model::template parameters<nn::in_use<T>> weights_;
  tensor<std::int32_t, 1> tokens_, targets_;
  tensor<float, 1> losses_, all_losses_, scale_, clip_, tie_;
  tensor<std::int64_t, 1> counts_;  // of each microbatch, as the sink writes them beside its sums
  tensor<std::int64_t, 1> valid_;   // of the step, over all replicas
  tensor<std::int32_t, 1> skip_;
  tensor<double, 1> norm_;
  tensor<std::uint64_t, 1> square_sum_;
  owned<pipeline::stage_memory<Compute>> memory_;
  owned<runner_type> runner_;
  owned<reducer_type> reducer_;
  owned<optimizer_type> optimizer_;
};

}  // namespace heddle::model

#include <heddle/model/detail/trainer_memory.hpp>
