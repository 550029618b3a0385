// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "algorithms.hpp"

#include <cstring>
#include <vector>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace heddle::bench::peers {

namespace {
template <class T>
void count(T const* keys, std::size_t n, std::size_t bins, std::uint32_t* counts, std::uint32_t* tables) {
  std::memset(tables, 0, 4 * bins * sizeof *tables);
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (std::size_t j = 0; j < 8; ++j) ++tables[(j % 4) * bins + static_cast<std::size_t>(keys[i + j])];
  for (; i < n; ++i) ++tables[static_cast<std::size_t>(keys[i])];
  for (std::size_t b = 0; b < bins; ++b)
    counts[b] = tables[b] + tables[bins + b] + tables[2 * bins + b] + tables[3 * bins + b];
}
}  // namespace

void count_u8(std::uint8_t const* keys, std::size_t n, std::uint32_t* counts) {
  std::uint32_t tables[4 * 256];
  count(keys, n, 256, counts, tables);
}
void count_u32(std::uint32_t const* keys, std::size_t n, std::uint32_t* counts) {
  std::uint32_t tables[4 * 256];
  count(keys, n, 256, counts, tables);
}
void count_keys(std::int32_t const* keys, std::size_t n, std::size_t bins, std::uint32_t* counts) {
  std::vector<std::uint32_t> tables(4 * bins);
  count(keys, n, bins, counts, tables.data());
}

void place_directly(std::int32_t const* keys, std::size_t first, std::size_t n, std::int64_t* next,
                    std::int32_t* permutation) {
  for (std::size_t i = first; i < first + n; ++i) permutation[next[keys[i]]++] = static_cast<std::int32_t>(i);
}

void place_by_lines(std::int32_t const* keys, std::size_t first, std::size_t n, std::size_t bins, std::int64_t* next,
                    std::int32_t* permutation) {
  alignas(64) static thread_local std::int32_t lines[512][16];
  std::vector<std::int64_t> begin(next, next + bins);
  for (std::size_t i = first; i < first + n; ++i) {
    std::int32_t const key = keys[i];
    std::int64_t const p = next[key]++;
    lines[key][p & 15] = static_cast<std::int32_t>(i);
    if ((p & 15) != 15) continue;
    std::int32_t* const to = permutation + (p - 15);
    if (p - 15 < begin[key]) {  // the line began before this part
      for (std::int64_t q = begin[key]; q <= p; ++q) permutation[q] = lines[key][q & 15];
      continue;
    }
#if defined(__AVX512F__)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), _mm512_load_si512(lines[key]));
#elif defined(__SSE2__)
    for (int j = 0; j < 16; j += 4)
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + j),
                       _mm_load_si128(reinterpret_cast<__m128i const*>(lines[key] + j)));
#else
    std::memcpy(to, lines[key], 64);
#endif
  }
  for (std::size_t k = 0; k < bins; ++k) {
    std::int64_t const line = next[k] & ~std::int64_t{15};
    for (std::int64_t q = line < begin[k] ? begin[k] : line; q < next[k]; ++q) permutation[q] = lines[k][q & 15];
  }
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace heddle::bench::peers
