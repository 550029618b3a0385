// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "products.hpp"

#include <heddle/backend/cpu/grouped_matmul.hpp>
#include <heddle/linalg/grouped_matmul.hpp>
#include <heddle/tile/targets.hpp>

using namespace heddle;

namespace {

using offsets_t = std::vector<index_t>;

view<index_t const, 1> view_of(offsets_t const& o) { return {o.data(), dims<1>(static_cast<index_t>(o.size()))}; }

/// Both products of one set of groups, one behind the other.
template <class T, class Executor>
std::vector<float> both_products(Executor& exec, offsets_t const& offsets, index_t n, index_t k, bool b_transposed) {
  index_t const groups = static_cast<index_t>(offsets.size()) - 1, rows = offsets.back() + 3;
  test::matrices<T> a(1, rows, k), b(groups, k, n, {b_transposed}), d(1, rows, n);
  test::matrices<float> c(1, rows, n), w(groups, k, n);
  a.random(1), b.random(2), d.random(3);
  grouped_matmul(exec, select(a.input(), 0, 0), b.input(), view_of(offsets), select(c.view(), 0, 0));
  grouped_matmul_weight(exec, select(a.input(), 0, 0), select(d.input(), 0, 0), view_of(offsets), w.view());
  exec.synchronize();
  std::vector<float> out = c.values(), more = w.values();
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

template <class T>
void require_same_everywhere(offsets_t const& offsets, index_t n, index_t k) {
  for (bool b_transposed : {false, true}) {
    CAPTURE(offsets, n, k, b_transposed);
    reference_executor oracle;
    std::vector<float> const right = both_products<T>(oracle, offsets, n, k, b_transposed);
    test::for_each_isa([&](isa set) {
      for (int threads : test::sampled<int>({1, 2, 3, 7})) {
        INFO(name(set) << ", " << threads << " threads");
        threads_executor exec(threads);
        exec.scratch().poison(true);
        exec.scratch().guard(true);
        REQUIRE(test::same_bits(both_products<T>(exec, offsets, n, k, b_transposed), right));
        CHECK(exec.scratch().overruns() == 0);
      }
    });
  }
}

}  // namespace

TEST_CASE("grouped products: the same bits for every instruction set and number of threads", "[linalg]") {
  require_same_everywhere<float>({0, 600, 600, 617, 880}, 70, 40);  // several chunks of rows
  require_same_everywhere<float>({0, 2, 3, 30}, 1500, 33);          // wide strips
  require_same_everywhere<float>({0, 5, 47}, 40, 9000);             // several pieces of k
  require_same_everywhere<float>({0, 4099, 4103}, 9, 33);           // and of rows
}

TEST_CASE("grouped products of narrow floats: the same bits everywhere", "[linalg]") {
  require_same_everywhere<bf16>({0, 0, 37, 300}, 130, 61);
}

TEST_CASE("grouped products: each row of b is read for its own group only", "[linalg]") {
  // Matrices of empty groups and rows of the slack hold NaN; results must not.
  threads_executor exec(2);
  offsets_t const offsets{0, 0, 8, 8, 8, 32};
  test::matrices<float> a(1, 40, 17), b(5, 17, 33), c(1, 40, 33);
  for (index_t r = 0; r < 32; ++r)
    for (index_t j = 0; j < 17; ++j) a.view()(0, r, j) = 1;
  for (index_t e : {1, 4})
    for (index_t i = 0; i < 17; ++i)
      for (index_t j = 0; j < 33; ++j) b.view()(e, i, j) = static_cast<float>(e);
  grouped_matmul(exec, select(a.input(), 0, 0), b.input(), view_of(offsets), select(c.view(), 0, 0));
  for (index_t r = 0; r < 40; ++r)
    for (index_t j = 0; j < 33; ++j) REQUIRE(c.view()(0, r, j) == (r < 8 ? 17.0f : r < 32 ? 68.0f : 0.0f));
}

TEST_CASE("grouped products: deep sums with packed rows that do not fit", "[linalg]") {
  // 256 rows of 9000 steps are more than a worker keeps packed.
  offsets_t const offsets{0, 270, 281};
  test::matrices<float> a(1, 281, 9000), b(2, 9000, 40), c(1, 281, 40), want(1, 281, 40);
  a.random(1), b.random(2);
  threads_executor exec(2);
  grouped_matmul(exec, select(a.input(), 0, 0), b.input(), view_of(offsets), select(c.view(), 0, 0));
  for (index_t e = 0; e < 2; ++e)
    matmul(exec,
           slice(select(a.input(), 0, 0), 0, offsets[static_cast<std::size_t>(e)],
                 offsets[static_cast<std::size_t>(e + 1)]),
           select(b.input(), 0, e),
           slice(select(want.view(), 0, 0), 0, offsets[static_cast<std::size_t>(e)],
                 offsets[static_cast<std::size_t>(e + 1)]));
  REQUIRE(test::same_bits(c.values(), want.values()));
}

TEST_CASE("grouped products: wrong offsets are refused where the work runs", "[linalg]") {
  threads_executor exec(2);
  reference_executor plain;
  test::matrices<float> a(1, 10, 3), b(2, 3, 4), c(1, 10, 4), w(2, 3, 4);
  for (offsets_t const& offsets : {offsets_t{0, 11, 11}, offsets_t{0, 5, 4}, offsets_t{1, 2, 3}, offsets_t{0, -1, 3}}) {
    auto const both = [&](auto& e) {
      grouped_matmul(e, select(a.input(), 0, 0), b.input(), view_of(offsets), select(c.view(), 0, 0));
      grouped_matmul_weight(e, select(a.input(), 0, 0), select(c.input(), 0, 0), view_of(offsets), w.view());
      e.synchronize();
    };
    CHECK_THROWS_AS(both(exec), contract_error);
    CHECK_THROWS_AS(both(plain), contract_error);
  }
}
