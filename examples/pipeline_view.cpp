// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/flags.hpp"

#include <heddle/checkpoint/file.hpp>
#include <heddle/pipeline/generate.hpp>
#include <heddle/pipeline/lower.hpp>
#include <heddle/pipeline/simulate.hpp>
#include <heddle/pipeline/slots.hpp>
#include <heddle/pipeline/text_format.hpp>
#include <heddle/pipeline/verify.hpp>
#include <heddle/report/chrome_trace.hpp>
#include <heddle/report/schedule_timeline.hpp>

#include <cstdio>
#include <string>

namespace pl = heddle::pipeline;

namespace {
struct options {
  std::string schedule = "1f1b";
  std::string backward = "split";
  std::string read;
  int stages = 4;
  int microbatches = 8;
  heddle::index_t forward = 1;
  heddle::index_t backward_input = 1;
  heddle::index_t backward_weight = 1;
  heddle::index_t latency = 0;
  bool lowered = false;
  bool check = false;
  std::string svg;
  std::string text;
  std::string trace;
};

void declare(examples::flags& f, options& o) {
  f.choice("schedule", &o.schedule, {"gpipe", "1f1b"}, "which order of work");
  f.choice("backward", &o.backward, {"fused", "split", "deferred"}, "B and W in one, side by side, or W last");
  f.text("read", &o.read, "FILE", "reads a schedule in the text format instead");
  f.number("stages", &o.stages, "stages, each on a device of its own", 1, 256);
  f.number("microbatches", &o.microbatches, "microbatches of a step", 1, 4096);
  f.number("forward", &o.forward, "ticks of F", 0, 1000000);
  f.number("backward-input", &o.backward_input, "ticks of B", 0, 1000000);
  f.number("backward-weight", &o.backward_weight, "ticks of W", 0, 1000000);
  f.number("latency", &o.latency, "ticks of a message", 0, 1000000);
  f.toggle("lowered", &o.lowered, "adds sends and receives to the text");
  f.toggle("check", &o.check, "only verifies, and fails where something is wrong");
  f.text("svg", &o.svg, "FILE", "writes a picture");
  f.text("text", &o.text, "FILE", "writes the schedule as text; - is the screen");
  f.text("trace", &o.trace, "FILE", "writes a Chrome trace, a tick as a microsecond");
}

/// More than any schedule that a user would look at.
constexpr heddle::index_t longest_schedule = heddle::index_t{1} << 28;

pl::schedule make(options const& o) {
  if (!o.read.empty()) {
    pl::parse_report report = pl::parse(heddle::checkpoint::read_small_file(o.read, longest_schedule));
    if (!report.ok()) throw heddle::error(heddle::errc::format, report.message().c_str());
    return report.value;
  }
  pl::backward_form const form = o.backward == "fused"   ? pl::backward_form::fused
                                 : o.backward == "split" ? pl::backward_form::split
                                                         : pl::backward_form::deferred;
  return o.schedule == "gpipe" ? pl::gpipe(o.stages, o.microbatches, form)
                               : pl::one_forward_one_backward(o.stages, o.microbatches, form);
}

void print_summary(pl::schedule const& s, pl::simulation const& run) {
  std::printf("%s: makespan %lld ticks, span %lld, bubble %.1f %% of the makespan, %.1f %% of the span\n",
              s.provenance.c_str(), static_cast<long long>(run.makespan), static_cast<long long>(run.span),
              100 * run.bubble_makespan(), 100 * run.bubble_span());
  pl::slot_table const slots = pl::slots(s);
  for (int v = 0; v < s.stages; ++v)
    std::printf("stage %d on device %d: %d saved, %d kept, %d deferred microbatches at once\n", v, s.device_of(v),
                slots.count(v, pl::span::saved), slots.count(v, pl::span::kept), slots.count(v, pl::span::deferred));
}

void write_trace(pl::simulation const& run, std::string const& path) {
  heddle::report::chrome_trace trace;
  for (std::size_t d = 0; d < run.ops.size(); ++d) {
    int const device = static_cast<int>(d);
    trace.name_rank(device, "device " + std::to_string(device));
    trace.name_queue(device, 0, "compute");
    for (pl::timed_op const& t : run.ops[d])
      trace.span(pl::to_string(t.op), pl::token(t.op.kind), device, 0, 1000 * t.start, 1000 * (t.end - t.start));
  }
  trace.write(path);
}

int run(int argc, char** argv) {
  options o;
  examples::flags f(
      "Draws a pipeline schedule: verifies it, simulates it with the given costs, and prints its times, its bubble and "
      "the activations that it holds. GPipe is from Huang et al. 2019, 1F1B from Narayanan et al. 2019 and 2021.");
  declare(f, o);
  f.parse(argc, argv);
  pl::schedule const s = make(o);
  pl::verify_report const report = pl::verify(s);
  if (!report.ok()) throw heddle::error(heddle::errc::format, report.message().c_str());
  std::fputs(report.message().c_str(), stdout);
  if (o.check) return 0;
  pl::simulation const times = pl::simulate(s, pl::costs({o.forward, o.backward_input, o.backward_weight}), o.latency);
  print_summary(s, times);
  std::string const text = pl::format(o.lowered ? pl::lower(s) : s);
  if (o.text == "-")
    std::fputs(text.c_str(), stdout);
  else if (!o.text.empty())
    heddle::checkpoint::write_file(o.text, text);
  if (!o.svg.empty())
    heddle::checkpoint::write_file(
        o.svg, heddle::report::timeline_chart(heddle::report::schedule_timeline(s, times, s.provenance)));
  if (!o.trace.empty()) write_trace(times, o.trace);
  return 0;
}
}  // namespace

int main(int argc, char** argv) { return examples::run_main(argc, argv, run); }
