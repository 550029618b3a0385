// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/algorithm/compact.hpp>

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
view<index_t, 1> one(index_t& v) { return view<index_t, 1>(&v, dims<1>(1)); }

// Any fixed mixture of kept, and of dropped, stretches.
bool wanted(int x) { return x % 7 < 3 || x / 64 % 5 == 0; }

}  // namespace

TEMPLATE_LIST_TEST_CASE("select and partition keep the order", "[algorithm]", cases) {
  TestType setup;
  for (index_t n : {0, 1, 2, 4095, 4096, 4097, 20001}) {
    std::vector<int> x, kept, others, flags, at;
    for (index_t i = 0; i < n; ++i) {
      x.push_back(static_cast<int>(i * 37 % 1009));
      bool const is = wanted(x.back());
      (is ? kept : others).push_back(x.back());
      flags.push_back(is ? static_cast<int>(i) + 1 : 0);
      if (is) at.push_back(static_cast<int>(i));
    }
    auto const padded = [n](std::vector<int> v) {
      v.resize(n + 3, -77);
      return v;
    };
    std::vector<int> selected(n + 3, -77), flagged = selected, indices = selected, split(n + 3, -77);
    index_t counts[4] = {-1, -1, -1, -1};
    select_if(setup.exec, input(x), output(selected), one(counts[0]), [](int v) { return wanted(v); });
    select_flagged(setup.exec, input(x), input(flags), output(flagged), one(counts[1]));
    select_indices(setup.exec, input(x), output(indices), one(counts[2]), [](int v) { return wanted(v); });
    partition(setup.exec, input(x), output(split), one(counts[3]), [](int v) { return wanted(v); });
    setup.exec.synchronize();
    INFO(n);
    for (index_t c : counts) REQUIRE(c == static_cast<index_t>(kept.size()));
    REQUIRE(selected == padded(kept));
    REQUIRE(flagged == padded(kept));
    REQUIRE(indices == padded(at));
    kept.insert(kept.end(), others.begin(), others.end());
    REQUIRE(split == padded(kept));
  }
}

TEMPLATE_LIST_TEST_CASE("select all, none, from lazy and strided views, converting", "[algorithm]", cases) {
  TestType setup;
  index_t count = -1;
  std::vector<float> out(9000, -7.0f);
  select_if(setup.exec, views::iota(9000, 0), output(out), one(count), [](int) { return true; });
  setup.exec.synchronize();
  REQUIRE(count == 9000);
  for (int i = 0; i < 9000; ++i) REQUIRE(out[i] == static_cast<float>(i));
  select_if(setup.exec, views::iota(9000, 0), output(out), one(count), [](int) { return false; });
  setup.exec.synchronize();
  REQUIRE(count == 0);
  REQUIRE(out[0] == 0.0f);
  std::vector<int> const x = {5, -1, 6, -1, 7, -1};
  std::vector<int> y(6, -9);
  select_if(setup.exec, view<int const, 1>(x.data(), dims<1>(3), 2), view<int, 1>(y.data(), dims<1>(3), 2), one(count),
            [](int v) { return v != 6; });
  setup.exec.synchronize();
  REQUIRE(count == 2);
  REQUIRE(y == std::vector<int>{5, -9, 7, -9, -9, -9});
}

TEMPLATE_LIST_TEST_CASE("unique and run lengths", "[algorithm]", cases) {
  TestType setup;
  for (index_t n : {0, 1, 2, 4096, 4097, 30001}) {
    for (int longest : {1, 5, 9000}) {  // runs that end inside a block, and some that hold whole blocks
      std::vector<int> x, heads;
      std::vector<index_t> lengths;
      for (index_t i = 0; i < n;) {
        index_t run = 1 + i * 31 % longest;
        run = run < n - i ? run : n - i;
        heads.push_back(static_cast<int>(heads.size()) * 3 % 8);
        lengths.push_back(run);
        for (index_t j = 0; j < run; ++j) x.push_back(heads.back());
        i += run;
      }
      std::vector<int> first(n + 1, -77), again = first;
      std::vector<index_t> got(n + 1, -77);
      index_t count = -1, runs = -1;
      unique(setup.exec, input(x), output(first), one(count));
      run_length_encode(setup.exec, input(x), output(again), output(got), one(runs));
      setup.exec.synchronize();
      INFO(n << ", runs up to " << longest);
      REQUIRE(count == static_cast<index_t>(heads.size()));
      REQUIRE(runs == count);
      heads.resize(n + 1, -77);
      lengths.resize(n + 1, -77);
      REQUIRE(first == heads);
      REQUIRE(again == heads);
      REQUIRE(got == lengths);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("unique with an equality of the caller, and NaN", "[algorithm]", test::executor_cases) {
  TestType setup;
  std::vector<int> const x = {1, 3, 5, 2, 4, 7};
  std::vector<int> y(6, -1);
  index_t count = -1;
  unique(setup.exec, input(x), output(y), one(count), [](int a, int b) { return a % 2 == b % 2; });
  setup.exec.synchronize();
  REQUIRE(count == 3);
  REQUIRE(y == std::vector<int>{1, 2, 7, -1, -1, -1});
  float const nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> const z = {nan, nan, 0.0f, -0.0f};
  std::vector<float> w(4, 9.0f);
  unique(setup.exec, input(z), output(w), one(count));
  setup.exec.synchronize();
  REQUIRE(count == 3);
}

TEST_CASE("selections refuse outputs without room", "[algorithm]") {
  reference_executor exec;
  std::vector<int> const x(5, 1), flags(4, 1);
  std::vector<int> y(4), z(5);
  std::vector<std::int8_t> narrow(300);
  index_t count = 0;
  auto const yes = [](int) { return true; };
  REQUIRE_THROWS_AS(select_if(exec, input(x), output(y), one(count), yes), contract_error);
  REQUIRE_THROWS_AS(select_flagged(exec, input(x), input(flags), output(z), one(count)), contract_error);
  REQUIRE_THROWS_AS(select_indices(exec, views::iota(300, 0), output(narrow), one(count), yes), contract_error);
  std::vector<index_t> two(2);
  REQUIRE_THROWS_AS(partition(exec, input(x), output(z), output(two), yes), contract_error);
}
