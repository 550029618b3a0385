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
#include <support/peers.hpp>
#include <support/timing.hpp>

#include <cstdio>

using namespace heddle;

namespace {

struct shape {
  char const* name;  ///< t: that operand lies transposed
  bench::gemm_shape size;
};
constexpr shape shapes[] = {
    {"511", {511, 511, 511}},       {"512", {512, 512, 512}},
    {"1000", {1000, 1000, 1000}},   {"1024", {1024, 1024, 1024}},
    {"1024_nt", {1024, 1024, 1024, false, true}}, {"1024_tn", {1024, 1024, 1024, true, false}},
    {"1024_tt", {1024, 1024, 1024, true, true}},  {"2048", {2048, 2048, 2048}},
    {"1x4096x4096", {1, 4096, 4096}}, {"1x4096x4096_nt", {1, 4096, 4096, false, true}},
};
constexpr int least_runs = 9;

class ours {
 public:
  explicit ours(bench::gemm_shape const& s)
      : s_(s), a_(bench::random_floats(static_cast<std::size_t>(s.m) * static_cast<std::size_t>(s.k), 1)),
        b_(bench::random_floats(static_cast<std::size_t>(s.k) * static_cast<std::size_t>(s.n), 2)),
        c_(static_cast<std::size_t>(s.m) * static_cast<std::size_t>(s.n)) {}

  double seconds(threads_executor& exec) {
    double const start = bench::now(bench::watch_for(exec.concurrency()));
    matmul(exec, input(a_, s_.m, s_.k, s_.at), input(b_, s_.k, s_.n, s_.bt),
           view<float, 2>(c_.data(), dims<2>(s_.m, s_.n)));
    return bench::now(bench::watch_for(exec.concurrency())) - start;
  }

 private:
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
    for (int i = 0; i < 3; ++i) t = std::min(t, p->seconds(threads));
    if (t < least) least = t, best = p.get();
  }
  return best;
}

/// Leaves the peers that are within half of the fastest at 512 cubed.
void keep_fast(peer_list& peers) {
  bench::gemm_shape const probe{512, 512, 512};
  std::vector<double> t;
  double least = HUGE_VAL;
  for (auto const& p : peers) {
    t.push_back(HUGE_VAL);
    if (p->prepare(probe))
      for (int i = 0; i < 5; ++i) t.back() = std::min(t.back(), p->seconds(1));
    std::printf("peer %-24s 512 cubed, 1 thread: %6.1f Gflop/s\n", p->name().c_str(),
                2e-9 * 512 * 512 * 512 / t.back());
    least = std::min(least, t.back());
  }
  peer_list kept;
  for (std::size_t i = 0; i < peers.size(); ++i)
    if (t[i] < 1.5 * least) kept.push_back(std::move(peers[i]));
  peers = std::move(kept);
}

void compare(shape const& s, int threads, threads_executor& exec, peer_list const& peers, double peak) {
  double const flops = 2.0 * s.size.m * s.size.n * s.size.k;
  bench::peer* const best = fastest(peers, s.size, threads);
  ours mine(s.size);
  mine.seconds(exec);
  int const runs = flops > 4e9 ? least_runs : 21;
  std::vector<double> us, them;
  for (int i = 0; i < runs; ++i) {
    // One call before each that counts: both sides then have their threads awake.
    mine.seconds(exec);
    us.push_back(mine.seconds(exec));
    if (!best) continue;
    best->seconds(threads);
    them.push_back(best->seconds(threads));
  }
  double const t = bench::median(us);
  std::printf("%-15s t%d  ours %6.1f Gflop/s (%2.0f %% of peak)", s.name, threads, flops / t * 1e-9,
              flops / t * 1e-7 / peak);
  if (s.size.m == 1) std::printf(", %.1f GB/s", 4e-9 * s.size.k * static_cast<double>(s.size.n) / t);
  if (!best) {
    std::printf("\nevidence matmul.f32.%s.t%d absent no_peer_found\n", s.name, threads);
    return;
  }
  double const other = bench::median(them);
  std::printf("  %s %6.1f Gflop/s\n", best->name().c_str(), flops / other * 1e-9);
  std::printf("evidence matmul.f32.%s.t%d %.3f ratio\n", s.name, threads, other / t);
  std::fflush(stdout);
}

bool wanted(std::string const& id, int count, char** parts) {
  if (count <= 1) return true;
  for (int i = 1; i < count; ++i)
    if (id.find(parts[i]) != std::string::npos) return true;
  return false;
}

}  // namespace

int main(int count, char** arguments) {
  peer_list peers = bench::find_peers();  // before any thread starts
  keep_fast(peers);
  if (peers.empty()) std::printf("no peer: install libopenblas0 or libblis4 to compare\n");
  for (int threads = 1; threads <= 2; ++threads) {
    double const peak = bench::fma_peak(threads);
    std::printf("ceiling t%d: FMA %.1f Gflop/s (%s)\n", threads, peak, name(best_isa()));
    if (wanted("ceiling", count, arguments)) {
      bench::bandwidth const b = bench::memory_bandwidth(threads);
      std::printf("ceiling t%d: cold read %.1f GB/s, triad %.1f GB/s\n", threads, b.read, b.triad);
    }
    threads_executor exec(threads);
    for (shape const& s : shapes)
      if (wanted(std::string(s.name) + ".t" + std::to_string(threads), count, arguments))
        compare(s, threads, exec, peers, peak);
  }
}
