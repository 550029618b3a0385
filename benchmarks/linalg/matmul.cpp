// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// @file
/// matmul in fp32 against the BLAS libraries of the machine, each at its fastest right core. Ratios are the peer's
/// time / ours, medians of interleaved runs; one thread is timed by processor time, two by the wall clock.
///
/// Usage: bench_linalg_matmul [part of an id]...    without arguments, everything.

#include <heddle/backend/cpu/matmul.hpp>
#include <heddle/exec/threads_executor.hpp>
#include <heddle/linalg/matmul.hpp>

#include <support/ceilings.hpp>
#include <support/measure.hpp>
#include <support/peers.hpp>
#include <support/timing.hpp>

#include <cstdio>

using namespace heddle;

namespace {

struct shape {
  char const* name;  ///< t: that operand lies transposed
  bench::gemm_shape size;
};
// What the means are taken over: squares, the layers of GPT-2 (124M, 256 rows) and Llama (7B, 128 rows), and products
// that are short in one extent.
constexpr shape counted_shapes[] = {
    {"32", {32, 32, 32}},
    {"64", {64, 64, 64}},
    {"100", {100, 100, 100}},
    {"128", {128, 128, 128}},
    {"256", {256, 256, 256}},
    {"512", {512, 512, 512}},
    {"1024", {1024, 1024, 1024}},
    {"2048", {2048, 2048, 2048}},
    {"gpt2_qkv", {256, 2304, 768}},
    {"gpt2_proj", {256, 768, 768}},
    {"gpt2_fc", {256, 3072, 768}},
    {"gpt2_out", {256, 768, 3072}},
    {"gpt2_head", {64, 50304, 768}},
    {"llama_qo", {128, 4096, 4096}},
    {"llama_up", {128, 11008, 4096}},
    {"llama_down", {128, 4096, 11008}},
    {"tall64", {4096, 64, 64}},
    {"tall32", {16384, 32, 256}},
    {"long_k", {64, 64, 4096}},
    {"thin_k", {2048, 2048, 16}},
};
constexpr shape other_shapes[] = {
    {"511", {511, 511, 511}},
    {"1000", {1000, 1000, 1000}},
    {"1024_nt", {1024, 1024, 1024, false, true}},
    {"1024_tn", {1024, 1024, 1024, true, false}},
    {"1024_tt", {1024, 1024, 1024, true, true}},
    {"1x4096x4096", {1, 4096, 4096}},
    {"1x4096x4096_nt", {1, 4096, 4096, false, true}},
};
constexpr int least_runs = 9;

/// Calls that one measurement takes the mean of: half a millisecond of work or more, because threads that slept take
/// fifty microseconds to come.
int repetitions_for(bench::gemm_shape const& s) {
  double const flops = 2.0 * s.m * s.n * s.k;
  return flops > 2e8 ? 1 : static_cast<int>(2e8 / flops) + 1;
}

class ours {
 public:
  explicit ours(bench::gemm_shape const& s)
      : s_(s),
        a_(bench::random_floats(static_cast<std::size_t>(s.m) * static_cast<std::size_t>(s.k), 1)),
        b_(bench::random_floats(static_cast<std::size_t>(s.k) * static_cast<std::size_t>(s.n), 2)),
        c_(static_cast<std::size_t>(s.m) * static_cast<std::size_t>(s.n)) {}

  /// Seconds per call, the mean of the repetitions.
  double seconds(threads_executor& exec, int repetitions = 1) {
    double const start = bench::now(bench::watch_for(exec.concurrency()));
    for (int i = 0; i < repetitions; ++i) run(exec);
    return (bench::now(bench::watch_for(exec.concurrency())) - start) / repetitions;
  }

 private:
  void run(threads_executor& exec) {
    matmul(exec, input(a_, s_.m, s_.k, s_.at), input(b_, s_.k, s_.n, s_.bt),
           view<float, 2>(c_.data(), dims<2>(s_.m, s_.n)));
  }
  static view<float const, 2> input(std::vector<float> const& x, index_t rows, index_t columns, bool transposed) {
    return transposed ? view<float const, 2>(x.data(), dims<2>(rows, columns), index_t{1}, rows)
                      : view<float const, 2>(x.data(), dims<2>(rows, columns));
  }
  bench::gemm_shape s_;
  std::vector<float> a_, b_, c_;
};

using peer_list = std::vector<std::unique_ptr<bench::peer>>;

/// The fastest of the peers that are right; null where there is none.
bench::peer* fastest(peer_list const& peers, bench::gemm_shape const& s, int threads) {
  bench::peer* best = nullptr;
  double least = HUGE_VAL;
  for (auto const& p : peers) {
    if (!p->prepare(s)) continue;
    double t = HUGE_VAL;
    for (int i = 0; i < 5; ++i) t = std::min(t, p->seconds(threads, repetitions_for(s)));
    if (t < least) least = t, best = p.get();
  }
  return best;
}

/// Leaves the peers that are within half of the fastest at 64 or at 512 cubed.
void keep_fast(peer_list& peers) {
  std::vector<bool> fast(peers.size());
  for (int n : {64, 512}) {
    bench::gemm_shape const probe{n, n, n};
    std::vector<double> t(peers.size(), HUGE_VAL);
    double least = HUGE_VAL;
    for (std::size_t i = 0; i < peers.size(); ++i) {
      if (peers[i]->prepare(probe))
        for (int r = 0; r < 5; ++r) t[i] = std::min(t[i], peers[i]->seconds(1, repetitions_for(probe)));
      std::printf("peer %-28s %3d cubed, 1 thread: %6.1f Gflop/s\n", peers[i]->name().c_str(), n,
                  2e-9 * n * n * n / t[i]);
      least = std::min(least, t[i]);
    }
    for (std::size_t i = 0; i < peers.size(); ++i) fast[i] = fast[i] || t[i] < 1.5 * least;
  }
  peer_list kept;
  for (std::size_t i = 0; i < peers.size(); ++i)
    if (fast[i]) kept.push_back(std::move(peers[i]));
  peers = std::move(kept);
}

struct outcome {
  double ratio = 0;  ///< the peer's time / ours; 0 without a peer
  double of_peak = 0;
};

outcome compare(shape const& s, int threads, threads_executor& exec, peer_list const& peers, double peak) {
  double const flops = 2.0 * s.size.m * s.size.n * s.size.k;
  bench::peer* const best = fastest(peers, s.size, threads);
  ours mine(s.size);
  mine.seconds(exec);
  int const runs = flops > 4e9 ? least_runs : 21, repetitions = repetitions_for(s.size);
  std::vector<double> us, them;
  for (int i = 0; i < runs; ++i) {
    // As many calls before those that count: both sides then have their threads awake.
    mine.seconds(exec, repetitions);
    us.push_back(mine.seconds(exec, repetitions));
    if (!best) continue;
    best->seconds(threads, repetitions);
    them.push_back(best->seconds(threads, repetitions));
  }
  double const t = bench::median(us);
  outcome result{0, flops / t * 1e-9 / peak};
  bench::measurement m{
      .bench = "linalg_matmul", .name = s.name, .threads = threads, .seconds = t, .work = flops, .ceiling = peak};
  if (best) m.peers.emplace_back(best->name(), bench::median(them));
  bench::print_measure(m);
  if (!best) {
    std::printf("evidence matmul.f32.%s.t%d absent no_peer_found\n", s.name, threads);
    return result;
  }
  double const other = bench::median(them);
  std::printf("evidence matmul.f32.%s.t%d %.3f ratio\n", s.name, threads, other / t);
  std::fflush(stdout);
  bool const both_at_peak = result.of_peak > 0.95 && flops / other * 1e-9 / peak > 0.95;
  result.ratio = both_at_peak ? 1 : other / t;
  return result;
}

bool wanted(std::string const& id, int count, char** parts) {
  if (count <= 1) return true;
  for (int i = 1; i < count; ++i)
    if (id.find(parts[i]) != std::string::npos) return true;
  return false;
}

/// The mean over the counted shapes, where all of them were run and had a peer.
void print_summary(std::vector<outcome> const& all, int threads) {
  if (all.size() != std::size(counted_shapes)) return;
  double logarithms = 0, worst = HUGE_VAL;
  for (outcome const& o : all) {
    if (o.ratio == 0) {
      std::printf("evidence matmul.f32.geomean.t%d absent no_peer_found\n", threads);
      std::printf("evidence matmul.f32.worst.t%d absent no_peer_found\n", threads);
      return;
    }
    logarithms += std::log(o.ratio), worst = std::min(worst, o.ratio);
  }
  std::printf("evidence matmul.f32.geomean.t%d %.3f ratio\n", threads,
              std::exp(logarithms / static_cast<double>(all.size())));
  std::printf("evidence matmul.f32.worst.t%d %.3f ratio\n", threads, worst);
}

}  // namespace

int main(int count, char** arguments) {
  peer_list peers = bench::find_peers();  // before any thread starts
  keep_fast(peers);
  if (peers.empty()) std::printf("no peer: install libopenblas0, libblis4 or libdnnl2 to compare\n");
  for (int threads = 1; threads <= 2; ++threads) {
    double const peak = bench::fma_peak(threads);
    std::printf("ceiling t%d: FMA %.1f Gflop/s (%s)\n", threads, peak, name(best_isa()));
    if (wanted("ceiling", count, arguments)) {
      bench::bandwidth const b = bench::memory_bandwidth(threads);
      std::printf("ceiling t%d: cold read %.1f GB/s, triad %.1f GB/s\n", threads, b.read, b.triad);
    }
    threads_executor exec(threads);
    auto const run = [&](shape const& s) {
      return wanted(std::string(s.name) + ".t" + std::to_string(threads), count, arguments);
    };
    std::vector<outcome> counted;
    for (shape const& s : counted_shapes) {
      if (!run(s)) continue;
      counted.push_back(compare(s, threads, exec, peers, peak));
      if (threads == 1 && std::string(s.name) == "2048")
        std::printf("evidence matmul.f32.peak %.3f peak\n", counted.back().of_peak);
    }
    for (shape const& s : other_shapes)
      if (run(s)) compare(s, threads, exec, peers, peak);
    print_summary(counted, threads);
  }
}
