// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// @file
/// Products of 1 to 16 rows with weights that no cache holds: bytes of weights per second over what the machine allows,
/// the lesser of its cold read bandwidth and of the rate at which that many rows of products can be computed. Weights
/// are 4096 x 4096, [k, n], used in turns so that 1 GiB goes by between two uses of one; those of bf16 and bytes are
/// packed once beforehand, as weights that stay are, and measured as they are stored too.
///
/// Usage: bench_linalg_decode [--quick]

#include <heddle/backend/cpu/matmul.hpp>
#include <heddle/exec/threads_executor.hpp>
#include <heddle/linalg/matmul.hpp>
#include <heddle/linalg/packed_operand.hpp>

#include <support/ceilings.hpp>
#include <support/measure.hpp>
#include <support/timing.hpp>

#include <cstdio>
#include <cstring>

using namespace heddle;

namespace {

constexpr index_t side = 4096;
bool quick = false;

template <class T>
struct types;
template <>
struct types<float> {
  using out = float;
  static constexpr char const* name = "f32";
};
template <>
struct types<bf16> {
  using out = float;
  static constexpr char const* name = "bf16";
};
template <>
struct types<std::int8_t> {
  using out = std::int32_t;
  static constexpr char const* name = "i8";
};

/// Operations per second of a product that fits the caches: what can be computed at most.
template <class T>
double compute_peak(threads_executor& exec) {
  index_t const n = 1024;
  std::vector<T> a(static_cast<std::size_t>(n * n), T(1)), b = a;
  std::vector<typename types<T>::out> c(a.size());
  std::vector<double> t;
  for (int i = 0; i < 9; ++i) {
    double const start = bench::now(bench::watch_for(exec.concurrency()));
    matmul(exec, view<T const, 2>(a.data(), dims<2>(n, n)), view<T const, 2>(b.data(), dims<2>(n, n)),
           view<typename types<T>::out, 2>(c.data(), dims<2>(n, n)));
    t.push_back(bench::now(bench::watch_for(exec.concurrency())) - start);
  }
  return 2.0 * n * n * n / *std::min_element(t.begin(), t.end());
}

struct memory_ceiling {
  threads_executor& exec;
  std::vector<float> from, sink;

  explicit memory_ceiling(threads_executor& e)
      : exec(e), from(std::size_t{1} << 27, 1.0f), sink(static_cast<std::size_t>(e.concurrency()) * 64) {}
  /// Bytes per second of reading 64 MiB that have been out of the caches for long.
  double operator()(int turn) {
    index_t const n = index_t{1} << 24, part = n / exec.concurrency(), at = turn % 8 * n;
    double const start = bench::now(bench::watch_for(exec.concurrency()));
    exec.for_each_tile(exec.concurrency(), [&](index_t i, int worker) {
      dispatch_isa(bench::read_body{}, static_cast<float const*>(from.data()) + at + i * part, part,
                   sink.data() + 64 * worker);
    });
    return 4.0 * static_cast<double>(n) / (bench::now(bench::watch_for(exec.concurrency())) - start);
  }
};

/// Weights as they are stored, or packed once as those that are used again are.
template <class T, bool Packed>
struct weight_set {
  std::size_t bytes = static_cast<std::size_t>(side * side) * sizeof(T), count;
  std::vector<std::vector<T>> stored;
  std::vector<packed_operand<T>> packed;

  explicit weight_set(threads_executor& exec) : count((quick ? std::size_t{1} << 28 : std::size_t{1} << 30) / bytes) {
    for (std::size_t i = 0; i < count; ++i) {
      stored.emplace_back(bytes / sizeof(T), T(1));
      if constexpr (Packed) {
        index_t const size = packed_operand_bytes<T>(exec, side, side);
        std::vector<T> memory(static_cast<std::size_t>(size + 64) / sizeof(T));
        auto* const at = reinterpret_cast<unsigned char*>((reinterpret_cast<std::uintptr_t>(memory.data()) + 63) &
                                                          ~std::uintptr_t{63});
        packed.push_back(pack(exec, of(stored[i]), view<unsigned char, 1>(at, dims<1>(size))));
        stored[i].swap(memory);
      }
    }
  }
  static view<T const, 2> of(std::vector<T> const& x) { return {x.data(), dims<2>(side, side)}; }
  auto operator[](std::size_t i) const {
    if constexpr (Packed)
      return packed[i % count];
    else
      return of(stored[i % count]);
  }
};

template <class T, bool Packed>
void measure(threads_executor& exec, memory_ceiling& read) {
  using out = typename types<T>::out;
  weight_set<T, Packed> const weights(exec);
  double const peak = compute_peak<T>(exec);
  char const* const kind = Packed || sizeof(T) == 4 ? "decode" : "decode_unpacked";
  int turn = 0;
  for (index_t const m : {1, 4, 8, 16}) {
    std::vector<T> a(static_cast<std::size_t>(m * side), T(1));
    std::vector<out> c(static_cast<std::size_t>(m * side));
    std::vector<double> rates, reads;
    for (std::size_t i = 0; i < (quick ? 9 : 32); ++i, ++turn) {
      auto const b = weights[static_cast<std::size_t>(turn)];
      double const start = bench::now(bench::watch_for(exec.concurrency()));
      matmul(exec, view<T const, 2>(a.data(), dims<2>(m, side)), b, view<out, 2>(c.data(), dims<2>(m, side)));
      double const seconds = bench::now(bench::watch_for(exec.concurrency())) - start;
      rates.push_back(static_cast<double>(weights.bytes) / seconds);
      reads.push_back(read(turn));
    }
    for (out const x : c)
      if (x != out(side)) return void(std::printf("%s: wrong\n", types<T>::name));
    double const bandwidth = bench::median(reads);
    double const computed = peak / (2.0 * static_cast<double>(m)) * static_cast<double>(sizeof(T));
    double const rate = bench::median(rates), bound = std::min(bandwidth, computed);
    double const bytes = static_cast<double>(weights.bytes);
    bench::print_measure({.bench = "linalg_decode",
                          .name = types<T>::name + (std::string(Packed ? ", packed" : ", stored") + ", rows: ") +
                                  std::to_string(m),
                          .threads = exec.concurrency(),
                          .seconds = bytes / rate,
                          .work = bytes,
                          .unit = "GB/s",
                          .ceiling = bound * 1e-9});
    std::printf("evidence matmul.%s.%s.m%d.t%d %.3f ratio\n", kind, types<T>::name, static_cast<int>(m),
                exec.concurrency(), rate / bound);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int count, char** arguments) {
  quick = count > 1 && std::strcmp(arguments[1], "--quick") == 0;
  for (int threads = 1; threads <= 2; ++threads) {
    threads_executor exec(threads);
    memory_ceiling read(exec);
    measure<float, false>(exec, read);
    measure<bf16, true>(exec, read);
    measure<std::int8_t, true>(exec, read);
    measure<bf16, false>(exec, read);
    measure<std::int8_t, false>(exec, read);
  }
}
