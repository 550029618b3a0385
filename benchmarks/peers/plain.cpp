// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// @file
/// The program that bench_model_plain_o2 starts twice, built with -O2 and with -O3 -march=native. For each byte that it
/// reads it runs that case once on all cores and answers with the seconds and a hash of the result's bits.

#include <heddle/heddle.hpp>

#include <support/plain.hpp>
#include <support/timing.hpp>

#include <unistd.h>

using namespace heddle;

namespace {

template <class T>
std::uint64_t hash(std::vector<T> const& x) {
  std::uint64_t h = 14695981039346656037u;
  for (T const& v : x) {
    std::uint32_t bits;
    std::memcpy(&bits, &v, sizeof bits);
    h = (h ^ bits) * 1099511628211u;
  }
  return h;
}

struct work {
  static constexpr index_t side = 768, tokens = 1024, heads = 8, columns = 64, sums = 1 << 24, keys = 1 << 22;
  std::vector<float> a = bench::random_floats(side * side, 1), b = bench::random_floats(side * side, 2), c = a;
  std::vector<float> q = bench::random_floats(tokens * heads * columns, 3), k = q, v = q, out = q;
  std::vector<float> lse = bench::random_floats(tokens * heads, 4);
  std::vector<float> x = bench::random_floats(sums, 5), sum = {0};
  std::vector<float> sorted = std::vector<float>(keys);

  std::uint64_t run(int what, threads_executor& exec, double& seconds) {
    dims<2> const square(side, side);
    dims<3> const rows(tokens, heads, columns);
    double const start = bench::now(bench::watch::wall);
    if (what == 0)
      matmul(exec, view<float const, 2>(a.data(), square), view<float const, 2>(b.data(), square),
             view<float, 2>(c.data(), square));
    if (what == 1)
      attention::forward(exec, view<float const, 3>(q.data(), rows), view<float const, 3>(k.data(), rows),
                         view<float const, 3>(v.data(), rows), view<float, 3>(out.data(), rows),
                         view<float, 2>(lse.data(), dims<2>(heads, tokens)));
    if (what == 2)
      reduce(exec, view<float const, 1>(x.data(), dims<1>(sums)), view<float, 1>(sum.data(), dims<1>(1)),
             plus<float>{});
    if (what == 3)
      sort(exec, view<float const, 1>(x.data(), dims<1>(keys)), view<float, 1>(sorted.data(), dims<1>(keys)));
    exec.synchronize();
    seconds = bench::now(bench::watch::wall) - start;
    return hash(what == 0 ? c : what == 1 ? out : what == 2 ? sum : sorted);
  }
};

}  // namespace

int main() {
  threads_executor exec;
  work w;
  char what;
  while (::read(0, &what, 1) == 1) {
    bench::plain_answer answer{};
    answer.hash = w.run(what, exec, answer.seconds);
    if (::write(1, &answer, sizeof answer) != sizeof answer) return 1;
  }
}
