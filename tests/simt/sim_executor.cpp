// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/simt/sim_executor.hpp>

#include <support/catch.hpp>
#include <support/numbers.hpp>

#include <stdexcept>
#include <string>
#include <vector>

using namespace heddle;
using simt::landing;
using simt::turn;

namespace {

enum class fault { none, no_wait, no_barrier_before, no_barrier_after };

constexpr int threads = 64, steps = 5;

/// Every step copies a row into one slot, and every thread then adds up what its mirror image copied.
struct pipeline_kernel {
  float const* in;
  float* out;
  fault what;

  template <simt::block_context Block>
  void operator()(Block& b) const {
    float* const slot = reinterpret_cast<float*>(b.shared());
    float sum = 0;
    for (int step = 0; step < steps; ++step) {
      b.copy_async(slot + b.thread(), in + step * threads + b.thread());
      b.commit();
      if (what != fault::no_wait) b.template wait<0>();
      if (what != fault::no_barrier_before) b.sync();
      sum += slot[threads - 1 - b.thread()];
      if (what != fault::no_barrier_after) b.sync();
    }
    b.template wait<0>();
    out[b.block() * threads + b.thread()] = sum;
  }
};

std::vector<float> run_pipeline(landing copies, turn order, fault what) {
  std::vector<float> const in = test::random_floats(threads * steps, 1, 1);
  std::vector<float> out(2 * threads, -1);
  sim_executor exec({copies, order});
  exec.launch(2, threads, threads * 4, pipeline_kernel{in.data(), out.data(), what});
  return out;
}

bool all_schedules_agree(fault what) {
  std::vector<float> const first = run_pipeline(landing::late, turn::forward, what);
  bool agree = true;
  for (landing copies : {landing::late, landing::early})
    for (turn order : {turn::forward, turn::reverse})
      agree = agree && test::same_bits(first, run_pipeline(copies, order, what));
  return agree;
}

struct warp_kernel {
  int* out;
  template <simt::block_context Block>
  void operator()(Block& b) const {
    int v = b.thread();
    for (int mask = 1; mask < 32; mask *= 2) v += b.shuffle_xor(v, mask);
    out[b.thread()] = v;
  }
};

template <class F>
std::string message_of(F const& f) {
  try {
    f();
  } catch (std::exception const& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a right kernel gives the same under every schedule and landing", "[simt]") {
  REQUIRE(all_schedules_agree(fault::none));
  std::vector<float> const in = test::random_floats(threads * steps, 1, 1);
  std::vector<float> const out = run_pipeline(landing::late, turn::forward, fault::none);
  for (int t = 0; t < 2 * threads; ++t) {
    float want = 0;
    for (int s = 0; s < steps; ++s) want += in[s * threads + threads - 1 - t % threads];
    REQUIRE(out[t] == want);
  }
}

TEST_CASE("wrong kernels are seen", "[simt]") {
  REQUIRE_FALSE(all_schedules_agree(fault::no_wait));
  REQUIRE_FALSE(all_schedules_agree(fault::no_barrier_before));
  REQUIRE_FALSE(all_schedules_agree(fault::no_barrier_after));
  // Which of the two landings sees what: a missing wait reads poison only while copies are late.
  std::vector<float> const right = run_pipeline(landing::late, turn::forward, fault::none);
  REQUIRE_FALSE(test::same_bits(right, run_pipeline(landing::late, turn::forward, fault::no_wait)));
  REQUIRE(test::same_bits(right, run_pipeline(landing::early, turn::forward, fault::no_wait)));
}

TEST_CASE("shuffles add up a warp", "[simt]") {
  for (turn order : {turn::forward, turn::reverse}) {
    sim_executor exec({landing::late, order});
    std::vector<int> out(96, -1);
    exec.launch(1, 96, 0, warp_kernel{out.data()});
    for (int t = 0; t < 96; ++t) REQUIRE(out[t] == (t / 32) * 1024 + 496);
  }
}

TEST_CASE("shared memory starts poisoned in every block", "[simt]") {
  sim_executor exec;
  int clean = 0;
  exec.launch(3, 32, 128, [&clean](simt::sim_block_context& b) {
    auto* const words = reinterpret_cast<unsigned*>(b.shared());
    if (words[b.thread()] != 0xFFFFFFFFu) ++clean;
    words[b.thread()] = 7;
  });
  REQUIRE(clean == 0);
}

TEST_CASE("threads that disagree about a barrier are an error", "[simt]") {
  for (turn order : {turn::forward, turn::reverse}) {
    sim_executor exec({landing::late, order});
    auto const run = [&exec](auto kernel) { return message_of([&] { exec.launch(1, 64, 0, kernel); }); };
    CHECK(run([](simt::sim_block_context& b) {
            if (b.thread() != 5) b.sync();
          }).find("a block barrier must be reached by every thread") != std::string::npos);
    CHECK(run([](simt::sim_block_context& b) {
            if (b.thread() < 40) b.sync_warp();
          }).find("reached by every thread of the warp") != std::string::npos);
    CHECK(run([](simt::sim_block_context& b) {
            if (b.lane() == 3)
              b.sync();
            else
              b.sync_warp();
          }).find("reached by every thread of the warp") != std::string::npos);
    CHECK(run([](simt::sim_block_context& b) {
            static float from;
            alignas(4) float to;
            b.copy_async(&to, &from);
            b.commit();
          }).find("wait for its asynchronous copies") != std::string::npos);
    // The executor is usable afterwards.
    int ran = 0;
    exec.launch(1, 32, 0, [&ran](simt::sim_block_context& b) {
      b.sync();
      ++ran;
    });
    CHECK(ran == 32);
  }
}

TEST_CASE("what a kernel throws arrives, and the others unwind", "[simt]") {
  struct guard {
    int* live;
    explicit guard(int* l) : live(l) { ++*live; }
    guard(guard const&) = delete;
    ~guard() { --*live; }
  };
  int live = 0;
  sim_executor exec;
  REQUIRE_THROWS_AS(exec.launch(2, 64, 0,
                                [&live](simt::sim_block_context& b) {
                                  guard g(&live);
                                  b.sync();
                                  if (b.thread() == 17) throw std::runtime_error("17");
                                  b.sync();
                                }),
                    std::runtime_error);
  REQUIRE(live == 0);
  REQUIRE_THROWS_AS(exec.launch(1, 33, 0, [](simt::sim_block_context&) {}), contract_error);
}
