// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "artefacts.hpp"
#include "output.hpp"
#include "resume.hpp"

#include <heddle/model/description.hpp>
#include <heddle/report/chrome_trace.hpp>
#include <heddle/report/schedule_timeline.hpp>

namespace train_gpt {

namespace hd = heddle;
using hd::index_t;

std::vector<std::pair<std::string, std::string>> describe_run(settings const& s) {
  using style = hd::model::decoder_style;
  auto meta = hd::model::to_meta({s.arch == "gpt2" ? style::gpt2 : style::llama, s.sizes});
  meta.insert(meta.begin(), {"program", "train_gpt"});
  meta.emplace_back("seed", std::to_string(s.seed));
  meta.emplace_back("tokenizer", "bytes");
  meta.emplace_back("storage", storage_name(s));
  return meta;
}

hd::text stop_message(settings const& s, index_t done) {
  if (s.out.empty())
    return hd::make_text("stopped after step ", done, "; nothing was saved, since --out was not given");
  return hd::make_text("stopped after step ", done, " and saved; go on with --resume ", s.out.c_str());
}

journal::journal(settings const& s, hd::model::trainer_options const& o, examples::text_data const& text,
                 hd::model::memory_plan const& memory, index_t first)
    : s_(&s), options_(o), predicted_(memory), first_(first) {
  if (!s.random_tokens && text.valid.size() > 1) bigram_ = examples::bigram_loss(text.train, text.valid);
  hd::report::progress_options how;
  how.plain_seconds = 5;
  progress_ = std::make_unique<hd::report::progress>(s.steps, how);
  if (!s.out.empty()) {
    std::string const file = s.out + "/metrics.jsonl";
    bool const old = goes_on(s);
    if (old) past_ = take_up_records(file, first);
    metrics_ = std::make_unique<hd::report::json_lines>(
        file, old ? hd::report::json_lines::mode::append : hd::report::json_lines::mode::fresh);
  }
  auto const mib = [](std::size_t bytes) { return static_cast<double>(bytes) / 1048576; };
  std::printf("train_gpt: %s, %lld layers of width %lld, %lld tokens a step in %lld microbatches, mesh pp %d x dp %d\n",
              s.arch.c_str(), static_cast<long long>(s.sizes.layers), static_cast<long long>(s.sizes.width),
              static_cast<long long>(o.microbatches * o.rows()), static_cast<long long>(o.microbatches), s.pp, s.dp);
  std::printf("train_gpt: rank 0 reserves %.1f MiB: parameters %.1f, gradients %.1f, optimizer %.1f, activations %.1f, "
              "communication %.1f, workspace %.1f\n",
              mib(memory.total()), mib(memory.parameters), mib(memory.gradients), mib(memory.optimizer),
              mib(memory.activations), mib(memory.communication), mib(memory.workspace));
  if (bigram_ > 0)
    std::printf("train_gpt: a byte bigram has a cross entropy of %.4f nats on the held-out text\n", bigram_);
  if (!s.random_tokens && s.eval_every > 0 && text.valid.size() <= static_cast<std::size_t>(s.seq))
    std::printf("train_gpt: no held-out loss: %zu bytes are held out, too few for a sequence; give more text, or a "
                "larger --valid-fraction\n", text.valid.size());
  std::fflush(stdout);
}

namespace {
std::string percent_text(double percent) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.1f%%", percent);
  return digits;
}
}  // namespace

void journal::step(index_t done, hd::model::step_result const& r, double held_out, double lr,
                   std::int64_t trained_ns, double bubble) {
  train_ns_ += trained_ns;
  double const seconds = static_cast<double>(trained_ns) * 1e-9;
  double const rate = static_cast<double>(options_.microbatches * options_.rows()) / seconds;
  past_.train.push_back({static_cast<double>(done), r.loss});
  if (held_out >= 0) {
    past_.valid.push_back({static_cast<double>(done), held_out});
    last_held_out_ = held_out;
  }
  if (metrics_) {
    hd::report::json_object line;
    line.field("step", done).field("loss", static_cast<double>(r.loss)).field("norm", r.norm).field("lr", lr);
    line.field("tokens_per_s", rate).field("bubble_percent", 100 * bubble).field("skipped", r.skipped);
    if (held_out >= 0) line.field("held_out", held_out);
    metrics_->write(line);
  }
  if (s_->bits)
    std::printf("bits step %lld loss %08x\n", static_cast<long long>(done), __builtin_bit_cast(unsigned, r.loss));
  hd::report::fields shown;
  shown.add("loss", static_cast<double>(r.loss), 4);
  if (last_held_out_ >= 0) shown.add("held_out", last_held_out_, 4);
  shown.add("tokens/s", rate, 0).add("bubble", percent_text(100 * bubble));
  progress_->update(done, shown);
}

void journal::draw_loss() {
  hd::report::chart c;
  c.title = "Loss of " + s_->arch + " on " + (s_->random_tokens ? "random tokens" : "text");
  c.x_name = "step";
  c.y_name = "loss (nats per byte)";
  c.series.emplace_back("training", past_.train);
  if (!past_.valid.empty()) c.series.emplace_back("held out", past_.valid);
  if (bigram_ > 0)
    c.series.emplace_back("byte bigram", std::vector<hd::report::chart_point>{{past_.train.front().x, bigram_},
                                                                             {past_.train.back().x, bigram_}});
  hd::checkpoint::write_file(s_->out + "/loss.svg", hd::report::line_chart(c));
}

void journal::draw_pipeline(std::vector<rank_trace> const& traces) {
  std::int64_t start = INT64_MAX;
  for (rank_trace const& t : traces)
    if (!t.times.empty() && t.times.front().begin < start) start = t.times.front().begin;
  hd::report::timeline picture;
  picture.title = "The last step as it ran: " + s_->schedule + ", pp " + std::to_string(s_->pp) + ", dp " +
                  std::to_string(s_->dp);
  picture.note = "numbers are microbatches";
  picture.time_name = "time (ms)";
  picture.kinds = hd::report::schedule_kinds();
  hd::report::chrome_trace trace;
  for (rank_trace const& t : traces) {
    hd::coordinates const at = options_.mesh.coordinates_of(t.rank);
    int const stage = at.on<hd::axis::pp>(), replica = at.on<hd::axis::dp>();
    std::string const name = "stage " + std::to_string(stage) + ", replica " + std::to_string(replica);
    picture.rows.emplace_back(name);
    trace.name_rank(t.rank, "rank " + std::to_string(t.rank) + ": " + name);
    trace.name_queue(t.rank, 0, "compute");
    auto const& ops = t.schedule.on(stage);
    for (std::size_t i = 0; i < ops.size(); ++i) {
      hd::pipeline::operation_times const& at_ns = t.times[i];
      auto const ms = [&](std::int64_t ns) { return static_cast<double>(ns - start) * 1e-6; };
      picture.rows.back().boxes.emplace_back(ms(at_ns.ready), ms(at_ns.end), hd::report::schedule_kind(ops[i].kind),
                                             std::to_string(ops[i].microbatch));
      if (at_ns.ready > at_ns.begin)
        trace.span("wait", "wait", t.rank, 0, at_ns.begin - start, at_ns.ready - at_ns.begin);
      trace.span(hd::pipeline::to_string(ops[i]), hd::pipeline::token(ops[i].kind), t.rank, 0, at_ns.ready - start,
                 at_ns.end - at_ns.ready);
    }
  }
  hd::checkpoint::write_file(s_->out + "/pipeline.svg", hd::report::timeline_chart(picture));
  trace.write(s_->out + "/trace.json");
}

void journal::print_speed(measured_speed const& speed) const {
  double const tokens = static_cast<double>(options_.microbatches * options_.rows());
  double const rate = tokens * model_flops_per_token(s_->sizes, s_->arch == "llama", s_->seq) / speed.step_seconds;
  std::printf("train_gpt: median step %.3f s, %.0f tokens/s, %.1f model Gflop/s; a product at 1024 cubed %.1f\n",
              speed.step_seconds, tokens / speed.step_seconds, rate * 1e-9, speed.peak * 1e-9);
  if (s_->preset != "gpt2-124m") return;
  char const* const kind = s_->bf16() ? "_bf16" : "";
  std::printf("evidence train.gpt2_124m.efficiency%s %.3f ratio\n", kind, rate / speed.peak);
  std::printf("evidence train.gpt2_124m.tokens_per_s%s %.0f tokens/s\n", kind, tokens / speed.step_seconds);
}

void journal::finish(index_t done, std::vector<rank_trace> const& traces, hd::model::memory_plan const& measured,
                     bool stopped, measured_speed const& speed) {
  progress_->finish();
  if (metrics_) metrics_->flush();
  if (!s_->out.empty()) {
    draw_loss();
    draw_pipeline(traces);
  }
  double const seconds = static_cast<double>(train_ns_) * 1e-9;
  double const tokens = static_cast<double>((done - first_) * options_.microbatches * options_.rows());
  std::printf("train_gpt: %lld steps in %.1f s; loss %.4f", static_cast<long long>(done - first_), seconds,
              past_.train.back().y);
  if (last_held_out_ >= 0) std::printf(", held out %.4f", last_held_out_);
  if (bigram_ > 0) std::printf(" (byte bigram %.4f)", bigram_);
  std::printf("; %.0f tokens/s\n", tokens / seconds);
  if (s_->memory)
    std::printf("memory predicted %zu reserved %zu\n", predicted_.total(), measured.total());
  if (s_->evidence) {
    if (!stopped && last_held_out_ >= 0) std::printf("evidence demo.valid_loss %.4f nats\n", last_held_out_);
    if (!stopped && bigram_ > 0) std::printf("evidence demo.bigram_loss %.4f nats\n", bigram_);
    if (s_->preset != "gpt2-124m") std::printf("evidence main.tokens_per_s %.0f tokens/s\n", tokens / seconds);
    if (speed.step_seconds > 0) print_speed(speed);
  }
  std::fflush(stdout);
}

}  // namespace train_gpt
