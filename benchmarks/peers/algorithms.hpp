// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// What the algorithms of other libraries, and loops written out by hand, offer the benchmarks. A library that the
/// build did not find leaves null pointers.

#include <cstddef>
#include <cstdint>

namespace heddle::bench::peers {

using sum_function = float (*)(float const* x, std::size_t n);
using scan_function = void (*)(float const* x, float* y, std::size_t n);

// oneTBB with two threads.
#if defined(HEDDLE_BENCH_TBB)
float tbb_reduce(float const* x, std::size_t n);
void tbb_scan(float const* x, float* y, std::size_t n);
#else
inline constexpr sum_function tbb_reduce = nullptr;
inline constexpr scan_function tbb_scan = nullptr;
#endif

// Thrust's OpenMP system with two threads.
#if defined(HEDDLE_BENCH_THRUST)
float thrust_reduce(float const* x, std::size_t n);
void thrust_scan(float const* x, float* y, std::size_t n);
#else
inline constexpr sum_function thrust_reduce = nullptr;
inline constexpr scan_function thrust_scan = nullptr;
#endif

#if defined(HEDDLE_BENCH_KOKKOS)
/// Kokkos on its default host space.
int kokkos_threads();
float kokkos_reduce(float const* x, std::size_t n);
void kokkos_scan(float const* x, float* y, std::size_t n);
/// a = b + 0.5 c
void kokkos_triad(float* a, float const* b, float const* c, std::size_t n);
/// In place.
void kokkos_sort(float* x, std::size_t n);
/// counts[256]
void kokkos_histogram(std::uint8_t const* keys, std::size_t n, std::int64_t* counts);
#endif

// One thread's part of loops that were compiled with -O3 for this machine.
/// counts[256] of the keys of one part; four tables so that equal neighbours don't wait.
void count_u8(std::uint8_t const* keys, std::size_t n, std::uint32_t* counts);
void count_u32(std::uint32_t const* keys, std::size_t n, std::uint32_t* counts);
/// Counts of keys below `bins`.
void count_keys(std::int32_t const* keys, std::size_t n, std::size_t bins, std::uint32_t* counts);
/// permutation[next[key]++] = first + i, directly; and by lines of 64 bytes that are collected and streamed out.
void place_directly(std::int32_t const* keys, std::size_t first, std::size_t n, std::int64_t* next,
                    std::int32_t* permutation);
/// Pre: at most 512 bins; `next` of `bins` keys; permutation aligned to 64 bytes.
void place_by_lines(std::int32_t const* keys, std::size_t first, std::size_t n, std::size_t bins, std::int64_t* next,
                    std::int32_t* permutation);

}  // namespace heddle::bench::peers
