// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/algorithm/segmented_sort.hpp>

#include <support/catch.hpp>
#include <support/executors.hpp>
#include "orders.hpp"

using namespace heddle;
using test::input;
using test::output;

namespace {

std::vector<index_t> offsets_of(std::vector<index_t> const& lengths) {
  std::vector<index_t> o = {0};
  for (index_t n : lengths) o.push_back(o.back() + n);
  return o;
}

/// Sorts keys alone, in place and with places, and compares with each segment sorted by itself.
template <class T, class E>
void expect_each(E& exec, std::vector<index_t> const& offsets, std::vector<T> const& x, sort_options const& options) {
  std::vector<std::int64_t> places(x.size()), at(x.size(), -1), want_at;
  std::iota(places.begin(), places.end(), 0);
  std::vector<T> alone(x.size(), test::from_any_bits<T>(~std::uint64_t{0})), with = alone, in_place = x;
  segmented_sort(exec, input(x), input(offsets), output(alone), options);
  segmented_sort(exec, output(in_place), input(offsets), output(in_place), options);
  segmented_sort_pairs(exec, input(x), input(offsets), output(with), input(places), output(at), options);
  exec.synchronize();
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
    std::vector<T> const part(x.begin() + offsets[s], x.begin() + offsets[s + 1]);
    for (std::int64_t i : test::stable_order(part, options)) want_at.push_back(offsets[s] + i);
  }
  std::vector<T> const want = test::taken(x, want_at);
  REQUIRE(test::same_bits(alone, want));
  REQUIRE(test::same_bits(in_place, want));
  REQUIRE(test::same_bits(with, want));
  REQUIRE(at == want_at);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("segments are sorted each by itself", "[algorithm]", test::tile_cases) {
  TestType setup;
  // begin segmented_sort
  std::vector<index_t> const offsets = {0, 3, 3, 5};
  std::vector<int> keys = {3, 1, 2, 9, 4};
  segmented_sort(setup.exec, input(keys), input(offsets), output(keys));
  // end segmented_sort
  setup.exec.synchronize();
  REQUIRE(keys == std::vector<int>{1, 2, 3, 4, 9});
  std::vector<std::vector<index_t>> const all = {
      {0}, {1}, {0, 0, 7, 0}, {63, 64, 65, 0, 0, 1}, {4095, 4097, 1, 0, 12289}, std::vector<index_t>(700, 5)};
  for (std::vector<index_t> const& lengths : all) {
    std::vector<index_t> const cuts = offsets_of(lengths);
    for (test::keys kind : {test::keys::mixed, test::keys::few}) {
      INFO(cuts.size());
      expect_each(setup.exec, cuts, test::make_keys<float>(kind, cuts.back(), 3), test::up);
      expect_each(setup.exec, cuts, test::make_keys<std::uint32_t>(kind, cuts.back(), 4), test::down);
    }
  }
}

TEST_CASE("a segmented sort of strided vectors, and of any number of threads", "[algorithm]") {
  std::vector<index_t> const cuts = offsets_of({30000, 0, 1, 9999, 60000});
  std::vector<float> const x = test::make_keys<float>(test::keys::mixed, cuts.back(), 9);
  for (int threads : {1, 2, 3, 7}) {
    threads_executor exec(threads);
    expect_each(exec, cuts, x, test::up);
  }
  serial_executor exec;
  std::vector<int> wide = {5, 0, 4, 0, 3, 0, 2, 0}, values = {1, 2, 3, 4}, moved(8, -1);
  std::vector<index_t> const two = {0, 2, 4};
  view<int, 1> const spread(wide.data(), dims<1>(4), index_t{2}), out(moved.data(), dims<1>(4), index_t{2});
  std::vector<int> keys(4);
  segmented_sort_pairs(exec, spread, input(two), output(keys), input(values), out);
  segmented_sort(exec, spread, input(two), spread);
  REQUIRE(keys == std::vector<int>{4, 5, 2, 3});
  REQUIRE(moved == std::vector<int>{2, -1, 1, -1, 4, -1, 3, -1});
  REQUIRE(wide == std::vector<int>{4, 0, 5, 0, 2, 0, 3, 0});
}

TEST_CASE("a segmented sort refuses what doesn't fit", "[algorithm]") {
  serial_executor exec;
  std::vector<int> keys(4), few(3);
  std::vector<index_t> const short_of = {0, 2, 3}, falling = {0, 3, 2, 4}, right = {0, 4};
  REQUIRE_THROWS_AS(segmented_sort(exec, input(keys), input(short_of), output(keys)), contract_error);
  REQUIRE_THROWS_AS(segmented_sort(exec, input(keys), input(falling), output(keys)), contract_error);
  REQUIRE_THROWS_AS(segmented_sort(exec, input(keys), input(right), output(few)), contract_error);
  REQUIRE_THROWS_AS(segmented_sort_pairs(exec, input(keys), input(right), output(keys), input(few), output(few)),
                    contract_error);
  // Pairs go by their old places, so nothing may be sorted where it stands.
  std::vector<int> values(4), moved(4);
  REQUIRE_THROWS_AS(segmented_sort_pairs(exec, input(keys), input(right), output(keys), input(values), output(moved)),
                    contract_error);
  REQUIRE_THROWS_AS(segmented_sort_pairs(exec, input(keys), input(right), output(moved), input(values), output(values)),
                    contract_error);
  REQUIRE_THROWS_AS(segmented_sort_pairs(exec, input(keys), input(right), output(moved), input(values), output(moved)),
                    contract_error);
  view<int, 1> const ahead(values.data() + 1, dims<1>(3)), behind(values.data(), dims<1>(3));
  std::vector<index_t> const three = {0, 3};
  REQUIRE_THROWS_AS(segmented_sort(exec, behind, input(three), ahead), contract_error);
}
