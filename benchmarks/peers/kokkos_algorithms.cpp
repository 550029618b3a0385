// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "algorithms.hpp"

#include <Kokkos_Core.hpp>
#include <Kokkos_ScatterView.hpp>
#include <Kokkos_Sort.hpp>

namespace heddle::bench::peers {

namespace {
using space = Kokkos::DefaultHostExecutionSpace;
using range = Kokkos::RangePolicy<space>;
template <class T>
using array = Kokkos::View<T*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

void start() {
  static Kokkos::ScopeGuard const scope;
  (void)scope;
}
}  // namespace

int kokkos_threads() {
  start();
  return space().concurrency();
}

float kokkos_reduce(float const* x, std::size_t n) {
  start();
  float sum = 0;
  Kokkos::parallel_reduce(
      range(0, n), [=](std::size_t i, float& s) { s += x[i]; }, sum);
  return sum;
}

void kokkos_scan(float const* x, float* y, std::size_t n) {
  start();
  Kokkos::parallel_scan(range(0, n), [=](std::size_t i, float& before, bool last) {
    before += x[i];
    if (last) y[i] = before;
  });
}

void kokkos_triad(float* a, float const* b, float const* c, std::size_t n) {
  start();
  Kokkos::parallel_for(range(0, n), [=](std::size_t i) { a[i] = b[i] + 0.5f * c[i]; });
}

void kokkos_sort(float* x, std::size_t n) {
  start();
  Kokkos::sort(array<float>(x, n));
}

void kokkos_histogram(std::uint8_t const* keys, std::size_t n, std::int64_t* counts) {
  start();
  array<std::int64_t> out(counts, 256);
  Kokkos::deep_copy(out, 0);
  auto const scatter = Kokkos::Experimental::create_scatter_view(out);
  Kokkos::parallel_for(range(0, n), [=](std::size_t i) { scatter.access()(keys[i]) += 1; });
  Kokkos::Experimental::contribute(out, scatter);
}

}  // namespace heddle::bench::peers
