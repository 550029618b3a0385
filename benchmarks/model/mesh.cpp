// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Trains one small tied decoder on many meshes and compares the bits of every loss with those of one rank; compares
// the memory of every rank with its prediction; stops and resumes on other meshes. Exact: the same on every machine.

#include <heddle/backend/cpu/attention_backward.hpp>
#include <heddle/backend/cpu/attention_forward.hpp>
#include <heddle/backend/cpu/matmul.hpp>
#include <heddle/backend/cpu/tile_context.hpp>
#include <heddle/comm/transport/thread.hpp>
#include <heddle/model/decoder.hpp>
#include <heddle/model/trainer_checkpoint.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <type_traits>
#include <unistd.h>

namespace hd = heddle;
using hd::index_t;

namespace {

constexpr index_t steps = 20;

/// One way to run the same training.
struct way {
  int pp = 1, dp = 1;
  bool gpipe = false, zero = false, recompute = false;
  int threads = 1;
  hd::order_policy order = hd::order_policy::elastic;
};

struct outcome {
  std::vector<std::uint32_t> bits;
  bool memory_exact = true;
};

hd::model::trainer_options options_of(way const& w) {
  hd::model::trainer_options o;
  o.mesh.pp = w.pp;
  o.mesh.dp = w.dp;
  o.microbatches = 12;
  o.sequences = 1;
  o.tokens = 17;  // odd, so that no tile is full
  o.policy.seed = 5;
  o.policy.order = w.order;
  o.schedule = w.gpipe ? hd::model::pipeline_order::gpipe : hd::model::pipeline_order::one_forward_one_backward;
  o.shard_optimizer = w.zero;
  o.clip = 0.5;
  return o;
}

auto model_of(way const& w) {
  hd::model::decoder_sizes s;
  s.vocabulary = 67;
  s.layers = 4;
  s.width = 24;
  s.heads = s.key_heads = 3;
  s.hidden = 40;
  s.positions = 17;
  s.recompute = w.recompute;
  return hd::model::gpt2(s);
}

void draw_tokens(index_t step, index_t microbatch, std::int32_t* tokens, std::int32_t* targets) {
  hd::philox const random(9, 1);
  for (index_t t = 0; t < 17; ++t) {
    std::uint64_t const e = static_cast<std::uint64_t>((step * 12 + microbatch) * 17 + t);
    tokens[t] = static_cast<std::int32_t>(random.below(e, 67));
    targets[t] = (tokens[t] * 5 + 3) % 67;
  }
}

/// Runs steps [first, last): from `resume` where it is given, saving into `save` at the end where that is.
template <class T>
outcome train(way const& w, index_t last, std::string const& resume, std::string const& save) {
  auto const model = model_of(w);
  hd::model::trainer_options options = options_of(w);
  if (std::is_same_v<T, hd::bf16>) options.policy.storage = hd::storage_policy::bf16;
  outcome result;
  hd::rank_options ranks;
  ranks.threads_per_rank = w.threads;
  ranks.deadline = 60;
  hd::run_ranks(w.pp * w.dp, [&](hd::thread_communicator& comm, hd::threads_executor& exec) {
    hd::model::memory_spaces spaces;
    hd::model::trainer<std::remove_const_t<decltype(model)>, T, hd::threads_executor, hd::thread_communicator> trainer(
        exec, comm, spaces, model, options);
    trainer.initialize();
    index_t first = 0;
    if (!resume.empty()) first = hd::model::resume(trainer, resume, model, [](hd::checkpoint::store const&) {});
    std::vector<std::uint32_t> bits;
    for (index_t s = first; s < last; ++s)
      bits.push_back(__builtin_bit_cast(std::uint32_t, trainer.step(s, 3e-3, draw_tokens).loss));
    if (!save.empty()) hd::model::save(trainer, save, last, {});
    if (comm.rank() == 0) result.bits = bits;
    if (!(trainer.predicted() == trainer.measured()))
      __atomic_store_n(&result.memory_exact, false, __ATOMIC_RELAXED);
  }, ranks);
  return result;
}

void say(char const* type, way const& w, hd::isa set, bool same, bool exact) {
  std::printf("%s pp %d dp %d %s zero %d recompute %d threads %d %s %s: bits %s, memory %s\n", type, w.pp, w.dp,
              w.gpipe ? "gpipe" : "1f1b", w.zero, w.recompute, w.threads, name(set),
              w.order == hd::order_policy::elastic ? "elastic" : "repeatable", same ? "equal" : "DIFFERENT",
              exact ? "exact" : "WRONG");
  std::fflush(stdout);
}

constexpr int sets = 4;  // of instructions

struct totals {
  int runs = 0;
  bool bits = true, memory = true, resumed = true;
  bool ran[sets] = {}, lacking[sets] = {};  ///< per set: some run took it; a run that was meant for it took the best
};

/// The names of the sets that are marked, as "avx2, avx512".
std::string names_of(bool const (&marked)[sets]) {
  std::string text;
  for (int i = 0; i < sets; ++i)
    if (marked[i]) (text += text.empty() ? "" : ", ") += name(static_cast<hd::isa>(i));
  return text;
}

/// A folder that is gone at the end, with all that is in it.
class temporary_folder {
 public:
  temporary_folder() {
    char const* const base = std::getenv("TMPDIR");
    path_ = std::string(base && *base ? base : "/tmp") + "/heddle-mesh-XXXXXX";
    if (!::mkdtemp(path_.data()))
      throw hd::error(hd::errc::file, hd::make_text("can't make the folder ", path_.c_str(),
                                                    ": set TMPDIR to one that can be written"));
  }
  temporary_folder(temporary_folder const&) = delete;
  temporary_folder& operator=(temporary_folder const&) = delete;
  ~temporary_folder() {
    std::error_code failed;
    std::filesystem::remove_all(path_, failed);
    if (failed) std::fprintf(stderr, "mesh: could not remove %s\n", path_.c_str());
  }
  std::string const& path() const { return path_; }

 private:
  std::string path_;
};

/// Every mesh with at most eight ranks, each with four of the sixteen settings, so that all of them occur.
template <class T>
void compare_meshes(char const* type, totals& t) {
  hd::isa const best = hd::machine_isa();
  std::vector<std::uint32_t> const right = train<T>({}, steps, "", "").bits;
  t.ran[static_cast<int>(best)] = true;
  int turn = 0;
  for (int pp = 1; pp <= 4; ++pp)
    for (int dp = 1; dp <= 4; ++dp) {
      if (pp * dp > 8) continue;
      for (int k = 0; k < 4; ++k, ++turn) {
        way w;
        w.pp = pp;
        w.dp = dp;
        w.gpipe = k & 1;
        w.zero = k & 2;
        int const c = turn / 4;  // one of the other eight combinations per mesh
        w.recompute = c & 1;
        w.threads = 1 + ((c >> 1) & 1);
        hd::isa const wanted = (c >> 2) & 1 ? hd::isa::avx2 : hd::isa::avx512;
        hd::isa const set = static_cast<int>(wanted) <= static_cast<int>(best) ? wanted : best;
        t.ran[static_cast<int>(set)] = true;
        if (set != wanted) t.lacking[static_cast<int>(wanted)] = true;
        hd::force_isa(set);
        outcome const o = train<T>(w, steps, "", "");
        bool const same = o.bits == right;
        say(type, w, set, same, o.memory_exact);
        ++t.runs;
        t.bits = t.bits && same;
        t.memory = t.memory && o.memory_exact;
      }
    }
  hd::force_isa(best);
  for (int k = 0; k < 4; ++k) {  // memory only: these bits are those of their own mesh
    way w;
    w.pp = w.dp = 2;
    w.gpipe = k & 1;
    w.zero = k & 2;
    w.order = hd::order_policy::repeatable;
    outcome const o = train<T>(w, 2, "", "");
    say(type, w, best, true, o.memory_exact);
    t.memory = t.memory && o.memory_exact;
  }
}

/// Ten steps on dp 2 x pp 2, then the rest on other meshes, against the unbroken run.
template <class T>
void compare_resumed(char const* type, totals& t) {
  temporary_folder const folder;
  std::vector<std::uint32_t> const right = train<T>({}, steps, "", "").bits;
  way begin;
  begin.pp = begin.dp = 2;
  begin.zero = true;
  train<T>(begin, 10, "", folder.path());
  int const meshes[][2] = {{4, 1}, {1, 4}, {1, 1}, {2, 2}};
  for (auto const& m : meshes) {
    way w;
    w.pp = m[0];
    w.dp = m[1];
    std::vector<std::uint32_t> const rest = train<T>(w, steps, folder.path(), "").bits;
    bool const same = std::vector<std::uint32_t>(right.begin() + 10, right.end()) == rest;
    std::printf("%s stopped on pp 2 dp 2, resumed on pp %d dp %d: bits %s\n", type, w.pp, w.dp,
                same ? "equal" : "DIFFERENT");
    t.resumed = t.resumed && same;
  }
}

/// The instruction sets stand behind the bits that they had, since a machine compares only those that it has.
void summarize(totals const& t) {
  std::string const ran = names_of(t.ran), lacking = names_of(t.lacking);
  std::printf("mesh: instruction sets compared: %s\n", ran.c_str());
  if (!lacking.empty())
    std::printf("mesh: this machine has no %s: nothing is said of it\n", lacking.c_str());
  std::printf("evidence main.mesh_bits %d bool (%s)\n", t.bits, ran.c_str());
  std::printf("evidence main.mesh_runs %d runs\n", t.runs);
  std::printf("evidence main.resume_bits %d bool\n", t.resumed);
  std::printf("evidence main.memory_exact %d bool\n", t.memory);
}

int usage(std::FILE* out, int status) {
  std::fputs("Usage: bench_model_mesh [--help]\n"
             "Trains one small decoder on many meshes and compares loss bits and memory, for minutes. Takes no other "
             "flag.\nCheckpoints stand in a folder of its own in TMPDIR, or /tmp.\n", out);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) return argc == 2 && std::strcmp(argv[1], "--help") == 0 ? usage(stdout, 0) : usage(stderr, 2);
  try {
    totals t;
    compare_meshes<float>("fp32", t);
    compare_meshes<hd::bf16>("bf16", t);
    compare_resumed<float>("fp32", t);
    compare_resumed<hd::bf16>("bf16", t);
    summarize(t);
    return t.bits && t.resumed && t.memory ? 0 : 1;
  } catch (std::exception const& e) {
    std::fprintf(stderr, "mesh: %s\n", e.what());
    return 1;
  }
}
