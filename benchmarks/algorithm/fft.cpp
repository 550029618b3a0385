// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// @file
/// The transform of 2^20 complex floats, out of place, against FFTW 3.3 in single precision: planned by FFTW_PATIENT
/// for one and for two threads, with a minute each, after which it takes the best plan so far; the faster one counts.
/// The ratio is FFTW's time / ours, medians of interleaved runs by the wall clock. Both results are compared with a
/// transform in double first.
///
/// Usage: bench_algorithm_fft [--quick]    with it, FFTW plans by FFTW_MEASURE and sizes beside 2^20 are left out.

#include <heddle/algorithm/fft.hpp>
#include <heddle/backend/cpu/fft.hpp>
#include <heddle/exec/threads_executor.hpp>

#include <support/measure.hpp>
#include <support/timing.hpp>

#include <dlfcn.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

using namespace heddle;

namespace {

using numbers = std::vector<complex<float>>;

/// The library, opened at run time; declarations are those of its manual.
class fftw {
 public:
  fftw() {
    void* const library = dlopen("libfftw3f.so.3", RTLD_NOW | RTLD_GLOBAL);
    void* const threads = dlopen("libfftw3f_threads.so.3", RTLD_NOW | RTLD_GLOBAL);
    if (!library || !threads) return;
    plan_ = reinterpret_cast<plan_function>(dlsym(library, "fftwf_plan_dft_1d"));
    execute_ = reinterpret_cast<void (*)(void*)>(dlsym(library, "fftwf_execute"));
    auto const init = reinterpret_cast<int (*)()>(dlsym(threads, "fftwf_init_threads"));
    threads_ = reinterpret_cast<void (*)(int)>(dlsym(threads, "fftwf_plan_with_nthreads"));
    auto const limit = reinterpret_cast<void (*)(double)>(dlsym(library, "fftwf_set_timelimit"));
    if (limit) limit(60);
    usable_ = plan_ && execute_ && init && threads_ && init() != 0;
  }
  bool usable() const { return usable_; }
  void* plan(int n, complex<float>* in, complex<float>* out, int threads, bool quick) const {
    threads_(threads);
    constexpr int forward = -1;
    constexpr unsigned measure = 0, patient = 1u << 5;
    return plan_(n, in, out, forward, quick ? measure : patient);
  }
  void execute(void* plan) const { execute_(plan); }

 private:
  using plan_function = void* (*)(int, void*, void*, int, unsigned);
  plan_function plan_ = nullptr;
  void (*execute_)(void*) = nullptr;
  void (*threads_)(int) = nullptr;
  bool usable_ = false;
};

double relative_error(numbers const& x, numbers const& got) {
  index_t const n = static_cast<index_t>(x.size());
  std::vector<complex<double>> a(x.size()), b(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) a[i] = {static_cast<double>(x[i].re), static_cast<double>(x[i].im)};
  threads_executor exec(1);
  fft_plan<double> const plan(n);
  fft(exec, plan, view<complex<double>, 1>(a.data(), dims<1>(n)), view<complex<double>, 1>(b.data(), dims<1>(n)));
  double wrong = 0, size = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    double const re = static_cast<double>(got[i].re) - b[i].re, im = static_cast<double>(got[i].im) - b[i].im;
    wrong += re * re + im * im;
    size += b[i].re * b[i].re + b[i].im * b[i].im;
  }
  return std::sqrt(wrong / size);
}

struct times {
  double ours[2], theirs[2];  // with one thread and with two
};

times compare(fftw const& peer, index_t n, int runs, bool quick) {
  numbers x(static_cast<std::size_t>(n)), y(x.size()), z(x.size());
  threads_executor one(1), two(2);
  fft_plan<float> const plan(n);
  void* theirs[2] = {nullptr, nullptr};
  for (int t = 0; t < 2 && peer.usable(); ++t) {
    double const start = bench::now(bench::watch::wall);
    theirs[t] = peer.plan(static_cast<int>(n), x.data(), z.data(), t + 1, quick);
    std::printf("fft %lld: FFTW planned for %.1f s, threads: %d\n", static_cast<long long>(n),
                bench::now(bench::watch::wall) - start, t + 1);
  }
  std::vector<float> const values = bench::random_floats(2 * x.size(), 1);
  std::memcpy(static_cast<void*>(x.data()), values.data(), values.size() * sizeof(float));
  view<complex<float>, 1> const in(x.data(), dims<1>(n)), out(y.data(), dims<1>(n));
  auto const run = [&](int what) {
    if (what == 0) fft(one, plan, in, out);
    if (what == 1) fft(two, plan, in, out);
    if (what >= 2 && theirs[what - 2]) peer.execute(theirs[what - 2]);
  };
  std::vector<double> seconds[4];
  for (int what = 0; what < 4; ++what) run(what);
  std::printf("fft %lld: relative error %.2e, FFTW's %.2e\n", static_cast<long long>(n), relative_error(x, y),
              peer.usable() ? relative_error(x, z) : 0.0);
  for (int r = 0; r < runs; ++r)
    for (int what = 0; what < 4; ++what) {
      double const start = bench::now(bench::watch::wall);
      run(what);
      seconds[what].push_back(bench::now(bench::watch::wall) - start);
    }
  times const t{{bench::median(seconds[0]), bench::median(seconds[1])},
                {bench::median(seconds[2]), bench::median(seconds[3])}};
  double const flops = 5.0 * static_cast<double>(n) * std::log2(static_cast<double>(n));
  for (int i = 0; i < 2; ++i) {
    bench::measurement m{.bench = "algorithm_fft",
                         .name = std::to_string(n) + " complex floats",
                         .threads = i + 1,
                         .seconds = t.ours[i],
                         .work = flops};
    if (peer.usable()) m.peers.emplace_back(quick ? "FFTW (measure)" : "FFTW (patient)", t.theirs[i]);
    bench::print_measure(m);
  }
  return t;
}

}  // namespace

int main(int argc, char** argv) {
  bool const quick = argc > 1 && std::strcmp(argv[1], "--quick") == 0;
  fftw const peer;
  times const t = compare(peer, index_t{1} << 20, quick ? 9 : 31, quick);
  if (!peer.usable())
    std::printf("evidence fft absent FFTW (libfftw3f with its threads) is not on this machine\n");
  else
    std::printf("evidence fft %.3f ratio\n", std::fmin(t.theirs[0], t.theirs[1]) / t.ours[1]);
  if (!quick)
    for (index_t n : {index_t{1} << 10, index_t{1} << 14, index_t{1000000}}) compare(peer, n, 31, n > 1 << 14);
  return 0;
}
