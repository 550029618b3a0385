// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <heddle/comm/collectives.hpp>
#include <heddle/model/rank_state.hpp>
#include <heddle/report/json_lines.hpp>
#include <heddle/report/line_chart.hpp>
#include <heddle/report/progress.hpp>

#include "records.hpp"
#include "settings.hpp"
#include "speed.hpp"

#include <memory>
#include <utility>

/// @file
/// What a run leaves behind: the progress line, metrics.jsonl, loss.svg, pipeline.svg, trace.json.

namespace train_gpt {

/// What one rank did in the last step.
struct rank_trace {
  int rank = 0;
  heddle::pipeline::schedule schedule;
  std::vector<heddle::pipeline::operation_times> times;
};

/// Written into every checkpoint.
std::vector<std::pair<std::string, std::string>> describe_run(settings const& s);
heddle::text stop_message(settings const& s, heddle::index_t done);

/// The reports of rank 0.
class journal {
 public:
  journal(settings const& s, heddle::model::trainer_options const& o, examples::text_data const& text,
          heddle::model::memory_plan const& memory, heddle::index_t first);
  /// `trained_ns` is the time of the step alone, `bubble` what measured_bubble() says of it.
  void step(heddle::index_t done, heddle::model::step_result const& r, double held_out, double lr,
            std::int64_t trained_ns, double bubble);
  void finish(heddle::index_t done, std::vector<rank_trace> const& traces, heddle::model::memory_plan const& measured,
              bool stopped, measured_speed const& speed);

 private:
  void print_speed(measured_speed const& speed) const;
  void draw_loss();
  void draw_pipeline(std::vector<rank_trace> const& traces);

  settings const* s_;
  heddle::model::trainer_options options_;
  heddle::model::memory_plan predicted_;
  double bigram_ = 0;
  heddle::index_t first_ = 0;
  std::int64_t train_ns_ = 0;
  double last_held_out_ = -1;
  records past_;
  std::unique_ptr<heddle::report::json_lines> metrics_;
  std::unique_ptr<heddle::report::progress> progress_;
};

/// The bubble of the last step: the share of its passes, from the first operation of any rank to the last end, in which
/// the ranks' compute queues had no work, as a mean over all ranks. Collective.
template <class Trainer, class Comm>
double measured_bubble(Trainer& trainer, Comm& world) {
  auto const& times = trainer.times();
  double busy[1] = {0}, ends[2] = {-1e300, -1e300};  // the ends: of the last operation, and minus the first begin
  for (auto const& t : times) busy[0] += static_cast<double>(t.end - t.ready);
  if (!times.empty()) {
    ends[0] = static_cast<double>(times.back().end);
    ends[1] = -static_cast<double>(times.front().begin);
  }
  heddle::all_reduce(world, trainer.compute(), heddle::view<double const, 1>(busy, heddle::dims<1>(1)),
                     heddle::view<double, 1>(busy, heddle::dims<1>(1)), heddle::mean{});
  heddle::all_reduce(world, trainer.compute(), heddle::view<double const, 1>(ends, heddle::dims<1>(2)),
                     heddle::view<double, 1>(ends, heddle::dims<1>(2)), heddle::maximum<>{});
  trainer.compute().synchronize();
  double const span = ends[0] + ends[1];
  return span > 0 ? 1 - busy[0] / span : 0;
}

/// The operation times of all ranks, on rank 0; others get nothing.
template <class Trainer, class Comm>
std::vector<rank_trace> gather_traces(Trainer& trainer, Comm& world) {
  namespace hd = heddle;
  std::vector<rank_trace> all;
  auto const key = hd::make_channel(static_cast<unsigned>(hd::pipeline::traffic::first_free));
  if (world.rank() != 0) {
    auto const& t = trainer.times();
    world.send(0, key, {t.data(), t.size() * sizeof(t[0])});
    return all;
  }
  hd::model::trainer_options const& o = trainer.options();
  for (int r = 0; r < world.size(); ++r) {
    rank_trace trace;
    hd::coordinates const at = o.mesh.coordinates_of(r);
    trace.rank = r;
    trace.schedule = hd::model::schedule_of(o, at.on<hd::axis::dp>());
    trace.times.resize(trace.schedule.on(at.on<hd::axis::pp>()).size());
    if (r == 0)
      trace.times = trainer.times();
    else
      world.receive(r, key, {trace.times.data(), trace.times.size() * sizeof(trace.times[0])});
    all.push_back(std::move(trace));
  }
  return all;
}

}  // namespace train_gpt
