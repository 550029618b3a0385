// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/algorithm/merge.hpp>

#include <support/catch.hpp>
#include <support/executors.hpp>
#include "orders.hpp"

using namespace heddle;
using test::input;
using test::output;

namespace {

struct entry {
  entry(int k, int f) : key(k), from(f) {}
  int key, from;
  bool operator==(entry const& o) const { return key == o.key && from == o.from; }
};
struct by_key {
  bool operator()(entry const& a, entry const& b) const { return a.key < b.key; }
};

std::vector<entry> sorted_entries(index_t n, int distinct, int from) {
  std::vector<entry> v;
  for (index_t i = 0; i < n; ++i)
    v.emplace_back(static_cast<int>(test::random_below(static_cast<std::uint64_t>(from), i, distinct)),
                   from + static_cast<int>(i));
  std::stable_sort(v.begin(), v.end(), by_key{});
  return v;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("a merge keeps the order of equal elements", "[algorithm]", test::tile_cases) {
  TestType setup;
  index_t const sizes[][2] = {{0, 0},    {0, 1},       {1, 0},     {1, 1},       {255, 257},
                              {8192, 0}, {4096, 4096}, {9, 20000}, {13001, 7000}};
  for (auto const& size : sizes)
    for (int distinct : {1, 7, 1 << 20}) {
      INFO(size[0] << " " << size[1] << " " << distinct);
      std::vector<entry> const a = sorted_entries(size[0], distinct, 0), b = sorted_entries(size[1], distinct, 1000000);
      std::vector<entry> out(a.size() + b.size(), entry(-1, -1)), want = a;
      want.insert(want.end(), b.begin(), b.end());
      std::stable_sort(want.begin(), want.end(), by_key{});
      merge(setup.exec, input(a), input(b), output(out), by_key{});
      setup.exec.synchronize();
      REQUIRE(out == want);
    }
}

TEMPLATE_LIST_TEST_CASE("a merge of strided views, by <, and one without room", "[algorithm]", test::tile_cases) {
  TestType setup;
  std::vector<int> const a = {1, -9, 3, -9, 5, -9}, b = {2, 4};
  std::vector<int> out(10, -1);
  merge(setup.exec, view<int const, 1>(a.data(), dims<1>(3), 2), input(b), view<int, 1>(out.data(), dims<1>(5), 2));
  setup.exec.synchronize();
  REQUIRE(out == std::vector<int>{1, -1, 2, -1, 3, -1, 4, -1, 5, -1});
  REQUIRE_THROWS_AS(merge(setup.exec, input(a), input(b), output(out)), contract_error);
}
