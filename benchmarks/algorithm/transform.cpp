// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// @file
/// a = b + s c over three arrays of 128 MiB with two threads, against a loop written by hand for AVX-512, with and
/// without stores past the caches. Prints evidence stream.triad: the time of the faster loop / ours.

#include <heddle/algorithm/transform.hpp>
#include <heddle/backend/cpu/tile_context.hpp>
#include <heddle/exec/threads_executor.hpp>

#include <support/contest.hpp>

#include <immintrin.h>

#include <cstdio>
#include <cstring>
#include <new>

using namespace heddle;

namespace {

#define TARGET __attribute__((target("avx512f"), noinline))

TARGET void triad(float* a, float const* b, float const* c, index_t n) {
  __m512 const s = _mm512_set1_ps(0.5f);
  for (index_t i = 0; i < n; i += 16)
    _mm512_store_ps(a + i, _mm512_fmadd_ps(s, _mm512_load_ps(c + i), _mm512_load_ps(b + i)));
}
TARGET void triad_past_caches(float* a, float const* b, float const* c, index_t n) {
  __m512 const s = _mm512_set1_ps(0.5f);
  for (index_t i = 0; i < n; i += 16)
    _mm512_stream_ps(a + i, _mm512_fmadd_ps(s, _mm512_load_ps(c + i), _mm512_load_ps(b + i)));
  _mm_sfence();
}

struct array {
  float* data;
  explicit array(index_t n) : data(new (std::align_val_t(4096)) float[static_cast<std::size_t>(n)]) {}
  array(array const&) = delete;
  array& operator=(array const&) = delete;
  ~array() { ::operator delete[](data, std::align_val_t(4096)); }
};

}  // namespace

int main(int argc, char** argv) {
  if (machine_isa() < isa::avx512) return std::puts("evidence stream.triad absent this machine has no AVX-512"), 0;
  bool const quick = argc > 1 && std::strcmp(argv[1], "--quick") == 0;
  index_t const n = quick ? index_t{1} << 22 : index_t{1} << 25, half = n / 2;
  array a(n), b(n), c(n);
  threads_executor exec(2);
  for (index_t i = 0; i < n; ++i) a.data[i] = -1, b.data[i] = static_cast<float>(i % 1000), c.data[i] = 2;
  auto const ours = [&] {
    transform(
        exec, view<float, 1>(a.data, dims<1>(n)),
        [](auto const& x, auto const& y)
            HEDDLE_LAMBDA { return fma(y, lanes_of<std::remove_cvref_t<decltype(y)>>::splat(0.5f), x); },
        view<float const, 1>(b.data, dims<1>(n)), view<float const, 1>(c.data, dims<1>(n)));
  };
  auto const loop = [&] {
    exec.for_each_tile(2,
                       [&](index_t t, int) { triad(a.data + t * half, b.data + t * half, c.data + t * half, half); });
  };
  auto const streaming = [&] {
    exec.for_each_tile(
        2, [&](index_t t, int) { triad_past_caches(a.data + t * half, b.data + t * half, c.data + t * half, half); });
  };
  ours();
  for (index_t i = 0; i < n; ++i)
    if (a.data[i] != b.data[i] + 1) return std::puts("our triad is wrong"), 1;
  bench::measurement const m = bench::contest(quick ? 3 : 15,
                                              {.bench = "algorithm_transform",
                                               .name = "triad of " + bench::power_of_two(n) + " floats",
                                               .threads = 2,
                                               .work = 12.0 * double(n),
                                               .unit = "GB/s"},
                                              ours, {{"loop", loop}, {"loop past the caches", streaming}});
  std::printf("evidence stream.triad %.3f ratio\n", bench::ratio(m));
}
