// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// @file
/// Update rules and the sum of squares over 64 Mi fp32 parameters, which no cache holds, with two threads: bytes that
/// the formula names per second, over those of a triad that runs between them. Prints evidence adamw.bandwidth,
/// sgd.bandwidth and squared_norm.bandwidth. Argument: --quick (4 Mi parameters).

#include <heddle/comm/exact_sum.hpp>
#include <heddle/exec/threads_executor.hpp>
#include <heddle/optim/adam.hpp>
#include <heddle/optim/sgd.hpp>

#include <support/ceilings.hpp>
#include <support/measure.hpp>
#include <support/timing.hpp>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

using namespace heddle;

namespace {

struct arrays {
  index_t n;
  std::vector<float> p, g, m, v;
  index_t applied[1] = {0};
  std::vector<std::uint64_t> words = std::vector<std::uint64_t>(static_cast<std::size_t>(exact_sum_words), 0);

  explicit arrays(index_t count)
      : n(count), p(bench::random_floats(static_cast<std::size_t>(n), 1)), g(p), m(p.size(), 0.0f), v(p.size(), 0.0f) {
    for (float& x : g) x *= 0x1p-10f;
  }
  view<float, 1> of(std::vector<float>& x) const { return view<float, 1>(x.data(), dims<1>(n)); }
  view<float const, 1> gradient() const { return view<float const, 1>(g.data(), dims<1>(n)); }
  view<index_t, 1> steps() { return view<index_t, 1>(applied, dims<1>(1)); }

  void adamw(threads_executor& exec) {
    optim::adamw().step(exec, of(p), gradient(), optim::state_views<float, 2>{{of(m), of(v)}}, steps(), {1e-3, 0.1});
  }
  void sgd(threads_executor& exec) {
    optim::sgd{0.9}.step(exec, of(p), gradient(), optim::state_views<float, 1>{{of(m)}}, steps(), {1e-3, 0.1});
  }
  void squared_norm(threads_executor& exec) {
    exact_sum_add(exec, gradient(), view<std::uint64_t, 1>(words.data(), dims<1>(exact_sum_words)));
  }
  void triad(threads_executor& exec) {
    int const threads = exec.concurrency();
    index_t const part = n / threads;
    exec.for_each_tile(threads, [=, this](index_t tile, int) {
      dispatch_isa(bench::triad_body{}, v.data() + tile * part, static_cast<float const*>(p.data()) + tile * part,
                   static_cast<float const*>(g.data()) + tile * part, part);
    });
  }
};

/// The first steps against the formulas in double.
bool right(threads_executor& exec) {
  arrays a(5);
  std::vector<double> wanted;
  for (std::size_t i = 0; i < 5; ++i) {
    double const g = a.g[i], p = a.p[i];
    wanted.push_back(p * (1 - 1e-3 * 0.1) - 1e-3 * g / (std::fabs(g) + 1e-8));
  }
  a.adamw(exec);
  a.squared_norm(exec);
  double sum = 0, squares = 0;
  exact_sum_round(exec, view<std::uint64_t const, 1>(a.words.data(), dims<1>(exact_sum_words)),
                  view<double, 1>(&sum, dims<1>(1)));
  exec.synchronize();
  bool same = true;
  for (std::size_t i = 0; i < 5; ++i) {
    same = same && std::fabs(a.p[i] - wanted[i]) < 1e-6;
    squares += static_cast<double>(a.g[i]) * static_cast<double>(a.g[i]);
  }
  return same && std::fabs(sum - squares) <= 1e-15 * squares;
}

struct contestant {
  char const* name;
  void (arrays::*run)(threads_executor&);
  double bytes;  // per element
  std::vector<double> rates;
};

}  // namespace

int main(int argc, char** argv) {
  bool const quick = argc > 1 && std::strcmp(argv[1], "--quick") == 0;
  threads_executor exec(2);
  if (!right(exec)) {
    std::printf("a rule or the sum of squares is wrong\n");
    return 1;
  }
  arrays a(index_t{1} << (quick ? 22 : 26));
  contestant all[] = {{"adamw", &arrays::adamw, 28, {}},
                      {"sgd", &arrays::sgd, 20, {}},
                      {"squared_norm", &arrays::squared_norm, 4, {}},
                      {"triad", &arrays::triad, 12, {}}};
  for (int round = 0; round < 12; ++round)
    for (contestant& c : all) {
      double const start = bench::now(bench::watch::wall);
      (a.*c.run)(exec);
      exec.synchronize();
      double const rate = c.bytes * static_cast<double>(a.n) / (bench::now(bench::watch::wall) - start) * 1e-9;
      if (round > 0) c.rates.push_back(rate);  // the first one brings the pages in
    }
  double const ceiling = bench::median(all[3].rates);
  for (contestant const& c : all) {
    double const rate = bench::median(c.rates), bytes = c.bytes * static_cast<double>(a.n);
    bench::print_measure({.bench = "optim_rules",
                          .name = c.name,
                          .threads = exec.concurrency(),
                          .seconds = bytes * 1e-9 / rate,
                          .work = bytes,
                          .unit = "GB/s",
                          .ceiling = ceiling});
  }
  for (int i = 0; i < 3; ++i)
    std::printf("evidence %s.bandwidth %.3f ratio\n", all[i].name, bench::median(all[i].rates) / ceiling);
}
