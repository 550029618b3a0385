// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/algorithm/sort_by.hpp>

#include <support/catch.hpp>
#include <support/executors.hpp>
#include "orders.hpp"

using namespace heddle;
using test::input;
using test::output;

namespace {

struct particle {
  particle(float w, std::int32_t i) : weight(w), id(i) {}
  float weight;
  std::int32_t id;
};
struct lighter {
  bool operator()(particle const& a, particle const& b) const { return a.weight < b.weight; }
};

std::vector<particle> particles(index_t n, index_t distinct) {
  std::vector<particle> v;
  for (index_t i = 0; i < n; ++i)
    v.emplace_back(static_cast<float>(test::random_below(3, i, distinct)), static_cast<std::int32_t>(i));
  return v;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("a sort by an order of the user is stable", "[algorithm]", test::tile_cases) {
  TestType setup;
  for (index_t n : test::sampled({0, 1, 2, 15, 16, 17, 255, 256, 257, 4095, 4096, 4097, 8193, 40001}))
    for (index_t distinct : {index_t{1}, index_t{5}, index_t{1} << 24}) {
      INFO(n << " " << distinct);
      std::vector<particle> const x = particles(n, distinct);
      std::vector<particle> y(x.size(), particle(-1, -1)), in_place = x, want = x;
      std::stable_sort(want.begin(), want.end(), lighter{});
      sort_by(setup.exec, input(x), output(y), lighter{});
      sort_by(setup.exec, output(in_place), output(in_place), lighter{});
      std::vector<std::int32_t> at(x.size(), -1);
      argsort(setup.exec, input(x), output(at), lighter{});
      setup.exec.synchronize();
      for (std::size_t i = 0; i < x.size(); ++i) {
        REQUIRE(y[i].id == want[i].id);
        REQUIRE(in_place[i].id == want[i].id);
        REQUIRE(at[i] == want[i].id);
      }
    }
}

TEMPLATE_LIST_TEST_CASE("the order of numbers as indices", "[algorithm]", test::tile_cases) {
  TestType setup;
  for (index_t n : {0, 1, 257, 70000})
    for (sort_options const& options : test::all_orders) {
      INFO(n);
      std::vector<float> const x = test::make_keys<float>(test::keys::mixed, n, 31);
      std::vector<std::int64_t> at(x.size(), -1);
      argsort(setup.exec, input(x), output(at), options);
      setup.exec.synchronize();
      REQUIRE(at == test::stable_order(x, options));
    }
}

TEST_CASE("indices too small for their places are refused", "[algorithm]") {
  serial_executor exec;
  std::vector<float> const x(300);
  std::vector<std::uint8_t> at(300);
  REQUIRE_THROWS_AS(argsort(exec, input(x), output(at)), contract_error);
}
