// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Trains a byte-level decoder on text files over a mesh of ranks, and leaves metrics, pictures, a checkpoint that any
// other mesh can resume, and a sample of what it has learned.

#include <heddle/exec/wait.hpp>

#include <support/flags.hpp>
#include "train_gpt/output.hpp"
#include "train_gpt/resume.hpp"
#include "train_gpt/sample.hpp"
#include "train_gpt/settings.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>

namespace train_gpt {

namespace hd = heddle;
namespace fs = std::filesystem;
using hd::index_t;

std::atomic<int> stop_requested = 0;
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may write no other");

hd::model::trainer_options trainer_options_of(settings const& s) {
  hd::model::trainer_options o;
  o.mesh.pp = s.pp;
  o.mesh.dp = s.dp;
  o.microbatches = s.microbatches;
  o.sequences = s.batch / s.microbatches;
  o.tokens = s.seq;
  o.policy.seed = s.seed;
  o.policy.order = s.order == "elastic"   ? hd::order_policy::elastic
                   : s.order == "relaxed" ? hd::order_policy::relaxed
                                          : hd::order_policy::repeatable;
  o.policy.storage = s.bf16() ? hd::storage_policy::bf16 : hd::storage_policy::fp32;
  o.schedule =
      s.schedule == "gpipe" ? hd::model::pipeline_order::gpipe : hd::model::pipeline_order::one_forward_one_backward;
  o.shard_optimizer = s.zero == 1;
  o.clip = s.clip > 0 ? s.clip : __builtin_inf();
  o.weight_decay = s.weight_decay;
  o.rule.beta2 = 0.99;
  return o;
}

hd::optim::lr_schedule schedule_of(settings const& s) {
  hd::optim::lr_schedule l;
  l.peak = s.lr;
  l.floor = s.min_lr;
  l.warmup = s.warmup;
  l.total = s.steps;
  l.shape = s.lr_schedule == "constant" ? hd::optim::lr_shape::constant
          : s.lr_schedule == "linear" ? hd::optim::lr_shape::linear
                                      : hd::optim::lr_shape::cosine;
  return l;
}

namespace {

struct preset {
  char const* name;
  index_t layers, width, heads, key_heads, hidden;
  index_t vocabulary = 256, tokens = 256;  // rows of the token table, and those of them that are no padding
  index_t microbatches = 4;
};
constexpr preset presets[] = {{"tiny", 2, 64, 2, 1, 192},
                              {"small", 4, 128, 4, 2, 384},
                              {"medium", 8, 256, 8, 4, 768},
                              {"gpt2", 12, 768, 12, 4, 3072},
                              {"gpt2-124m", 12, 768, 12, 4, 3072, 50304, 50257, 1}};

// The sizes of the preset, which flags on the command line override.
void apply_preset(settings& s, examples::flags const& f) {
  for (preset const& p : presets) {
    if (s.preset != p.name) continue;
    bool const gpt2 = s.arch == "gpt2";
    if (!f.given("layers")) s.sizes.layers = p.layers;
    if (!f.given("width")) s.sizes.width = p.width;
    if (!f.given("heads")) s.sizes.heads = p.heads;
    if (!f.given("key-heads")) s.sizes.key_heads = gpt2 ? s.sizes.heads : p.key_heads;
    if (!f.given("hidden")) s.sizes.hidden = gpt2 ? 4 * s.sizes.width : p.hidden;
    if (!f.given("microbatches")) s.microbatches = p.microbatches;
    s.sizes.vocabulary = p.vocabulary;
    s.sizes.classes = p.tokens < p.vocabulary ? p.tokens : 0;
  }
  s.sizes.positions = s.seq;
  s.sizes.recompute = s.recompute;
  if (s.batch == 0) s.batch = 4 * s.microbatches;
  if (!f.given("warmup") && s.warmup > s.steps / 10) s.warmup = s.steps / 10;
}

[[noreturn]] void refuse(std::string const& what) { throw examples::usage_error(what); }

// What no single flag can check; each message says what to do.
void check(settings const& s) {
  std::string const n = std::to_string(s.dp * s.pp);
  if (s.dp * s.pp > hd::detail::max_thread_ranks)
    refuse("--dp " + std::to_string(s.dp) + " x --pp " + std::to_string(s.pp) + " makes " + n +
           " ranks, and a process has at most " + std::to_string(hd::detail::max_thread_ranks) +
           ": give a smaller --dp or --pp");
  if (s.ranks != 0 && s.ranks != s.dp * s.pp)
    refuse("--ranks " + std::to_string(s.ranks) + " is not dp x pp = " + n + ": give --ranks " + n +
           " or leave it out");
  if (s.sizes.layers < s.pp)
    refuse("--pp " + std::to_string(s.pp) + " needs as many layers, there are " + std::to_string(s.sizes.layers) +
           ": give --layers or a smaller --pp");
  if (s.microbatches < s.dp)
    refuse("--dp " + std::to_string(s.dp) + " needs as many microbatches, there are " + std::to_string(s.microbatches) +
           ": give --microbatches");
  if (s.batch % s.microbatches != 0)
    refuse("--batch " + std::to_string(s.batch) + " sequences can't be cut into " + std::to_string(s.microbatches) +
           " equal microbatches: give a multiple");
  if (s.sizes.width % s.sizes.heads != 0)
    refuse("--heads " + std::to_string(s.sizes.heads) + " does not divide --width " + std::to_string(s.sizes.width) +
           ": give --width as a multiple, or other --heads");
  if (s.sizes.heads % s.sizes.key_heads != 0)
    refuse("--key-heads " + std::to_string(s.sizes.key_heads) + " does not divide --heads " +
           std::to_string(s.sizes.heads) + ": give a divisor");
  if (s.sizes.tokens() > 256 && !s.random_tokens)
    refuse("--preset " + s.preset + " has " + std::to_string(s.sizes.tokens()) +
           " tokens, and text is read as bytes: give --random-tokens or another --preset");
  if (s.arch == "gpt2" && s.sizes.key_heads != s.sizes.heads)
    refuse("--key-heads is for --arch llama: leave it out or give --arch llama");
  if (s.arch == "gpt2" && s.sizes.rope_base != hd::model::decoder_sizes{}.rope_base)
    refuse("--rope-base is for --arch llama: leave it out or give --arch llama");
  if (s.arch == "llama" && s.sizes.head_size() % 2 != 0)
    refuse("llama turns pairs of numbers, and --width / --heads = " + std::to_string(s.sizes.head_size()) +
           " is odd: give --width as an even multiple of --heads");
  if (s.lr_schedule != "constant" && s.warmup > s.steps)
    refuse("--warmup " + std::to_string(s.warmup) + " is longer than --steps " + std::to_string(s.steps) +
           ": give a shorter one");
}

examples::text_data load_text(settings const& s) {
  if (s.random_tokens) return {};
  std::error_code failed;
  bool const ours = s.data == settings().data;
  if (ours && !std::all_of(s.data.begin(), s.data.end(), [&](auto const& path) { return fs::exists(path, failed); }))
    throw hd::error(hd::errc::file, "the default is to train on heddle's own text, which is not in this folder: "
                                    "start in heddle's folder, or give --data PATH");
  examples::text_data data = examples::text_data::load(s.data, s.valid_fraction);
  if (data.train.size() <= static_cast<std::size_t>(s.seq))
    throw hd::error(hd::errc::file, hd::make_text("--data holds ", data.train.size(),
                                                  " bytes to train on, too few for one sequence of ", s.seq,
                                                  " tokens: give more text or a smaller --seq; in folders only files "
                                                  "that end in ", examples::text_endings_list().c_str(), " count"));
  return data;
}

/// The folder of --out. What it makes goes again where the run leaves nothing in it.
class output_folder {
 public:
  explicit output_folder(std::string const& path) {
    if (path.empty()) return;
    std::error_code failed;
    for (fs::path p = path; !p.empty() && !fs::exists(p, failed); p = p.parent_path()) made_.push_back(p);
    fs::create_directories(path, failed);
    if (fs::is_directory(path, failed)) return;
    remove_empty();
    throw hd::error(hd::errc::file, hd::make_text("can't make the folder ", path.c_str(), ": choose another --out"));
  }
  output_folder(output_folder const&) = delete;
  output_folder& operator=(output_folder const&) = delete;
  ~output_folder() { remove_empty(); }

 private:
  void remove_empty() noexcept {
    std::error_code not_empty;
    for (fs::path const& p : made_) fs::remove(p, not_empty);
  }

  std::vector<fs::path> made_;  // the innermost first
};

extern "C" void on_interrupt(int) {
  stop_requested = 1;
  std::signal(SIGINT, SIG_DFL);  // a second one ends the program at once
}

void declare(examples::flags& f, settings& s) {
  static std::string const data_help =
      "text files, or folders, of which it takes what ends in " + examples::text_endings_list();
  f.list("data", &s.data, "PATH", data_help.c_str());
  f.number("valid-fraction", &s.valid_fraction, "share of the text that is held out", 0.0, 0.9);
  f.toggle("random-tokens", &s.random_tokens, "trains on random tokens instead of text");
  f.choice("arch", &s.arch, {"gpt2", "llama"}, "style of decoder");
  f.choice("preset", &s.preset, {"tiny", "small", "medium", "gpt2", "gpt2-124m"},
           "sizes, which the next five override");
  f.number("layers", &s.sizes.layers, "layers", index_t{1}, index_t{1000});
  f.number("width", &s.sizes.width, "width", index_t{1}, index_t{65536});
  f.number("heads", &s.sizes.heads, "query heads", index_t{1}, index_t{1024});
  f.number("key-heads", &s.sizes.key_heads, "key heads (llama)", index_t{1}, index_t{1024});
  f.number("hidden", &s.sizes.hidden, "width of the feed-forward part", index_t{1}, index_t{262144});
  f.number("rope-base", &s.sizes.rope_base, "base of rotary positions (llama)", 1.0, 1e12);
  f.toggle("tied", &s.sizes.tied, "shares the token table with the head");
  f.choice("precision", &s.precision, {"fp32", "bf16"}, "storage of parameters and activations");
  f.number("batch", &s.batch, "sequences of a step; 0 is 4 a microbatch", index_t{0}, index_t{1} << 20);
  f.number("seq", &s.seq, "tokens of a sequence", index_t{1}, index_t{1} << 20);
  f.number("dp", &s.dp, "data-parallel replicas", 1, 1024);
  f.number("pp", &s.pp, "pipeline stages", 1, 1024);
  f.number("ranks", &s.ranks, "checks that there are dp x pp ranks; 0 does not", 0, 1 << 20);
  f.number("microbatches", &s.microbatches, "microbatches of a step, over all replicas", index_t{1}, index_t{1} << 20);
  f.choice("schedule", &s.schedule, {"gpipe", "1f1b"}, "order of pipeline work");
  f.toggle("recompute", &s.recompute, "makes activations again in the backward pass");
  f.number("zero", &s.zero, "1 shards the optimizer over the replicas", 0, 1);
  f.number("threads-per-rank", &s.threads_per_rank, "threads of a rank; 0 shares the cores", 0, 1024);
  f.choice("order", &s.order, {"repeatable", "elastic", "relaxed"}, "what the bits may depend on");
  f.choice("comm", &s.comm, {"thread"}, "what the ranks are");
  f.number("steps", &s.steps, "optimizer steps", index_t{1}, index_t{1} << 40);
  f.number("lr", &s.lr, "highest learning rate", 0.0, 10.0);
  f.number("min-lr", &s.min_lr, "learning rate at the end", 0.0, 10.0);
  f.choice("lr-schedule", &s.lr_schedule, {"constant", "linear", "cosine"}, "how the rate falls");
  f.number("warmup", &s.warmup, "steps until the highest rate, at most a tenth of a short run", index_t{0},
           index_t{1} << 40);
  f.number("weight-decay", &s.weight_decay, "decoupled weight decay", 0.0, 10.0);
  f.number("clip", &s.clip, "limit of the global gradient norm; 0: none", 0.0, 1e9);
  f.number("seed", &s.seed, "of parameters and data");
  f.text("out", &s.out, "DIR", "folder for metrics, pictures and checkpoints");
  f.toggle("overwrite", &s.overwrite, "takes an --out that holds another run, whose checkpoints are deleted");
  f.text("resume", &s.resume, "DIR", "goes on from the newest checkpoint of a run, on any mesh");
  f.number("save-every", &s.save_every, "steps between checkpoints; 0: only at the end", index_t{0}, index_t{1} << 40);
  f.number("eval-every", &s.eval_every, "steps between held-out losses; 0: none", index_t{0}, index_t{1} << 40);
  f.number("sample", &s.sample, "bytes of text to generate at the end, with --out", index_t{0}, index_t{1} << 20);
  f.toggle("bits", &s.bits, "prints the loss of every step as bits");
  f.toggle("memory", &s.memory, "prints predicted and reserved bytes at the end");
  f.toggle("evidence", &s.evidence, "prints losses and speed as lines that evidence.cmake reads");
}

int run(int argc, char** argv) {
  settings s;
  examples::flags f(
      "Trains a byte-level decoder on any text files over a mesh of ranks: data-parallel replicas of a pipeline. The "
      "ranks are threads of this process. With --out it leaves metrics.jsonl, loss.svg, pipeline.svg, trace.json and a "
      "checkpoint that can be resumed at another mesh. With --order elastic the loss has the same bits on every mesh.");
  declare(f, s);
  f.parse(argc, argv);
  apply_preset(s, f);
  check(s);
  check_output(s);
  check_resume(s);
  examples::text_data const text = load_text(s);
  output_folder const out(s.out);
  std::signal(SIGINT, on_interrupt);
  train_function const train = s.arch == "gpt2" ? (s.bf16() ? train_gpt2_bf16 : train_gpt2_f32)
                                                : (s.bf16() ? train_llama_bf16 : train_llama_f32);
  hd::rank_options ranks;
  ranks.threads_per_rank = s.threads_per_rank;
  hd::run_ranks(s.dp * s.pp, [&](hd::thread_communicator& comm, hd::threads_executor& exec) {
    train(s, text, comm, exec);
  }, ranks);
  std::signal(SIGINT, SIG_DFL);
  write_sample(s);
  return 0;
}

}  // namespace
}  // namespace train_gpt

int main(int argc, char** argv) { return examples::run_main(argc, argv, train_gpt::run); }
