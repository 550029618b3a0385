// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/algorithm/histogram.hpp>

#include <support/catch.hpp>
#include <support/executors.hpp>
#include <support/numbers.hpp>

#include <limits>
#include <tuple>
#include <vector>

using namespace heddle;

namespace {

using cases = decltype(std::tuple_cat(test::tile_cases{}, std::tuple<test::threads_case<7>>{}));

template <class T>
view<T const, 1> input(std::vector<T> const& v) {
  return view<T const, 1>(v.data(), dims<1>(static_cast<index_t>(v.size())));
}
template <class T>
view<T, 1> output(std::vector<T>& v) {
  return view<T, 1>(v.data(), dims<1>(static_cast<index_t>(v.size())));
}

using counts = std::vector<index_t>;

template <class T, class E>
void expect_al6(E& exec, bool signed_type) {
  std::vector<T> x;
  for (int i = 0; i < 12; ++i) x.push_back(static_cast<T>(i));
  if (signed_type) x.push_back(static_cast<T>(-1));
  x.push_back(static_cast<T>(12));
  x.push_back(static_cast<T>(100));
  counts c(7, -5), outside(3, -5);
  histogram(exec, input(x), static_cast<T>(0), static_cast<T>(12), output(c), output(outside));
  exec.synchronize();
  REQUIRE(c == counts{2, 2, 2, 1, 2, 2, 1});
  REQUIRE(outside == counts{signed_type ? 1 : 0, 2, 0});
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("AL-6: a range that is no multiple of the bins", "[algorithm]", cases) {
  TestType setup;
  expect_al6<int>(setup.exec, true);
  expect_al6<std::int8_t>(setup.exec, true);
  expect_al6<std::uint8_t>(setup.exec, false);
  expect_al6<std::int64_t>(setup.exec, true);
  std::vector<float> x;
  for (int i = 0; i < 12; ++i) x.push_back(static_cast<float>(i));
  for (float v : {-1.0f, 12.0f, 999.0f, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                  -std::numeric_limits<float>::infinity()})
    x.push_back(v);
  counts c(7, -5), outside(3, -5), alone(7, -5);
  histogram(setup.exec, input(x), 0.0f, 12.0f, output(c), output(outside));
  histogram(setup.exec, input(x), 0.0f, 12.0f, output(alone));
  setup.exec.synchronize();
  REQUIRE(c == counts{2, 2, 2, 1, 2, 2, 1});
  REQUIRE(alone == c);
  REQUIRE(outside == counts{2, 3, 1});
}

TEMPLATE_LIST_TEST_CASE("histograms at the ends of integer types", "[algorithm]", test::executor_cases) {
  TestType setup;
  constexpr std::int64_t low = std::numeric_limits<std::int64_t>::min(),
                         high = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> const x = {low, low + 1, -1, 0, high - 1, high};
  counts c(3, -5), outside(3, -5);
  histogram(setup.exec, input(x), low, high, output(c), output(outside));
  setup.exec.synchronize();
  // The width is 2^64 - 1, so a third is 6148914691236517205: -1 and 0 lie in the middle.
  REQUIRE(c == counts{2, 2, 1});
  REQUIRE(outside == counts{0, 1, 0});
  std::vector<std::uint64_t> const y = {0, 1, ~std::uint64_t{0} - 1, ~std::uint64_t{0}};
  counts d(2, -5);
  histogram(setup.exec, input(y), std::uint64_t{0}, ~std::uint64_t{0}, output(d), output(outside));
  setup.exec.synchronize();
  REQUIRE(d == counts{2, 1});
  REQUIRE(outside == counts{0, 1, 0});
}

TEMPLATE_LIST_TEST_CASE("every bin of integers is the exact quotient", "[algorithm]", test::executor_cases) {
  TestType setup;
  for (int range : {1, 2, 3, 7, 100, 1000, 4095, 4097})
    for (int bins : {1, 2, 3, 10, 64, 5000}) {
      std::vector<int> x;
      counts want(bins, 0), c(bins, -5);
      for (int i = 0; i < range; ++i) {
        x.push_back(i - 50);
        ++want[static_cast<std::size_t>(std::int64_t{i} * bins / range)];
      }
      histogram(setup.exec, input(x), -50, range - 50, output(c));
      setup.exec.synchronize();
      INFO(range << " in " << bins);
      REQUIRE(c == want);
    }
}

TEMPLATE_LIST_TEST_CASE("what rounds up to the number of bins is in the last one", "[algorithm]",
                        test::executor_cases) {
  TestType setup;
  float const hi = 0.3f;
  std::vector<float> const x = {0.1f, std::nextafter(hi, 0.0f)};
  std::vector<double> const y = {-0.1, std::nextafter(0.7, 0.0)};
  counts c(3, -5), d(1000003, -5);
  histogram(setup.exec, input(x), 0.1f, hi, output(c));
  histogram(setup.exec, input(y), -0.1, 0.7, output(d));
  setup.exec.synchronize();
  REQUIRE(c == counts{1, 0, 1});
  REQUIRE(d.front() == 1);
  REQUIRE(d.back() == 1);
}

TEMPLATE_LIST_TEST_CASE("histogram_by: keys, functions, lazy and strided inputs", "[algorithm]", cases) {
  TestType setup;
  for (index_t n : {0, 1, 3, 255, 4097, 50001}) {
    std::vector<std::uint8_t> keys;
    counts want(200, 0), c(200, -5), by(3, -5), want_by(3, 0), every_other(200, -5);
    index_t out = 0;
    for (index_t i = 0; i < n; ++i) {
      keys.push_back(static_cast<std::uint8_t>(i * i % 251));
      if (keys.back() < 200)
        ++want[keys.back()];
      else
        ++out;
      ++want_by[keys.back() % 3];
    }
    index_t got_out = -5;
    view<index_t, 1> const outside(&got_out, dims<1>(1));
    histogram_by(setup.exec, input(keys), output(c), outside);
    histogram_by(
        setup.exec, input(keys), [](int k) { return k % 3; }, output(by));
    histogram_by(setup.exec, view<std::uint8_t const, 1>(keys.data(), dims<1>((n + 1) / 2), 2), output(every_other));
    setup.exec.synchronize();
    INFO(n);
    REQUIRE(c == want);
    REQUIRE(got_out == out);
    REQUIRE(by == want_by);
    for (index_t i = 0; i < n; i += 2)
      if (keys[i] < 200) --every_other[keys[i]];
    REQUIRE(every_other == counts(200, 0));
    counts lazy(5, -5);
    histogram_by(
        setup.exec, views::iota(n, 0), [](int i) { return i % 7 - 1; }, output(lazy), outside);
    setup.exec.synchronize();
    for (index_t b = 0; b < 5; ++b) REQUIRE(lazy[b] == (n + 5 - b) / 7);
    REQUIRE(got_out == (n + 6) / 7 + (n + 0) / 7);
  }
}

TEST_CASE("parts of a count are covered and short enough for their counters", "[algorithm]") {
  for (index_t n : {index_t{0}, index_t{1}, index_t{4097}, index_t{1} << 33, (index_t{1} << 40) + 3})
    for (index_t longest : {index_t{5000}, index_t{1} << 30}) {
      if (n / longest > 1000000) continue;
      detail::even_parts const cut = detail::cut_evenly(n, 8, 100, longest);
      index_t next = 0;
      for (index_t p = 0; p < cut.parts; ++p) {
        REQUIRE(cut.first(p) == next);
        REQUIRE(cut.end(p) > next);
        REQUIRE(cut.end(p) - next <= longest);
        next = cut.end(p);
      }
      REQUIRE(next == n);
    }
}

TEST_CASE("histograms refuse what is no range", "[algorithm]") {
  reference_executor exec;
  std::vector<float> const x(3, 1.0f);
  counts c(2, 0), none, two(2, 0);
  REQUIRE_THROWS_AS(histogram(exec, input(x), 1.0f, 1.0f, output(c)), contract_error);
  REQUIRE_THROWS_AS(histogram(exec, input(x), 0.0f, std::numeric_limits<float>::infinity(), output(c)), contract_error);
  REQUIRE_THROWS_AS(histogram(exec, input(x), 0.0f, std::numeric_limits<float>::quiet_NaN(), output(c)),
                    contract_error);
  REQUIRE_THROWS_AS(histogram(exec, input(x), 0.0f, 1.0f, output(none)), contract_error);
  REQUIRE_THROWS_AS(histogram(exec, input(x), 0.0f, 1.0f, output(c), output(two)), contract_error);
  std::vector<double> const y(3, 1.0);
  REQUIRE_THROWS_AS(histogram(exec, input(y), -1.7e308, 1.7e308, output(c)), contract_error);
}
