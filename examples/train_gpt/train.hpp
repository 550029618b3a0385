// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/backend/cpu/attention_backward.hpp>
#include <heddle/backend/cpu/attention_forward.hpp>
#include <heddle/backend/cpu/matmul.hpp>
#include <heddle/backend/cpu/tile_context.hpp>
#include <heddle/model/trainer_checkpoint.hpp>

#include "artefacts.hpp"
#include "resume.hpp"
#include "settings.hpp"
#include "speed.hpp"

namespace train_gpt {

using heddle::index_t;

/// The windows of text that a step trains on: drawn by a counter, so that they depend on the seed, the step and the
/// place in the batch alone.
struct window_source {
  settings const* s;
  std::vector<unsigned char> const* text;
  index_t sequences;
  std::uint64_t stream;

  void operator()(index_t step, index_t microbatch, std::int32_t* tokens, std::int32_t* targets) const {
    heddle::philox const random(s->seed, stream);
    auto const tokens_there_are = static_cast<std::uint64_t>(s->sizes.tokens());
    for (index_t q = 0; q < sequences; ++q) {
      std::uint64_t const window =
          static_cast<std::uint64_t>((step * s->microbatches + microbatch) * sequences + q);
      if (s->random_tokens) {
        for (index_t t = 0; t < s->seq; ++t) {
          std::uint64_t const e = window * static_cast<std::uint64_t>(s->seq + 1) + static_cast<std::uint64_t>(t);
          tokens[q * s->seq + t] = static_cast<std::int32_t>(random.below(e, tokens_there_are));
          targets[q * s->seq + t] = static_cast<std::int32_t>(random.below(e + 1, tokens_there_are));
        }
        continue;
      }
      std::uint64_t const starts = text->size() - static_cast<std::size_t>(s->seq);
      unsigned char const* const at = text->data() + random.below(window, starts);
      for (index_t t = 0; t < s->seq; ++t) {
        tokens[q * s->seq + t] = at[t];
        targets[q * s->seq + t] = at[t + 1];
      }
    }
  }
};

/// Batches of held-out text that a held-out loss is the mean of: the last one, which is reported, takes more.
constexpr index_t rounds_on_the_way = 2, final_rounds = 8;

/// The loop of one rank. Rank 0 also reports.
template <class T, class Model>
void train(settings const& s, examples::text_data const& text, heddle::thread_communicator& world,
           heddle::threads_executor& exec, Model const& model) {
  using trainer_type = heddle::model::trainer<Model, T, heddle::threads_executor, heddle::thread_communicator>;
  heddle::model::memory_spaces spaces;
  heddle::model::trainer_options const options = trainer_options_of(s);
  trainer_type trainer(exec, world, spaces, model, options);
  bool const reports = world.rank() == 0;

  index_t first = 0;
  trainer.initialize();
  if (!s.resume.empty())
    first = heddle::model::resume(trainer, saves_folder(s), model, [](heddle::checkpoint::store const&) {});
  std::unique_ptr<journal> log;
  if (reports) log = std::make_unique<journal>(s, options, text, trainer.predicted(), first);

  std::unique_ptr<speed_meter<T, heddle::threads_executor>> meter;
  if (s.evidence && world.size() == 1) meter = std::make_unique<speed_meter<T, heddle::threads_executor>>(exec);
  window_source const train_on{&s, &text.train, options.sequences, 1};
  window_source const held_out{&s, &text.valid, options.sequences, 2};
  bool const can_evaluate = s.random_tokens || text.valid.size() > static_cast<std::size_t>(s.seq);
  auto const schedule = schedule_of(s);
  auto evaluate = [&](index_t rounds) {
    double sum = 0;
    for (index_t r = 0; r < rounds; ++r)
      sum += trainer.evaluate([&](index_t, index_t m, std::int32_t* a, std::int32_t* b) { held_out(r, m, a, b); });
    return sum / static_cast<double>(rounds);
  };
  auto save = [&](index_t step) {
    if (s.out.empty()) return;
    heddle::model::save(trainer, s.out + "/checkpoint", step, describe_run(s));
  };

  index_t done = first;
  bool stopped = false;
  while (done < s.steps && !stopped) {
    std::int64_t const begin = heddle::deadline::now_ns();
    heddle::model::step_result const r = trainer.step(done, schedule(done), train_on);
    std::int64_t const trained_ns = heddle::deadline::now_ns() - begin;
    ++done;
    if (meter) meter->add_step(trained_ns);
    bool const evaluates = can_evaluate && s.eval_every > 0 && (done % s.eval_every == 0 || done == s.steps);
    double const held = evaluates ? evaluate(done == s.steps ? final_rounds : rounds_on_the_way) : -1;
    double const bubble = measured_bubble(trainer, world);
    if (log) log->step(done, r, held, schedule(done - 1), trained_ns, bubble);
    // All ranks stop after the same step: the flag of the first rank decides.
    std::int64_t stop[1] = {stop_requested.load()};
    heddle::broadcast(world, exec, heddle::view<std::int64_t, 1>(stop, heddle::dims<1>(1)), 0);
    exec.synchronize();
    stopped = stop[0] != 0;
    if (s.save_every > 0 && done % s.save_every == 0 && done < s.steps && !stopped) save(done);
  }
  if (done > first) {
    std::vector<rank_trace> const traces = gather_traces(trainer, world);
    save(done);
    if (log) log->finish(done, traces, trainer.measured(), stopped, meter ? meter->medians() : measured_speed{});
  }
  if (stopped) throw heddle::error(heddle::errc::interrupted, stop_message(s, done));
}

}  // namespace train_gpt
