// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// @file
/// Where the time of a training step goes: GPT-2 with 124 million parameters, one rank, every operation with its share,
/// its bytes and its flops per second. Arguments: --quick (two layers), --bf16, --batch N, --seq N, --steps N.

#include <heddle/backend/cpu/attention_backward.hpp>
#include <heddle/backend/cpu/attention_forward.hpp>
#include <heddle/backend/cpu/matmul.hpp>
#include <heddle/backend/cpu/tile_context.hpp>
#include <heddle/comm/transport/thread.hpp>
#include <heddle/exec/observed.hpp>
#include <heddle/exec/recorder.hpp>
#include <heddle/exec/threads_executor.hpp>
#include <heddle/model/decoder.hpp>
#include <heddle/model/trainer.hpp>

#include <support/measure.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

using namespace heddle;

namespace {

struct arguments {
  index_t layers = 12, batch = 4, tokens = 64, steps = 3;
  bool bf16 = false;
};

struct line {
  double seconds = 0, bytes = 0, flops = 0;
  index_t calls = 0;
};

// The name of an operation with its shape, where the same operation has many.
std::string key_of(span const& s) {
  std::string key = s.operation;
  for (index_t const n : s.shape)
    if (n > 0) key += " " + std::to_string(n);
  return key;
}

// A span that holds another one has no figures; only the innermost ones are counted.
void print(char const* type, recorder const& seen, index_t steps, double step_seconds) {
  std::map<std::string, line> lines;
  double total = 0;
  seen.for_each([&](recorded_span const& r) {
    if (r.what.bytes == 0 && r.what.flops == 0) return;
    line& l = lines[key_of(r.what)];
    double const seconds = static_cast<double>(r.end_ns - r.begin_ns) * 1e-9;
    l.seconds += seconds, total += seconds;
    l.bytes += static_cast<double>(r.what.bytes), l.flops += static_cast<double>(r.what.flops);
    ++l.calls;
  });
  std::vector<std::pair<std::string, line>> sorted(lines.begin(), lines.end());
  std::sort(sorted.begin(), sorted.end(),
            [](auto const& a, auto const& b) { return a.second.seconds > b.second.seconds; });
  double const n = static_cast<double>(steps);
  std::printf("%-44s %6s %9s %7s %8s %9s\n", "operation", "calls", "ms/step", "share", "GB/s", "Gflop/s");
  for (auto const& [name, l] : sorted)
    std::printf("%-44s %6lld %9.2f %6.1f%% %8.1f %9.1f\n", name.c_str(), static_cast<long long>(l.calls / steps),
                1e3 * l.seconds / n, 100 * l.seconds / n / step_seconds, l.bytes / l.seconds * 1e-9,
                l.flops / l.seconds * 1e-9);
  std::printf("step %.1f ms, of which operations %.1f ms\n", 1e3 * step_seconds, 1e3 * total / n);
  // The longest ones are kept; the rest of the step is one row.
  double kept = 0;
  auto const keep = [&](std::string const& name, line const& l) {
    bool const computes = l.flops > 0;
    bench::print_measure({.bench = "model_step",
                          .name = std::string(type) + ": " + name,
                          .threads = usable_cores(),
                          .seconds = l.seconds / n,
                          .work = (computes ? l.flops : l.bytes) / n,
                          .unit = computes ? "Gflop/s" : "GB/s"});
    kept += l.seconds / n;
  };
  for (std::size_t i = 0; i < sorted.size() && i < 10; ++i) keep(sorted[i].first, sorted[i].second);
  line rest;
  rest.seconds = n * (step_seconds - kept);
  keep("the rest of the step", rest);
}

template <class T>
void profile(arguments const& a) {
  run_ranks(1, [&](thread_communicator& world, threads_executor& inner) {
    recorder seen(1 << 14);
    observed<threads_executor, recorder> exec(inner, seen);
    model::decoder_sizes s;
    s.vocabulary = 50304, s.classes = 50257, s.layers = a.layers, s.width = 768, s.heads = s.key_heads = 12;
    s.hidden = 3072, s.positions = a.tokens;
    model::trainer_options o;
    o.microbatches = 1, o.sequences = a.batch, o.tokens = a.tokens;
    o.policy.storage = std::is_same_v<T, float> ? storage_policy::fp32 : storage_policy::bf16;
    model::memory_spaces spaces;
    auto const whole = model::gpt2(s);
    model::trainer<std::remove_const_t<decltype(whole)>, T, decltype(exec), thread_communicator> trainer(
        exec, world, spaces, whole, o);
    trainer.initialize();
    auto const data = [&](index_t step, index_t, std::int32_t* tokens, std::int32_t* targets) {
      philox const random(1, 1);
      for (index_t i = 0; i < a.batch * a.tokens; ++i) {
        std::uint64_t const e = static_cast<std::uint64_t>(step * a.batch * a.tokens + i);
        tokens[i] = static_cast<std::int32_t>(random.below(e, 50257));
        targets[i] = static_cast<std::int32_t>(random.below(e + 1, 50257));
      }
    };
    trainer.step(0, 1e-4, data);
    seen.clear();
    std::int64_t const begin = deadline::now_ns();
    for (index_t i = 1; i <= a.steps; ++i) trainer.step(i, 1e-4, data);
    print(std::is_same_v<T, float> ? "fp32" : "bf16", seen, a.steps,
          static_cast<double>(deadline::now_ns() - begin) * 1e-9 / static_cast<double>(a.steps));
  });
}

}  // namespace

int main(int argc, char** argv) {
  arguments a;
  for (int i = 1; i < argc; ++i) {
    auto const number = [&] { return i + 1 < argc ? std::atoll(argv[++i]) : 0; };
    if (std::strcmp(argv[i], "--quick") == 0) a.layers = 2;
    if (std::strcmp(argv[i], "--bf16") == 0) a.bf16 = true;
    if (std::strcmp(argv[i], "--batch") == 0) a.batch = number();
    if (std::strcmp(argv[i], "--seq") == 0) a.tokens = number();
    if (std::strcmp(argv[i], "--steps") == 0) a.steps = number();
  }
  a.bf16 ? profile<bf16>(a) : profile<float>(a);
}
