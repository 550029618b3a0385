// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// @file
/// The 8 best of 512, for 4096 rows, in one thread, beside two loops written out for it: a list kept in order, and a
/// heap. Prints evidence top_k: time of the faster loop / ours.

#include <heddle/algorithm/top_k.hpp>
#include <heddle/backend/cpu/top_k.hpp>
#include <heddle/exec/serial_executor.hpp>

#include <support/measure.hpp>
#include <support/timing.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace heddle;

namespace {

constexpr index_t m = 4096, n = 512, k = 8;

struct result {
  std::vector<float> values = std::vector<float>(m * k);
  std::vector<std::int32_t> indices = std::vector<std::int32_t>(m * k);
};

[[gnu::noinline]] void insert_in_order(float const* x, result& r) {
  for (index_t row = 0; row < m; ++row, x += n) {
    float value[k];
    std::int32_t at[k];
    for (index_t i = 0; i < k; ++i) value[i] = -__builtin_inff(), at[i] = 0;
    for (std::int32_t j = 0; j < n; ++j) {
      if (!(x[j] > value[k - 1])) continue;
      index_t i = k - 1;
      for (; i > 0 && x[j] > value[i - 1]; --i) value[i] = value[i - 1], at[i] = at[i - 1];
      value[i] = x[j], at[i] = j;
    }
    std::memcpy(r.values.data() + row * k, value, sizeof value);
    std::memcpy(r.indices.data() + row * k, at, sizeof at);
  }
}

struct entry {
  float value;
  std::int32_t at;
  bool operator<(entry const& o) const { return value > o.value || (value == o.value && at < o.at); }
};
[[gnu::noinline]] void keep_heap(float const* x, result& r) {
  for (index_t row = 0; row < m; ++row, x += n) {
    entry heap[k];
    for (std::int32_t j = 0; j < k; ++j) heap[j] = {x[j], j};
    std::make_heap(heap, heap + k);
    for (std::int32_t j = k; j < n; ++j) {
      if (!(x[j] > heap[0].value)) continue;
      std::pop_heap(heap, heap + k);
      heap[k - 1] = {x[j], j};
      std::push_heap(heap, heap + k);
    }
    std::sort_heap(heap, heap + k);
    for (index_t i = 0; i < k; ++i) r.values[row * k + i] = heap[i].value, r.indices[row * k + i] = heap[i].at;
  }
}

template <class F>
double seconds(F const& f) {
  double const start = bench::now(bench::watch::thread);
  f();
  return bench::now(bench::watch::thread) - start;
}

}  // namespace

int main(int count, char** arguments) {
  int const runs = count > 1 && std::strcmp(arguments[1], "--quick") == 0 ? 3 : 15;
  std::vector<float> const x = bench::random_floats(m * n, 1);
  serial_executor exec;
  result ours, list, heap;
  auto const own = [&] {
    top_k(exec, view<float const, 2>(x.data(), dims<2>(m, n)), view<float, 2>(ours.values.data(), dims<2>(m, k)),
          view<std::int32_t, 2>(ours.indices.data(), dims<2>(m, k)));
  };
  std::vector<double> t[3];
  for (int r = 0; r < runs; ++r) {
    t[0].push_back(seconds(own));
    t[1].push_back(seconds([&] { insert_in_order(x.data(), list); }));
    t[2].push_back(seconds([&] { keep_heap(x.data(), heap); }));
  }
  if (ours.indices != list.indices || ours.indices != heap.indices || ours.values != list.values) {
    std::fprintf(stderr, "top_k: the loops find other elements\n");
    return 1;
  }
  double const mine = bench::median(t[0]), in_order = bench::median(t[1]), with_heap = bench::median(t[2]);
  bench::print_measure({.bench = "algorithm_top_k",
                        .name = "8 of 512, 4096 rows",
                        .threads = 1,
                        .seconds = mine,
                        .peers = {{"ordered list", in_order}, {"heap", with_heap}}});
  std::printf("evidence top_k %.3f ratio\n", (in_order < with_heap ? in_order : with_heap) / mine);
}
