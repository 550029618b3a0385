// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// A decoder that trains in milliseconds, and its data: what the tests of this folder share.

#include <heddle/backend/cpu/attention_backward.hpp>
#include <heddle/backend/cpu/attention_forward.hpp>
#include <heddle/backend/cpu/matmul.hpp>
#include <heddle/backend/cpu/tile_context.hpp>
#include <heddle/comm/transport/thread.hpp>
#include <heddle/model/decoder.hpp>
#include <heddle/model/trainer.hpp>

#include <vector>

namespace heddle::test {

inline constexpr index_t tiny_tokens = 7;

inline model::decoder_sizes tiny_sizes() {
  model::decoder_sizes s;
  s.vocabulary = 19;
  s.layers = 3;
  s.width = 8;
  s.heads = s.key_heads = 2;
  s.hidden = 12;
  s.positions = tiny_tokens;
  return s;
}

inline model::trainer_options tiny_options(int pp, int dp) {
  model::trainer_options o;
  o.mesh.pp = pp;
  o.mesh.dp = dp;
  o.microbatches = 6;
  o.sequences = 2;
  o.tokens = tiny_tokens;
  o.policy.seed = 3;
  o.policy.order = order_policy::elastic;
  o.poison = true;
  return o;
}

inline void tiny_data(index_t step, index_t microbatch, std::int32_t* tokens, std::int32_t* targets) {
  philox const random(4, 0);
  for (index_t t = 0; t < 2 * tiny_tokens; ++t) {
    std::uint64_t const e = static_cast<std::uint64_t>((step * 6 + microbatch) * 2 * tiny_tokens + t);
    tokens[t] = static_cast<std::int32_t>(random.below(e, 19));
    targets[t] = (tokens[t] + 1) % 19;
  }
}

/// What rank 0 saw of a run.
struct seen {
  std::vector<float> losses;
  bool skipped = false;
  bool memory_exact = true;
  index_t late_allocations = 0;  ///< after the first step, over all ranks
};

/// Trains `steps` steps on every rank of the mesh. `Compute` is made on each rank; `look(trainer, step)` is called
/// after each step.
template <class Compute, class Model, class Data, class Look>
seen train_tiny(Model const& whole, model::trainer_options const& o, index_t steps, Data const& data,
                Look const& look) {
  seen result;
  rank_options ranks;
  ranks.threads_per_rank = 1;
  ranks.deadline = 20;
  run_ranks(o.mesh.ranks(), [&](thread_communicator& comm) {
    model::memory_spaces spaces;
    Compute compute;
    model::trainer<Model, float, Compute, thread_communicator> trainer(compute, comm, spaces, whole, o);
    trainer.initialize();
    index_t after_first = 0;
    for (index_t s = 0; s < steps; ++s) {
      model::step_result const r = trainer.step(s, 1e-2, data);
      if (s == 0) after_first = spaces.allocations();
      if (comm.rank() == 0) result.losses.push_back(r.loss);
      if (comm.rank() == 0) result.skipped = result.skipped || r.skipped;
      look(trainer, s);
    }
    if (!(trainer.predicted() == trainer.measured())) __atomic_store_n(&result.memory_exact, false, __ATOMIC_RELAXED);
    __atomic_add_fetch(&result.late_allocations, spaces.allocations() - after_first, __ATOMIC_RELAXED);
  }, ranks);
  return result;
}

template <class Compute, class Model>
seen train_tiny(Model const& whole, model::trainer_options const& o, index_t steps) {
  return train_tiny<Compute>(whole, o, steps, tiny_data, [](auto&, index_t) {});
}

}  // namespace heddle::test
