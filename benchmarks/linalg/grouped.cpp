// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// @file
/// Grouped products against one dense product of equal flops, in fp32, on all cores: 64 groups of 128 rows each, and
/// as many rows in groups whose sizes follow Zipf's law; the same for the gradient of the matrices. Then batches of
/// small products. Ratios are medians of interleaved runs.
///
/// Usage: bench_linalg_grouped [--quick]    with --quick a sixteenth of the groups and three runs

#include <heddle/backend/cpu/grouped_matmul.hpp>
#include <heddle/backend/cpu/matmul.hpp>
#include <heddle/exec/threads_executor.hpp>
#include <heddle/linalg/grouped_matmul.hpp>

#include <support/measure.hpp>
#include <support/timing.hpp>

#include <cmath>
#include <cstdio>
#include <cstring>

using namespace heddle;

namespace {

constexpr index_t width = 1024;

std::size_t count(index_t n) { return static_cast<std::size_t>(n); }

struct problem {
  std::vector<index_t> offsets;
  std::vector<float> a, b, c, d, w;

  problem(index_t groups, index_t rows)
      : a(bench::random_floats(count(rows * width), 1)),
        b(bench::random_floats(count(groups * width * width), 2)),
        c(count(rows * width)),
        d(bench::random_floats(count(rows * width), 3)),
        w(count(groups * width * width)) {}
  index_t rows() const { return offsets.back(); }
  index_t groups() const { return static_cast<index_t>(offsets.size()) - 1; }
  view<float const, 2> in(std::vector<float> const& x) const { return {x.data(), dims<2>(rows(), width)}; }
  view<index_t const, 1> cuts() const { return {offsets.data(), dims<1>(groups() + 1)}; }

  void forward(threads_executor& exec) {
    grouped_matmul(exec, in(a), view<float const, 3>(b.data(), dims<3>(groups(), width, width)), cuts(),
                   view<float, 2>(c.data(), dims<2>(rows(), width)));
  }
  void weight(threads_executor& exec) {
    grouped_matmul_weight(exec, in(a), in(d), cuts(), view<float, 3>(w.data(), dims<3>(groups(), width, width)));
  }
  void dense(threads_executor& exec) {
    matmul(exec, in(a), view<float const, 2>(b.data(), dims<2>(width, width)),
           view<float, 2>(c.data(), dims<2>(rows(), width)));
  }
  void dense_weight(threads_executor& exec) {
    matmul(exec, transpose(in(a)), in(d), view<float, 2>(w.data(), dims<2>(width, width)));
  }
};

std::vector<index_t> equal(index_t groups, index_t rows) {
  std::vector<index_t> out;
  for (index_t e = 0; e <= groups; ++e) out.push_back(rows * e / groups);
  return out;
}
/// Group e has a share of 1 / (e + 1), dealt out so that large groups do not stand together.
std::vector<index_t> zipf(index_t groups, index_t rows) {
  double all = 0, so_far = 0;
  for (index_t e = 0; e < groups; ++e) all += 1.0 / static_cast<double>(e + 1);
  std::vector<index_t> out{0};
  for (index_t e = 0; e < groups; ++e) {
    so_far += 1.0 / static_cast<double>(e * 37 % groups + 1) / all;
    out.push_back(e + 1 == groups ? rows : static_cast<index_t>(std::llround(so_far * static_cast<double>(rows))));
  }
  return out;
}

template <class F, class G>
void compare(char const* id, int runs, double flops, F const& ours, G const& other) {
  std::vector<double> us, them;
  ours(), other();
  for (int i = 0; i < runs; ++i) {
    double start = bench::now(bench::watch::wall);
    ours();
    double const middle = bench::now(bench::watch::wall);
    us.push_back(middle - start);
    start = middle;
    other();
    them.push_back(bench::now(bench::watch::wall) - start);
  }
  double const t = bench::median(us), o = bench::median(them);
  bench::print_measure({.bench = "linalg_grouped",
                        .name = id,
                        .threads = usable_cores(),
                        .seconds = t,
                        .peers = {{"one dense product", o}},
                        .work = flops});
  std::printf("evidence matmul.%s %.3f ratio\n", id, o / t);
  std::fflush(stdout);
}

/// Whether sampled elements of the grouped products are those of plain loops.
bool right(problem const& p) {
  for (index_t i = 0; i < 40; ++i) {
    index_t const row = i * 977 % p.rows(), col = i * 389 % width;
    index_t e = 0;
    while (p.offsets[count(e + 1)] <= row) ++e;
    float sum = 0, other = 0;
    for (index_t k = 0; k < width; ++k)
      sum = fma(p.a[count(row * width + k)], p.b[count((e * width + k) * width + col)], sum);
    for (index_t r = p.offsets[count(e)]; r < p.offsets[count(e + 1)]; ++r)
      other = fma(p.a[count(r * width + row % width)], p.d[count(r * width + col)], other);
    if (p.c[count(row * width + col)] != sum || p.w[count((e * width + row % width) * width + col)] != other)
      return false;
  }
  return true;
}

void batch(threads_executor& exec, index_t products, index_t m, index_t n, index_t k, int runs) {
  std::vector<float> const a = bench::random_floats(count(products * m * k), 1),
                           b = bench::random_floats(count(products * k * n), 2);
  std::vector<float> c(count(products * m * n));
  std::vector<double> t;
  for (int i = 0; i <= runs; ++i) {
    double const start = bench::now(bench::watch::wall);
    matmul(exec, view<float const, 3>(a.data(), dims<3>(products, m, k)),
           view<float const, 3>(b.data(), dims<3>(products, k, n)), view<float, 3>(c.data(), dims<3>(products, m, n)));
    if (i > 0) t.push_back(bench::now(bench::watch::wall) - start);
  }
  double const s = bench::median(t), size = static_cast<double>(products);
  bench::print_measure({.bench = "linalg_grouped",
                        .name = "batch of " + std::to_string(products) + ", " + std::to_string(m) + " x " +
                                std::to_string(n) + " x " + std::to_string(k),
                        .threads = usable_cores(),
                        .seconds = s,
                        .work = 2.0 * size * static_cast<double>(m * n * k)});
}

}  // namespace

int main(int argc, char** argv) {
  bool const quick = argc > 1 && std::strcmp(argv[1], "--quick") == 0;
  index_t const groups = quick ? 4 : 64, rows = groups * 128;
  int const runs = quick ? 3 : 9;
  double const flops = 2.0 * static_cast<double>(rows) * width * width;
  threads_executor exec;
  problem p(groups, rows);
  for (bool skewed : {false, true}) {
    p.offsets = skewed ? zipf(groups, rows) : equal(groups, rows);
    p.forward(exec), p.weight(exec);
    if (!right(p)) {
      std::printf("evidence matmul.grouped%s absent wrong_results\n", skewed ? "_skewed" : "");
      return 1;
    }
    compare(
        skewed ? "grouped_skewed" : "grouped", runs, flops, [&] { p.forward(exec); }, [&] { p.dense(exec); });
    compare(
        skewed ? "grouped_weight_skewed" : "grouped_weight", runs, flops, [&] { p.weight(exec); },
        [&] { p.dense_weight(exec); });
  }
  batch(exec, quick ? 4097 : 65537, 16, 16, 8, runs);
  batch(exec, quick ? 512 : 8192, 32, 32, 32, runs);
  batch(exec, quick ? 32 : 512, 128, 128, 64, runs);
}
