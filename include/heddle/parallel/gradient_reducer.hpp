// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/algorithm/transform.hpp>
#include <heddle/comm/collectives.hpp>
#include <heddle/comm/elastic.hpp>
#include <heddle/core/monoid.hpp>
#include <heddle/core/tensor.hpp>
#include <heddle/parallel/gradient_sum.hpp>
#include <heddle/parallel/parameter_list.hpp>

#include <vector>

namespace heddle::parallel {

/// How the gradients of a stage are summed and reduced over data-parallel ranks.
struct reducer_options {
  order_policy order = order_policy::repeatable;
  index_t microbatches = 1;  ///< of the whole step, over all ranks
  bool sharded = false;      ///< each rank needs only its cut of every bucket (ZeRO-1), else all of it
};

/// The part of a step's microbatches that a data-parallel rank runs. Pre: there are as many as ranks.
HEDDLE_FN part own_microbatches(reducer_options const& o, int ranks, int rank) {
  HEDDLE_EXPECTS(o.microbatches >= ranks, "a step needs at least one microbatch per data-parallel rank",
                 o.microbatches, ranks);
  return balanced_part(o.microbatches, ranks, rank);
}

/// The weight gradients of one stage: their buffers, their sum over microbatches, and their reduction over ranks,
/// bucket by bucket on a second queue while the backward pass goes on.
///
/// Memory: `gradient_sum::slots()` flat fp32 buffers of one space; the result stays in the first.
/// Sync: merges are work of the compute queue, reductions of the communication queue.
/// Determinism: repeatable: T(ranks) over the ranks' sums. elastic: the tree over all microbatches, for any ranks.
template <class Stage, executor Compute, executor Communication, communicator Comm>
class gradient_reducer {
 public:
  using tree = typename Stage::template parameters<nn::gradient<float>>;

  HEDDLE_FN gradient_reducer(Compute& compute, Communication& communication, Comm& ranks, host_space& space,
                             Stage const& stage, parameter_list const& list, reducer_options const& options)
      : compute_(&compute), communication_(&communication), ranks_(&ranks), list_(&list), options_(options),
        sum_(sum_of(options, ranks.size(), ranks.rank())), size_(list.layout().size()) {
    buffers_ = tensor<float, 2>(compute, space, dims<2>(sum_.slots(), size_));
    for (int s = 0; s < sum_.slots(); ++s) {
      trees_.push_back(stage.template tree<nn::gradient<float>>());
      list.bind(stage, trees_.back(), buffers_.data() + s * size_, true);
    }
  }
  gradient_reducer(gradient_reducer const&) = delete;
  gradient_reducer& operator=(gradient_reducer const&) = delete;
  HEDDLE_FN ~gradient_reducer() {}

  static HEDDLE_FN gradient_sum sum_of(reducer_options const& o, int ranks, int rank) {
    part const own = own_microbatches(o, ranks, rank);
    return gradient_sum(o.order, o.microbatches, own.offset, own.end());
  }
  static HEDDLE_FN std::size_t bytes(parameter_list const& list, reducer_options const& o, int ranks, int rank) {
    return static_cast<std::size_t>(sum_of(o, ranks, rank).slots() * list.layout().size()) * sizeof(float);
  }

  /// The tree that W of the rank's i-th microbatch overwrites. W runs in ascending order.
  HEDDLE_FN tree& begin(int i) {
    current_ = i;
    return trees_[static_cast<std::size_t>(sum_.step(i).slot)];
  }
  /// A bucket of the stage is complete in the compute queue: merges it, and reduces it behind the last microbatch.
  HEDDLE_FN void ready(int stage_bucket) {
    list_->for_each_ready(stage_bucket, [this](int bucket) {
      merge(bucket);
      if (current_ + 1 == sum_.microbatches()) reduce(bucket);
    });
  }
  /// Orders later work of the compute queue behind all reductions.
  HEDDLE_FN void join() { compute_->wait(communication_->record()); }

  /// The reduced gradients, laid out as the flat layout; with ZeRO-1 only this rank's cut of every bucket counts.
  HEDDLE_FN view<float, 1> result() const { return view<float, 1>(buffers_.data(), dims<1>(size_)); }

 private:
  HEDDLE_FN void merge(int bucket) {
    optim::flat_bucket const& b = list_->layout().bucket(bucket);
    gradient_step const step = sum_.step(current_);
    auto const partial_sum = [&](int slot) {
      return view<float, 1>(buffers_.data() + slot * size_ + b.offset, dims<1>(b.size));
    };
    for (int s = step.slot; s > step.slot - step.merges; --s)
      transform(*compute_, partial_sum(s - 1), plus<>{}, partial_sum(s - 1), partial_sum(s));
  }
  HEDDLE_FN void reduce(int bucket) {
    optim::flat_bucket const& b = list_->layout().bucket(bucket);
    if (b.size == 0 || ranks_->size() == 1) return;
    communication_->wait(compute_->record());
    float* const first = buffers_.data() + b.offset;
    view<float, 1> const whole(first, dims<1>(b.size));
    part const own = balanced_part(b.size, ranks_->size(), ranks_->rank());
    view<float, 1> const out =
        options_.sharded ? view<float, 1>(first + own.offset, dims<1>(own.size)) : whole;
    if (options_.order == order_policy::elastic) {
      view<float const, 2> const pieces(first, dims<2>(sum_.pieces(), b.size), size_, 1);
      if (options_.sharded)
        elastic_reduce_scatter(*ranks_, *communication_, pieces, out, options_.microbatches);
      else
        elastic_all_reduce(*ranks_, *communication_, pieces, out, options_.microbatches);
    } else if (options_.sharded) {
      reduce_scatter(*ranks_, *communication_, view<float const, 1>(whole), out);
    } else {
      all_reduce(*ranks_, *communication_, view<float const, 1>(whole), out);
    }
  }

  Compute* compute_;
  Communication* communication_;
  Comm* ranks_;
  parameter_list const* list_;
  reducer_options options_;
  gradient_sum sum_;
  index_t size_;
  tensor<float, 2> buffers_;
  std::vector<tree> trees_;
  int current_ = 0;
};

}  // namespace heddle::parallel
