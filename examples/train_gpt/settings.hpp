// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/comm/transport/thread.hpp>
#include <heddle/model/decoder.hpp>
#include <heddle/model/trainer_options.hpp>
#include <heddle/optim/schedule.hpp>

#include <support/text_data.hpp>

#include <atomic>
#include <string>
#include <vector>

/// @file
/// What the command line of train_gpt says, and the entry point of each kind of model. Each kind is compiled in a file
/// of its own, since a kernel is instantiated once per element type and shape of model.

namespace train_gpt {

struct settings {
  // data
  std::vector<std::string> data = {"include", "docs", "README.md"};
  double valid_fraction = 0.1;
  bool random_tokens = false;
  // model
  std::string arch = "gpt2";
  std::string preset = "small";
  heddle::model::decoder_sizes sizes;
  std::string precision = "fp32";
  // batch and mesh
  heddle::index_t batch = 0;  ///< sequences of a step
  heddle::index_t seq = 128;
  int dp = 1, pp = 1, ranks = 0;
  heddle::index_t microbatches = 4;
  std::string schedule = "1f1b";
  bool recompute = false;
  int zero = 0;
  int threads_per_rank = 0;
  std::string order = "repeatable";
  std::string comm = "thread";
  // optimisation
  heddle::index_t steps = 200;
  double lr = 3e-3, min_lr = 3e-4, weight_decay = 0.1, clip = 1;
  heddle::index_t warmup = 20;
  std::string lr_schedule = "cosine";
  std::uint64_t seed = 1;
  // output
  std::string out, resume;
  bool overwrite = false;
  heddle::index_t save_every = 0, eval_every = 50, sample = 200;
  bool bits = false, memory = false, evidence = false;

  bool bf16() const { return precision == "bf16"; }
};

/// The run's options as the library takes them. Pre: the settings were checked.
heddle::model::trainer_options trainer_options_of(settings const& s);
heddle::optim::lr_schedule schedule_of(settings const& s);

/// Trains on one rank of the mesh; every rank calls it. The same function for each kind of model.
using train_function = void (*)(settings const&, examples::text_data const&, heddle::thread_communicator&,
                                heddle::threads_executor&);
void train_gpt2_f32(settings const&, examples::text_data const&, heddle::thread_communicator&,
                    heddle::threads_executor&);
void train_gpt2_bf16(settings const&, examples::text_data const&, heddle::thread_communicator&,
                     heddle::threads_executor&);
void train_llama_f32(settings const&, examples::text_data const&, heddle::thread_communicator&,
                     heddle::threads_executor&);
void train_llama_bf16(settings const&, examples::text_data const&, heddle::thread_communicator&,
                      heddle::threads_executor&);

/// Set by the first Ctrl-C: the run finishes its step, saves and ends.
extern std::atomic<int> stop_requested;

}  // namespace train_gpt
