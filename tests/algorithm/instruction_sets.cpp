// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// The vector paths of the algorithms give the bits of the plain ones with every instruction set.

#include <heddle/algorithm/copy.hpp>
#include <heddle/algorithm/reduce.hpp>
#include <heddle/algorithm/scan.hpp>
#include <heddle/algorithm/segmented.hpp>
#include <heddle/backend/cpu/tile_context.hpp>
#include <heddle/backend/reference/tile_context.hpp>
#include <heddle/core/bf16.hpp>
#include <heddle/exec/reference_executor.hpp>
#include <heddle/exec/serial_executor.hpp>
#include <heddle/exec/threads_executor.hpp>

#include <support/catch.hpp>
#include <support/numbers.hpp>

#include <cstring>
#include <vector>

using namespace heddle;

namespace {

template <class T>
view<T const, 1> input(std::vector<T> const& v) {
  return view<T const, 1>(v.data(), dims<1>(static_cast<index_t>(v.size())));
}
template <class T>
view<T, 1> output(std::vector<T>& v) {
  return view<T, 1>(v.data(), dims<1>(static_cast<index_t>(v.size())));
}
template <class T>
bool same_bytes(std::vector<T> const& a, std::vector<T> const& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

template <class E, class T, class M>
std::vector<typename M::value_type> scanned(E& exec, std::vector<T> const& x, M const& m, bool exclusive) {
  std::vector<typename M::value_type> y(x.size());
  std::memset(static_cast<void*>(y.data()), 0xFF, y.size() * sizeof(y[0]));
  if (exclusive)
    exclusive_scan(exec, input(x), output(y), m, m.combine(m.identity(), static_cast<typename M::value_type>(3)));
  else
    inclusive_scan(exec, input(x), output(y), m);
  return y;
}

template <class T, class M>
void expect_scans(std::vector<T> const& x, M const& m) {
  reference_executor oracle;
  serial_executor vectors;
  for (bool exclusive : {false, true})
    REQUIRE(same_bytes(scanned(vectors, x, m, exclusive), scanned(oracle, x, m, exclusive)));
}

}  // namespace

TEST_CASE("scans in vectors have the bits of scans of numbers", "[algorithm]") {
  test::for_each_isa([](isa) {
    for (index_t n : {1, 15, 16, 17, 4095, 4096, 4097, 8193, 20000}) {
      INFO(name(best_isa()) << ", " << n);
      std::vector<float> x = test::random_floats(n, 31, 1);
      std::vector<double> wide(x.begin(), x.end());
      std::vector<bf16> half(x.begin(), x.end());
      std::vector<int> whole;
      for (index_t i = 0; i < n; ++i) whole.push_back(static_cast<int>(i * 7919 % 1000003));
      expect_scans(x, plus<float>{});
      expect_scans(x, maximum<float>{});
      expect_scans(wide, plus<double>{});
      expect_scans(half, plus<float>{});
      expect_scans(whole, plus<int>{});
      expect_scans(whole, minimum<int>{});
      x.front() = -0.0f;
      for (index_t i = 1; i < n && i < 40; ++i) x[i] = -0.0f;
      expect_scans(x, plus<float>{});
      std::vector<float> const odd = test::mixed_numbers<float>(static_cast<std::size_t>(n), 5);
      expect_scans(odd, plus<float>{});
      expect_scans(odd, minimum<float>{});
    }
  });
}

TEST_CASE("outputs past the caches hold the same, whatever their alignment", "[algorithm]") {
  index_t const n = (detail::streamed_bytes / 4) + 4099;
  std::vector<float> x(static_cast<std::size_t>(n)), y(x.size() + 64);
  for (index_t i = 0; i < n; ++i) x[i] = static_cast<float>(i % 8191);
  test::for_each_isa([&](isa) {
    for (index_t offset : {0, 1, 15}) {
      std::memset(y.data(), 0xFF, y.size() * sizeof(float));
      serial_executor exec;
      copy(exec, input(x), view<float, 1>(y.data() + offset, dims<1>(n)));
      INFO(name(best_isa()) << ", " << offset);
      REQUIRE(std::memcmp(y.data() + offset, x.data(), x.size() * sizeof(float)) == 0);
      REQUIRE(y[offset + n] != y[offset + n]);
      if (offset > 0) REQUIRE(y[offset - 1] != y[offset - 1]);
    }
  });
}

TEST_CASE("any number of workers gives the same bytes", "[algorithm]") {
  index_t const n = 1000003;  // several windows of a scan
  std::vector<float> const x = test::random_floats(n, 37, 1);
  std::vector<index_t> const offsets = {0, 7, 7, 300001, 300002, n};
  reference_executor oracle;
  std::vector<float> const want = scanned(oracle, x, plus<float>{}, false),
                           shifted = scanned(oracle, x, plus<float>{}, true);
  std::vector<float> sum(1), sums(5), want_sum(1), want_sums(5);
  reduce(oracle, input(x), output(want_sum), plus<float>{});
  segmented_reduce(oracle, input(x), input(offsets), output(want_sums), plus<float>{});
  for (int threads : {1, 2, 3, 7}) {
    threads_executor exec(threads);
    INFO(threads);
    REQUIRE(same_bytes(scanned(exec, x, plus<float>{}, false), want));
    REQUIRE(same_bytes(scanned(exec, x, plus<float>{}, true), shifted));
    reduce(exec, input(x), output(sum), plus<float>{});
    segmented_reduce(exec, input(x), input(offsets), output(sums), plus<float>{});
    REQUIRE(same_bytes(sum, want_sum));
    REQUIRE(same_bytes(sums, want_sums));
  }
}
