// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/algorithm/search.hpp>

#include <support/catch.hpp>
#include <support/executors.hpp>
#include "orders.hpp"

#include <limits>

using namespace heddle;
using test::input;
using test::output;

namespace {

struct above {
  float limit;
  bool operator()(float x) const { return x > limit; }
};

/// Whether an index can be written to an R.
template <class R>
concept searchable = requires(serial_executor& e, view<float const, 1> in, view<R, 1> result, above f) {
  find_if(e, in, result, f);
};

/// The answers of every search, in one order.
template <class E>
std::vector<std::int64_t> searches(E& exec, std::vector<float> const& x, float limit) {
  std::vector<std::int64_t> r(8, -77);
  auto const to = [&](int i) { return view<std::int64_t, 1>(r.data() + i, dims<1>(1)); };
  above const f{limit};
  find_if(exec, input(x), to(0), f);
  find_last_if(exec, input(x), to(1), f);
  count_if(exec, input(x), to(2), f);
  any_of(exec, input(x), to(3), f);
  all_of(exec, input(x), to(4), f);
  none_of(exec, input(x), to(5), f);
  min_element(exec, input(x), to(6));
  max_element(exec, input(x), to(7));
  exec.synchronize();
  return r;
}
std::vector<std::int64_t> wanted(std::vector<float> const& x, float limit) {
  above const f{limit};
  std::vector<std::int64_t> hits;
  std::int64_t low = -1, high = -1, nan = -1;
  for (std::size_t i = x.size(); i-- > 0;) {
    if (f(x[i])) hits.push_back(static_cast<std::int64_t>(i));
    if (low < 0 || x[i] <= x[static_cast<std::size_t>(low)]) low = static_cast<std::int64_t>(i);
    if (high < 0 || x[i] >= x[static_cast<std::size_t>(high)]) high = static_cast<std::int64_t>(i);
    if (is_nan(x[i])) nan = static_cast<std::int64_t>(i);
  }
  auto const count = static_cast<std::int64_t>(hits.size());
  return {count ? hits.back() : -1,
          count ? hits.front() : -1,
          count,
          count > 0,
          count == static_cast<std::int64_t>(x.size()),
          count == 0,
          nan >= 0 ? nan : low,
          nan >= 0 ? nan : high};
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("searches of every size", "[algorithm]", test::tile_cases) {
  TestType setup;
  for (index_t n : {0, 1, 2, 255, 256, 257, 4095, 4096, 4097, 20000}) {
    std::vector<float> x;
    for (index_t i = 0; i < n; ++i) x.push_back(static_cast<float>(test::random_below(9, i, 1000)));
    for (float limit : {-1.0f, 500.0f, 998.0f, 1000.0f}) {
      INFO(n << " " << limit);
      REQUIRE(searches(setup.exec, x, limit) == wanted(x, limit));
    }
    if (n < 4000) continue;
    x[3000] = x[3500] = std::numeric_limits<float>::quiet_NaN();
    REQUIRE(searches(setup.exec, x, 500) == wanted(x, 500));
    for (float& v : x) v = 4;
    REQUIRE(searches(setup.exec, x, 4) == wanted(x, 4));
  }
  std::vector<float> const zeros = {0.0f, -0.0f, 0.0f};
  REQUIRE(searches(setup.exec, zeros, 1)[6] == 0);
  REQUIRE(searches(setup.exec, zeros, 1)[7] == 0);
}

TEMPLATE_LIST_TEST_CASE("places of many queries in a sorted vector", "[algorithm]", test::tile_cases) {
  TestType setup;
  for (index_t n : {0, 1, 2, 3, 255, 256, 257, 4097})
    for (index_t distinct : {1, 50, 100000}) {
      INFO(n << " " << distinct);
      std::vector<int> sorted, queries;
      for (index_t i = 0; i < n; ++i) sorted.push_back(static_cast<int>(test::random_below(4, i, distinct)));
      std::sort(sorted.begin(), sorted.end());
      for (index_t i = 0; i < 2500; ++i)
        queries.push_back(static_cast<int>(test::random_below(5, i, distinct + 2)) - 1);
      std::vector<std::int32_t> low(queries.size(), -1), high = low;
      lower_bound(setup.exec, input(sorted), input(queries), output(low));
      upper_bound(setup.exec, input(sorted), input(queries), output(high), [](int a, int b) { return a < b; });
      setup.exec.synchronize();
      for (std::size_t q = 0; q < queries.size(); ++q) {
        REQUIRE(low[q] == std::lower_bound(sorted.begin(), sorted.end(), queries[q]) - sorted.begin());
        REQUIRE(high[q] == std::upper_bound(sorted.begin(), sorted.end(), queries[q]) - sorted.begin());
      }
    }
}

TEST_CASE("searches by an order, of strided views, and into results that don't fit", "[algorithm]") {
  serial_executor exec;
  std::vector<int> x = {3, -9, 1, -9, 1, -9, 3, -9}, at(1, -7);
  view<int const, 1> const odd(x.data(), dims<1>(4), 2);
  auto const farther = [](int a, int b) { return b < a; };
  max_element(exec, odd, output(at), farther);
  REQUIRE(at[0] == 1);
  min_element(exec, odd, output(at), farther);
  REQUIRE(at[0] == 0);
  bool found = true;
  any_of(exec, odd, view<bool, 1>(&found, dims<1>(1)), [](int v) { return v < 0; });
  REQUIRE_FALSE(found);
  REQUIRE_THROWS_AS(max_element(exec, odd, output(x)), contract_error);
  std::vector<std::int8_t> narrow(1);
  std::vector<int> many(300), one(1);
  REQUIRE_THROWS_AS(lower_bound(exec, input(many), input(one), output(narrow)), contract_error);
  auto const zero = [](int v) { return v == 0; };
  std::vector<int> const most(127, 0);
  REQUIRE_THROWS_WITH(find_if(exec, input(many), output(narrow), zero), test::has_text("hold the extent"));
  REQUIRE_THROWS_WITH(find_last_if(exec, input(many), output(narrow), zero), test::has_text("hold the extent"));
  REQUIRE_THROWS_WITH(count_if(exec, input(many), output(narrow), zero), test::has_text("hold the extent"));
  REQUIRE_THROWS_WITH(min_element(exec, input(many), output(narrow)), test::has_text("hold the extent"));
  REQUIRE_THROWS_WITH(max_element(exec, input(many), output(narrow)), test::has_text("hold the extent"));
  count_if(exec, input(most), output(narrow), zero);
  REQUIRE(narrow[0] == 127);
  find_last_if(exec, input(most), output(narrow), zero);
  REQUIRE(narrow[0] == 126);
  any_of(exec, input(many), output(narrow), zero);
  REQUIRE(narrow[0] == 1);
  STATIC_REQUIRE(!searchable<std::uint32_t>);
  STATIC_REQUIRE(!searchable<bool>);
  STATIC_REQUIRE(searchable<std::int16_t>);
}
