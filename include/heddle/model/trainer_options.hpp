// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/exec/context.hpp>
#include <heddle/mesh/axes.hpp>
#include <heddle/optim/adam.hpp>
#include <heddle/parallel/gradient_reducer.hpp>
#include <heddle/pipeline/generate.hpp>

namespace heddle::model {

/// The order in which a pipeline works through its microbatches.
enum class pipeline_order { gpipe, one_forward_one_backward };

/// What a training run is made of, the same on every rank.
struct trainer_options {
  axes mesh;                ///< pp and dp; the other axes have size 1
  index_t microbatches = 1; ///< of one step, over all data-parallel ranks
  index_t sequences = 1;    ///< of one microbatch
  index_t tokens = 1;       ///< of one sequence
  run_policy policy;
  pipeline_order schedule = pipeline_order::one_forward_one_backward;
  pipeline::backward_form backward = pipeline::backward_form::split;
  bool shard_optimizer = false;  ///< ZeRO-1
  double clip = 1;               ///< limit of the global gradient norm; infinity: none
  double weight_decay = 0.1;
  optim::adam rule;
  bool poison = false;  ///< overwrite activations with NaN when their life is over

  HEDDLE_FN index_t rows() const noexcept { return sequences * tokens; }
  HEDDLE_FN parallel::reducer_options reducer() const noexcept {
    return {policy.order, microbatches, shard_optimizer};
  }
};

/// Refuses options that no run can have, naming the first that is wrong.
HEDDLE_FN void check(trainer_options const& o) {
  HEDDLE_EXPECTS(o.mesh.cp == 1 && o.mesh.tp == 1 && o.mesh.ep == 1, "the trainer runs on the axes pp and dp",
                 o.mesh.cp, o.mesh.tp, o.mesh.ep);
  HEDDLE_EXPECTS(o.sequences >= 1 && o.tokens >= 1, "a microbatch holds at least one sequence of one token",
                 o.sequences, o.tokens);
  HEDDLE_EXPECTS(product_fits(o.sequences, o.tokens, index_t{1} << 48), "a microbatch has at most 2^48 tokens",
                 o.sequences, o.tokens);
  HEDDLE_EXPECTS(o.microbatches >= o.mesh.dp, "a step needs at least one microbatch per data-parallel rank",
                 o.microbatches, o.mesh.dp);
  HEDDLE_EXPECTS(o.clip > 0 && o.weight_decay >= 0, "the clip limit is positive, weight decay not negative", o.clip,
                 o.weight_decay);
}

/// The schedule of one data-parallel rank's pipeline.
HEDDLE_FN pipeline::schedule schedule_of(trainer_options const& o, int dp_rank) {
  int const m = static_cast<int>(parallel::own_microbatches(o.reducer(), o.mesh.dp, dp_rank).size);
  return o.schedule == pipeline_order::gpipe ? pipeline::gpipe(o.mesh.pp, m, o.backward)
                                          : pipeline::one_forward_one_backward(o.mesh.pp, m, o.backward);
}

}  // namespace heddle::model
