// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// @file
/// Algorithms beside those of Kokkos on its default host space, with so many threads as that has (one where it was
/// built for Serial alone, as Debian does). 2^24 elements. Prints evidence kokkos.<operation>: Kokkos' time / ours.
///
/// Usage: bench_algorithm_kokkos [--quick]    with it, 2^20 elements and three runs.

#include <heddle/algorithm/histogram.hpp>
#include <heddle/algorithm/reduce.hpp>
#include <heddle/algorithm/scan.hpp>
#include <heddle/algorithm/sort.hpp>
#include <heddle/algorithm/transform.hpp>
#include <heddle/backend/cpu/tile_context.hpp>
#include <heddle/exec/threads_executor.hpp>

#include <peers/algorithms.hpp>
#include <support/contest.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace heddle;

#if defined(HEDDLE_BENCH_KOKKOS)
namespace {

template <class T>
view<T, 1> all(std::vector<T>& v) {
  return view<T, 1>(v.data(), dims<1>(static_cast<index_t>(v.size())));
}

class comparison {
 public:
  comparison(std::size_t n, int runs)
      : n_(n),
        runs_(runs),
        exec_(bench::peers::kokkos_threads()),
        x_(bench::random_floats(n, 7)),
        z_(bench::random_floats(n, 8)),
        ours_(n),
        theirs_(n) {}

  void reduce() {
    float ours = 0, theirs = 0;
    run(
        "reduce", 4, [&] { heddle::reduce(exec_, in(), view<float, 1>(&ours, dims<1>(1)), plus<float>{}); },
        [&] { theirs = bench::peers::kokkos_reduce(x_.data(), n_); });
    double size = 0;
    for (float v : x_) size += std::fabs(v);
    check("reduce", std::fabs(ours - theirs) <= size * 1e-3);
  }
  void scan() {
    run(
        "scan", 8, [&] { inclusive_scan(exec_, in(), all(ours_), plus<float>{}); },
        [&] { bench::peers::kokkos_scan(x_.data(), theirs_.data(), n_); });
    double size = 0, worst = 0;
    for (std::size_t i = 0; i < n_; ++i)
      size += std::fabs(x_[i]), worst = std::fmax(worst, std::fabs(ours_[i] - theirs_[i]) / (1e-3 * size + 1e-3));
    check("scan", worst <= 1);
  }
  void triad() {
    run(
        "triad", 12,
        [&] {
          transform(
              exec_, all(ours_),
              [](auto const& x, auto const& y)
                  HEDDLE_LAMBDA { return fma(y, lanes_of<std::remove_cvref_t<decltype(y)>>::splat(0.5f), x); },
              in(), view<float const, 1>(all(z_)));
        },
        [&] { bench::peers::kokkos_triad(theirs_.data(), x_.data(), z_.data(), n_); });
    // The peer may round the product by itself.
    double worst = 0;
    for (std::size_t i = 0; i < n_; ++i) worst = std::fmax(worst, std::fabs(ours_[i] - theirs_[i]));
    check("triad", worst <= 0x1p-22);
  }
  /// Kokkos sorts in place: the copy before, a hundredth of its time, counts.
  void sort() {
    run(
        "sort", 0, [&] { heddle::sort(exec_, in(), all(ours_)); },
        [&] {
          std::memcpy(theirs_.data(), x_.data(), n_ * sizeof(float));
          bench::peers::kokkos_sort(theirs_.data(), n_);
        });
    check("sort", std::is_sorted(ours_.begin(), ours_.end()) && ours_ == theirs_);
  }
  void histogram() {
    std::vector<std::uint8_t> keys(n_);
    for (std::size_t i = 0; i < n_; ++i) keys[i] = static_cast<std::uint8_t>((x_[i] + 1) * 127);
    std::vector<index_t> ours(256), theirs(256);
    run(
        "histogram", 1, [&] { histogram_by(exec_, view<std::uint8_t const, 1>(all(keys)), all(ours)); },
        [&] { bench::peers::kokkos_histogram(keys.data(), n_, theirs.data()); });
    check("histogram", ours == theirs);
  }

 private:
  view<float const, 1> in() { return all(x_); }
  template <class Ours, class Theirs>
  void run(char const* name, double bytes, Ours const& ours, Theirs const& theirs) {
    bench::measurement const m =
        bench::contest(runs_,
                       {.bench = "algorithm_kokkos",
                        .name = std::string(name) + " of " + bench::power_of_two(static_cast<index_t>(n_)),
                        .threads = exec_.concurrency(),
                        .work = bytes * static_cast<double>(n_),
                        .unit = "GB/s"},
                       ours, {{"Kokkos", theirs}});
    std::printf("evidence kokkos.%s %.3f ratio\n", name, bench::ratio(m));
  }
  static void check(char const* name, bool right) {
    if (!right) std::printf("%s: results differ\n", name), std::exit(1);
  }

  std::size_t n_;
  int runs_;
  threads_executor exec_;
  std::vector<float> x_, z_, ours_, theirs_;
};

}  // namespace

int main(int argc, char** argv) {
  bool const quick = argc > 1 && std::strcmp(argv[1], "--quick") == 0;
  comparison c(std::size_t{1} << (quick ? 20 : 24), quick ? 3 : 9);
  c.reduce();
  c.scan();
  c.triad();
  c.sort();
  c.histogram();
}
#else
int main() {
  for (char const* name : {"reduce", "scan", "triad", "sort", "histogram"})
    std::printf("evidence kokkos.%s absent Kokkos was not found\n", name);
}
#endif
