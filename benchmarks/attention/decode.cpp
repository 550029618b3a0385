// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// @file
/// Decoding one token over long caches: bytes of K and V per second as a share of the rate at which the machine reads
/// cold memory.
/// Prints evidence attention.decode.<shape>.{t1,t2}.

#include <heddle/attention/decode.hpp>
#include <heddle/backend/cpu/attention_decode.hpp>
#include <heddle/core/bf16.hpp>
#include <heddle/exec/threads_executor.hpp>

#include <support/ceilings.hpp>
#include <support/measure.hpp>
#include <support/timing.hpp>

#include <cstdio>
#include <cstring>
#include <vector>

using namespace heddle;

namespace {

template <class T>
struct decode_case {
  char const* name;
  index_t tokens, heads, kv_heads, columns;
  std::vector<T> q, k, v;
  std::vector<float> out, lse;

  decode_case(char const* n, index_t t, index_t h, index_t kv, index_t c)
      : name(n),
        tokens(t),
        heads(h),
        kv_heads(kv),
        columns(c),
        q(random(h * c, 1)),
        k(random(t * kv * c, 2)),
        v(random(t * kv * c, 3)),
        out(static_cast<std::size_t>(h * c)),
        lse(static_cast<std::size_t>(h)) {}

  double bytes() const { return 2.0 * double(tokens * kv_heads * columns) * sizeof(T); }
  template <class Executor>
  double seconds(Executor& exec, int threads) {
    dims<3> const one(1, heads, columns), all(tokens, kv_heads, columns);
    double const start = bench::now(bench::watch_for(threads));
    attention::decode(exec, view<T const, 3>(q.data(), one), view<T const, 3>(k.data(), all),
                      view<T const, 3>(v.data(), all), view<float, 3>(out.data(), one),
                      view<float, 2>(lse.data(), dims<2>(heads, 1)));
    exec.synchronize();
    return bench::now(bench::watch_for(threads)) - start;
  }

 private:
  static std::vector<T> random(index_t n, int seed) {
    std::vector<float> const from = bench::random_floats(n, seed);
    return std::vector<T>(from.begin(), from.end());
  }
};

template <class T>
void measure(decode_case<T> c, int threads, double ceiling) {
  threads_executor exec(threads);
  std::vector<double> rates;
  c.seconds(exec, threads);
  for (int i = 0; i < 11; ++i) rates.push_back(c.bytes() / c.seconds(exec, threads) * 1e-9);
  double const rate = bench::median(rates);
  bench::print_measure({.bench = "attention_decode",
                        .name = c.name,
                        .threads = threads,
                        .seconds = c.bytes() * 1e-9 / rate,
                        .work = c.bytes(),
                        .unit = "GB/s",
                        .ceiling = ceiling});
  std::printf("evidence attention.decode.%s.t%d %.3f ratio\n", c.name, threads, rate / ceiling);
}

}  // namespace

int main(int argc, char** argv) {
  bool const quick = argc > 1 && std::strcmp(argv[1], "--quick") == 0;
  index_t const tokens = quick ? 4096 : 65536;
  for (int threads = 1; threads <= 2; ++threads) {
    double const ceiling = bench::memory_bandwidth(threads).read;
    measure(decode_case<float>("f32_gqa", tokens, 8, 2, 128), threads, ceiling);
    measure(decode_case<bf16>("bf16_gqa", tokens, 8, 2, 128), threads, ceiling);
    measure(decode_case<float>("f32_mha", tokens / 4, 8, 8, 128), threads, ceiling);
    measure(decode_case<bf16>("bf16_mqa", tokens * 2, 8, 1, 128), threads, ceiling);
  }
}
