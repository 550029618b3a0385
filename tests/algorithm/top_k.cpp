// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/algorithm/top_k.hpp>
#include <heddle/backend/cpu/top_k.hpp>

#include <support/catch.hpp>
#include <support/executors.hpp>
#include "orders.hpp"

#include <limits>

using namespace heddle;
using test::input;
using test::output;

namespace {

template <class T>
struct rows_of {
  std::vector<T> values;
  std::vector<std::int32_t> indices;
};

template <class T, class E>
rows_of<T> best_of(E& exec, std::vector<T> const& x, index_t m, index_t k, top_k_options const& options) {
  index_t const n = m > 0 ? static_cast<index_t>(x.size()) / m : 0;
  rows_of<T> r{std::vector<T>(static_cast<std::size_t>(m * k), test::from_any_bits<T>(~std::uint64_t{0})),
               std::vector<std::int32_t>(static_cast<std::size_t>(m * k), -5)};
  top_k(exec, view<T const, 2>(x.data(), dims<2>(m, n)), view<T, 2>(r.values.data(), dims<2>(m, k)),
        view<std::int32_t, 2>(r.indices.data(), dims<2>(m, k)), options);
  exec.synchronize();
  return r;
}

template <class T, class E>
void expect_best(E& exec, std::vector<T> const& x, index_t m, index_t k, top_k_options const& options) {
  index_t const n = static_cast<index_t>(x.size()) / m;
  rows_of<T> const got = best_of(exec, x, m, k, options);
  sort_options const order{options.want == best::largest ? sort_direction::descending : sort_direction::ascending,
                           options.nan};
  for (index_t r = 0; r < m; ++r) {
    std::vector<T> const row(x.begin() + r * n, x.begin() + (r + 1) * n);
    std::vector<std::int64_t> at = test::stable_order(row, order);
    at.resize(static_cast<std::size_t>(k));
    for (index_t i = 0; i < k; ++i) REQUIRE(got.indices[static_cast<std::size_t>(r * k + i)] == at[i]);
    std::vector<T> const values(got.values.begin() + r * k, got.values.begin() + (r + 1) * k);
    REQUIRE(test::same_bits(values, test::taken(row, at)));
  }
}

inline constexpr top_k_options all_wants[] = {{},
                                              {best::smallest, nan_placement::last},
                                              {best::largest, nan_placement::first},
                                              {best::smallest, nan_placement::first}};

}  // namespace

TEMPLATE_LIST_TEST_CASE("AL-5: ties and edge sizes of top-k", "[algorithm]", test::tile_cases) {
  TestType setup;
  std::vector<float> const x = {4, 9, 9, 2, 9, 4};
  std::vector<std::int32_t> const want = {1, 2, 4, 0, 5, 3};
  for (index_t k = 0; k <= 6; ++k)
    REQUIRE(best_of(setup.exec, x, 1, k, {}).indices == std::vector<std::int32_t>(want.begin(), want.begin() + k));
  REQUIRE_THROWS_AS(best_of(setup.exec, x, 1, 7, {}), contract_error);
  REQUIRE(best_of(setup.exec, x, 0, 0, {}).indices.empty());
}

TEMPLATE_LIST_TEST_CASE("NU-3: the best logits of a vocabulary stay inside it", "[algorithm]", test::tile_cases) {
  TestType setup;
  // Five logits, padded with zeros, which are above them all: what is asked is the part before the padding.
  std::vector<float> const padded = {-3, -2, -4, -2.5f, -3.5f, 0, 0, 0};
  view<float const, 2> const real = slice(view<float const, 2>(padded.data(), dims<2>(1, 8)), 1, 0, 5);
  std::vector<float> values(5, 7.0f);
  std::vector<std::int32_t> at(5, -1);
  for (index_t k = 1; k <= 5; ++k) {
    top_k(setup.exec, real, view<float, 2>(values.data(), dims<2>(1, k)),
          view<std::int32_t, 2>(at.data(), dims<2>(1, k)));
    setup.exec.synchronize();
    for (std::size_t i = 0; i < static_cast<std::size_t>(k); ++i) {
      REQUIRE(at[i] == std::vector<std::int32_t>{1, 3, 0, 4, 2}[i]);
      REQUIRE(values[i] == padded[static_cast<std::size_t>(at[i])]);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("T24: zeros, infinities and NaN in top-k", "[algorithm]", test::tile_cases) {
  TestType setup;
  float const inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> const zeros = {0.0f, -0.0f, 0.0f};
  REQUIRE(best_of(setup.exec, zeros, 1, 3, {}).indices == std::vector<std::int32_t>{0, 1, 2});
  std::vector<float> const x = {nan, -inf, 1, -nan, inf, -1};
  for (top_k_options const& options : all_wants) expect_best(setup.exec, x, 1, 6, options);
  REQUIRE(best_of(setup.exec, x, 1, 5, {}).indices == std::vector<std::int32_t>{4, 2, 5, 1, 0});
}

TEMPLATE_LIST_TEST_CASE("top-k of rows of every size", "[algorithm]", test::tile_cases) {
  TestType setup;
  for (index_t n : test::sampled({1, 31, 32, 63, 64, 65, 127, 512, 4097}))
    for (index_t k : {index_t{1}, index_t{2}, index_t{8}, index_t{16}, index_t{17}, index_t{64}, index_t{65}, n}) {
      if (k > n) continue;
      INFO(n << " " << k);
      index_t const m = n > 1000 ? 2 : 19;
      for (test::keys kind : {test::keys::mixed, test::keys::few, test::keys::equal, test::keys::reversed})
        expect_best(setup.exec, test::make_keys<float>(kind, m * n, 7), m, k, all_wants[(n + k) % 4]);
    }
}

TEST_CASE("top-k of a few long rows, cut into parts", "[algorithm]") {
  index_t const n = 70001;
  for (int threads : test::sampled<int>({1, 2, 3, 7})) {
    threads_executor exec(threads);
    test::watch_scratch(exec);
    for (test::keys kind : {test::keys::mixed, test::keys::few, test::keys::equal, test::keys::reversed})
      for (index_t k : {1, 8, 20, 64, 65}) {
        INFO(threads << " " << static_cast<int>(kind) << " " << k);
        expect_best(exec, test::make_keys<float>(kind, 2 * n, 51), 2, k, all_wants[k % 4]);
      }
    test::check_scratch(exec);
  }
}

TEMPLATE_TEST_CASE("top-k and selection of other types", "[algorithm]", std::int8_t, std::uint32_t, std::int64_t,
                   double, bf16) {
  threads_executor exec(2);
  for (top_k_options const& options : all_wants)
    for (index_t k : {3, 100}) {
      expect_best(exec, test::make_keys<TestType>(test::keys::mixed, 5 * 300, 1), 5, k, options);
      expect_best(exec, test::make_keys<TestType>(test::keys::low_bits, 5 * 300, 2), 5, k, options);
    }
  for (sort_options const& options : test::sampled(test::all_orders)) {
    std::vector<TestType> const x = test::make_keys<TestType>(test::keys::mixed, 70001, 3);
    std::vector<TestType> const sorted = test::taken(x, test::stable_order(x, options));
    for (index_t k : {0, 1, 35000, 70000}) {
      std::vector<TestType> one(1);
      select_kth(exec, input(x), k, output(one), options);
      REQUIRE(test::same_bits(one, {sorted[static_cast<std::size_t>(k)]}));
    }
  }
}

TEMPLATE_LIST_TEST_CASE("the element at one place of the order", "[algorithm]", test::tile_cases) {
  TestType setup;
  for (index_t n : test::sampled({1, 2, 257, 40001}))
    for (test::keys kind : test::sampled(test::all_keys)) {
      std::vector<float> const x = test::make_keys<float>(kind, n, 17), none;
      std::vector<float> const sorted = test::taken(x, test::stable_order(x, test::down));
      for (index_t k : {index_t{0}, n / 3, n - 1}) {
        INFO(n << " " << k);
        std::vector<float> one(1, -1);
        select_kth(setup.exec, input(x), k, output(one), test::down);
        setup.exec.synchronize();
        REQUIRE(test::same_bits(one, {sorted[static_cast<std::size_t>(k)]}));
      }
      std::vector<float> one(1);
      REQUIRE_THROWS_AS(select_kth(setup.exec, input(x), n, output(one)), contract_error);
    }
}

TEST_CASE("top-k of strided views", "[algorithm]") {
  threads_executor exec(2);
  std::vector<float> const x = test::make_keys<float>(test::keys::mixed, 100 * 80, 23);
  view<float const, 2> const columns(x.data(), dims<2>(80, 100), 1, 80);  // row r is a column of memory
  for (index_t k : {4, 70}) {
    std::vector<float> values(static_cast<std::size_t>(160 * k), -1);
    std::vector<std::int64_t> indices(static_cast<std::size_t>(80 * k), -1);
    top_k(exec, columns, view<float, 2>(values.data(), dims<2>(80, k), 2 * k, 2),
          view<std::int64_t, 2>(indices.data(), dims<2>(80, k), 1, 80));
    for (index_t r = 0; r < 80; ++r) {
      std::vector<float> row;
      for (index_t j = 0; j < 100; ++j) row.push_back(x[static_cast<std::size_t>(r + 80 * j)]);
      std::vector<std::int64_t> const at = test::stable_order(row, test::down);
      for (index_t i = 0; i < k; ++i) {
        REQUIRE(indices[static_cast<std::size_t>(r + 80 * i)] == at[static_cast<std::size_t>(i)]);
        REQUIRE(test::comparable_bits(values[static_cast<std::size_t>(2 * (r * k + i))]) ==
                test::comparable_bits(row[static_cast<std::size_t>(at[static_cast<std::size_t>(i)])]));
      }
    }
  }
}
