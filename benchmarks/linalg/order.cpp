// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// @file
/// What the orders of matmul cost, in fp32 on one thread and on two: the time of relaxed sums / that of repeatable and
/// of elastic ones, as geometric means over the shapes of bench_linalg_matmul, and the scratch memory of elastic sums.
///
/// Usage: bench_linalg_order [--quick]    with --quick only shapes below 5e8 operations, and three runs

#include <heddle/backend/cpu/matmul.hpp>
#include <heddle/exec/plan.hpp>
#include <heddle/exec/threads_executor.hpp>

#include <support/measure.hpp>
#include <support/timing.hpp>

#include <cmath>
#include <cstdio>
#include <cstring>

using namespace heddle;

namespace {

struct shape {
  char const* name;
  index_t m, n, k;
  bool a_transposed = false, b_transposed = false;
};
constexpr shape shapes[] = {
    {"32", 32, 32, 32},
    {"64", 64, 64, 64},
    {"100", 100, 100, 100},
    {"128", 128, 128, 128},
    {"256", 256, 256, 256},
    {"511", 511, 511, 511},
    {"512", 512, 512, 512},
    {"1000", 1000, 1000, 1000},
    {"1024", 1024, 1024, 1024},
    {"1024_nt", 1024, 1024, 1024, false, true},
    {"1024_tn", 1024, 1024, 1024, true, false},
    {"1024_tt", 1024, 1024, 1024, true, true},
    {"2048", 2048, 2048, 2048},
    {"gpt2_qkv", 256, 2304, 768},
    {"gpt2_proj", 256, 768, 768},
    {"gpt2_fc", 256, 3072, 768},
    {"gpt2_out", 256, 768, 3072},
    {"gpt2_head", 64, 50304, 768},
    {"llama_qo", 128, 4096, 4096},
    {"llama_up", 128, 11008, 4096},
    {"llama_down", 128, 4096, 11008},
    {"tall64", 4096, 64, 64},
    {"tall32", 16384, 32, 256},
    {"long_k", 64, 64, 4096},
    {"thin_k", 2048, 2048, 16},
    {"1x4096x4096", 1, 4096, 4096},
    {"1x4096x4096_nt", 1, 4096, 4096, false, true},
};
constexpr order_policy orders[] = {order_policy::relaxed, order_policy::repeatable, order_policy::elastic};

struct totals {
  double log_repeatable = 0, log_elastic = 0, relaxed_bytes = 0, extra_bytes = 0;
  int count = 0;
};

class product {
 public:
  explicit product(shape const& s)
      : s_(s),
        a_(bench::random_floats(static_cast<std::size_t>(s.m * s.k), 1)),
        b_(bench::random_floats(static_cast<std::size_t>(s.k * s.n), 2)),
        c_(static_cast<std::size_t>(s.m * s.n)) {}

  void run(threads_executor& exec, order_policy order) {
    matmul(exec, input(a_, s_.m, s_.k, s_.a_transposed), input(b_, s_.k, s_.n, s_.b_transposed),
           view<float, 2>(c_.data(), dims<2>(s_.m, s_.n)), {.order = order});
  }
  double seconds(threads_executor& exec, order_policy order, int repetitions) {
    double const start = bench::now(bench::watch_for(exec.concurrency()));
    for (int i = 0; i < repetitions; ++i) run(exec, order);
    return (bench::now(bench::watch_for(exec.concurrency())) - start) / repetitions;
  }
  double bytes() const { return 4.0 * static_cast<double>(a_.size() + b_.size() + c_.size()); }

 private:
  static view<float const, 2> input(std::vector<float> const& x, index_t rows, index_t columns, bool transposed) {
    return transposed ? view<float const, 2>(x.data(), dims<2>(rows, columns), index_t{1}, rows)
                      : view<float const, 2>(x.data(), dims<2>(rows, columns));
  }
  shape s_;
  std::vector<float> a_, b_, c_;
};

void measure(shape const& s, threads_executor& exec, int runs, totals& sum) {
  product p(s);
  double const flops = 2.0 * static_cast<double>(s.m) * static_cast<double>(s.n * s.k);
  int const repetitions = flops > 2e8 ? 1 : static_cast<int>(2e8 / flops) + 1;
  std::vector<double> t[3];
  double scratch[3];
  for (int o = 0; o < 3; ++o) {
    scratch[o] = static_cast<double>(plan(exec, [&] { p.run(exec, orders[o]); }).scratch_bytes);
    p.run(exec, orders[o]);
  }
  for (int i = 0; i < runs; ++i)
    for (int o = 0; o < 3; ++o) t[o].push_back(p.seconds(exec, orders[o], repetitions));
  double const relaxed = bench::median(t[0]), repeatable = bench::median(t[1]), elastic = bench::median(t[2]);
  for (int o : {1, 2})
    bench::print_measure({.bench = "linalg_order",
                          .name = std::string(o == 1 ? "repeatable " : "elastic ") + s.name,
                          .threads = exec.concurrency(),
                          .seconds = o == 1 ? repeatable : elastic,
                          .peers = {{"relaxed", relaxed}},
                          .work = flops});
  sum.log_repeatable += std::log(relaxed / repeatable), sum.log_elastic += std::log(relaxed / elastic);
  sum.relaxed_bytes += p.bytes() + scratch[0], sum.extra_bytes += scratch[2] - scratch[0];
  ++sum.count;
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  bool const quick = argc > 1 && std::strcmp(argv[1], "--quick") == 0;
  totals sum;
  for (int threads : {1, 2}) {
    threads_executor exec(threads);
    for (shape const& s : shapes)
      if (!quick || 2 * s.m * s.n * s.k < 500000000) measure(s, exec, quick ? 3 : 9, sum);
  }
  std::printf("evidence order.repeatable.time %.3f ratio\n", std::exp(sum.log_repeatable / sum.count));
  std::printf("evidence order.elastic.time %.3f ratio\n", std::exp(sum.log_elastic / sum.count));
  std::printf("evidence order.elastic.memory %.4f ratio\n", sum.extra_bytes / sum.relaxed_bytes);
}
