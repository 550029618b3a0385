// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// @file
/// Sorts of 2^24 random keys beside those of other libraries, all on the cores there are. Where TBB is linked: its
/// parallel_sort, and std::sort and std::stable_sort with std::execution::par. Where Highway is: vqsort, in one thread,
/// as it has no other form. Peers sort in place, and the copy before is not timed. --quick: 2^20 keys; a case by its
/// name: that one alone.
/// Prints evidence sort.<case> and sort.<case>.vqsort: time of the fastest peer / ours.

#include <heddle/algorithm/sort.hpp>
#include <heddle/backend/cpu/tile_context.hpp>
#include <heddle/exec/threads_executor.hpp>

#include <support/measure.hpp>
#include <support/timing.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#if defined(HEDDLE_BENCH_TBB)
#include <tbb/parallel_sort.h>
#include <execution>
#endif
#if defined(HEDDLE_BENCH_VQSORT)
#include <hwy/contrib/sort/vqsort.h>
#endif

using namespace heddle;

namespace {

struct settings {
  index_t n = index_t{1} << 24;
  int runs = 9;
};

struct pair {
  std::uint32_t key, value;
  bool operator<(pair const& o) const { return key < o.key; }
};

template <class T>
T random_key(std::uint64_t& state) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  std::uint64_t const r = (state ^ (state >> 29)) * 0x9E3779B97F4A7C15u;
  if constexpr (std::is_same_v<T, pair>)
    return {static_cast<std::uint32_t>(r >> 32), static_cast<std::uint32_t>(r)};
  else if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(static_cast<std::int64_t>(r)) * T(0x1p-63);
  else
    return static_cast<T>(r >> (64 - 8 * sizeof(T)));
}
template <class T>
std::vector<T> random_keys(index_t n) {
  std::vector<T> x(static_cast<std::size_t>(n));
  std::uint64_t state = 1;
  for (T& v : x) v = random_key<T>(state);
  return x;
}

template <class T>
view<T, 1> all(std::vector<T>& v) {
  return view<T, 1>(v.data(), dims<1>(static_cast<index_t>(v.size())));
}

/// Ours, of keys alone or of pairs in two arrays.
template <class T>
struct own_sort {
  std::vector<T> in, out;
  explicit own_sort(std::vector<T> const& x) : in(x), out(x.size()) {}
  void run(threads_executor& exec) { heddle::sort(exec, all(in), all(out)); }
  std::vector<T> result() const { return out; }
};
template <>
struct own_sort<pair> {
  std::vector<std::uint32_t> keys, values, keys_out, values_out;
  explicit own_sort(std::vector<pair> const& x) : keys_out(x.size()), values_out(x.size()) {
    for (pair const& p : x) keys.push_back(p.key), values.push_back(p.value);
  }
  void run(threads_executor& exec) { sort_pairs(exec, all(keys), all(keys_out), all(values), all(values_out)); }
  std::vector<pair> result() const {
    std::vector<pair> r;
    for (std::size_t i = 0; i < keys_out.size(); ++i) r.push_back({keys_out[i], values_out[i]});
    return r;
  }
};

template <class T>
struct peer {
  char const* name;
  void (*sort)(std::vector<T>&);
  bool stable;
  bool is_vqsort;
};

template <class T>
std::vector<peer<T>> peers() {
  std::vector<peer<T>> list;
#if defined(HEDDLE_BENCH_TBB)
  list.push_back({"tbb::parallel_sort", [](std::vector<T>& x) { tbb::parallel_sort(x.begin(), x.end()); },
                  !std::is_same_v<T, pair>, false});
  list.push_back({"std::sort par", [](std::vector<T>& x) { std::sort(std::execution::par, x.begin(), x.end()); },
                  !std::is_same_v<T, pair>, false});
  list.push_back({"std::stable_sort par",
                  [](std::vector<T>& x) { std::stable_sort(std::execution::par, x.begin(), x.end()); }, true, false});
#endif
#if defined(HEDDLE_BENCH_VQSORT)
  if constexpr (!std::is_same_v<T, pair>)
    list.push_back({"vqsort (one thread)",
                    [](std::vector<T>& x) { hwy::Sorter()(x.data(), x.size(), hwy::SortAscending()); }, true, true});
#endif
  return list;
}

template <class T>
double seconds(peer<T> const& p, std::vector<T> const& x, std::vector<T>& work) {
  work = x;
  double const start = bench::now(bench::watch::wall);
  p.sort(work);
  return bench::now(bench::watch::wall) - start;
}

[[noreturn]] void fail(char const* id, char const* who) {
  std::fprintf(stderr, "%s: %s does not sort\n", id, who);
  std::exit(1);
}

template <class T>
void check(char const* id, std::vector<T> const& x, own_sort<T> const& ours) {
  std::vector<T> want = x;
  std::stable_sort(want.begin(), want.end());
  std::vector<T> const got = ours.result();
  if (std::memcmp(got.data(), want.data(), want.size() * sizeof(T)) != 0) fail(id, "heddle");
  for (peer<T> const& p : peers<T>()) {
    std::vector<T> theirs = x;
    p.sort(theirs);
    if (!std::is_sorted(theirs.begin(), theirs.end())) fail(id, p.name);
  }
}

template <class T>
void measure(char const* id, settings const& s) {
  std::vector<T> const x = random_keys<T>(s.n);
  std::vector<peer<T>> const others = peers<T>();
  std::vector<std::vector<double>> times(others.size());
  std::vector<double> own_times;
  std::vector<T> work;
  threads_executor exec;
  own_sort<T> ours(x);
  ours.run(exec);
  check(id, x, ours);
  for (int r = 0; r < s.runs; ++r) {
    double const start = bench::now(bench::watch::wall);
    ours.run(exec);
    own_times.push_back(bench::now(bench::watch::wall) - start);
    for (std::size_t p = 0; p < others.size(); ++p) times[p].push_back(seconds(others[p], x, work));
  }
  double const own = bench::median(own_times);
  double best = 0, vqsort = 0;
  bench::measurement m{.bench = "algorithm_sort",
                       .name = bench::power_of_two(s.n) + " " + (id + 5),
                       .threads = exec.concurrency(),
                       .seconds = own};
  for (std::size_t p = 0; p < others.size(); ++p) {
    double const t = bench::median(times[p]);
    m.peers.emplace_back(others[p].name, t);
    double& least = others[p].is_vqsort ? vqsort : best;
    if (least == 0 || t < least) least = t;
  }
  bench::print_measure(m);
  if (best > 0)
    std::printf("evidence %s %.3f ratio\n", id, best / own);
  else
    std::printf("evidence %s absent TBB was not found\n", id);
  if (std::is_same_v<T, pair>) return;
  if (vqsort > 0)
    std::printf("evidence %s.vqsort %.3f ratio\n", id, vqsort / own);
  else
    std::printf("evidence %s.vqsort absent Highway's sort was not found\n", id);
}

}  // namespace

int main(int count, char** arguments) {
  settings s;
  char const* only = nullptr;
  for (int i = 1; i < count; ++i)
    if (std::strcmp(arguments[i], "--quick") == 0)
      s.n = index_t{1} << 20, s.runs = 3;
    else
      only = arguments[i];
  auto const wanted = [only](char const* id) { return !only || std::strcmp(only, id) == 0; };
  if (wanted("sort.u32")) measure<std::uint32_t>("sort.u32", s);
  if (wanted("sort.u64")) measure<std::uint64_t>("sort.u64", s);
  if (wanted("sort.f32")) measure<float>("sort.f32", s);
  if (wanted("sort.pairs")) measure<pair>("sort.pairs", s);
}
