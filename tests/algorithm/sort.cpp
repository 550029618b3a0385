// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/algorithm/sort.hpp>
#include <heddle/algorithm/sort_by.hpp>

#include <support/catch.hpp>
#include <support/executors.hpp>
#include "orders.hpp"

#include <limits>

using namespace heddle;
using test::input;
using test::output;

namespace {

/// Sorts keys alone, with places, and both in place, and compares bytes.
template <class T, class E>
void expect_sorted(E& exec, std::vector<T> const& x, sort_options const& options) {
  std::vector<std::int64_t> places(x.size()), at(x.size(), -1), at_in_place;
  std::iota(places.begin(), places.end(), 0);
  at_in_place = places;
  std::vector<T> alone(x.size(), test::from_any_bits<T>(~std::uint64_t{0})), with = alone, in_place = x, both = x;
  heddle::sort(exec, input(x), output(alone), options);
  heddle::sort(exec, output(in_place), output(in_place), options);
  sort_pairs(exec, input(x), output(with), input(places), output(at), options);
  sort_pairs(exec, output(both), output(both), output(at_in_place), output(at_in_place), options);
  std::vector<T> keys_in_place = x, keys_apart = alone;
  std::vector<std::int64_t> values_in_place = places, values_apart(x.size(), -1);
  sort_pairs(exec, output(keys_in_place), output(keys_in_place), input(places), output(values_apart), options);
  sort_pairs(exec, input(x), output(keys_apart), output(values_in_place), output(values_in_place), options);
  exec.synchronize();
  std::vector<std::int64_t> const want = test::stable_order(x, options);
  std::vector<T> const want_keys = test::taken(x, want);
  REQUIRE(test::same_bits(alone, want_keys));
  REQUIRE(test::same_bits(in_place, want_keys));
  REQUIRE(test::same_bits(with, want_keys));
  REQUIRE(at == want);
  REQUIRE(test::same_bits(both, want_keys));
  REQUIRE(at_in_place == want);
  REQUIRE(test::same_bits(keys_in_place, want_keys));
  REQUIRE(values_apart == want);
  REQUIRE(test::same_bits(keys_apart, want_keys));
  REQUIRE(values_in_place == want);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("AL-3: a stable sort with both zeros", "[algorithm]", test::tile_cases) {
  TestType setup;
  std::vector<float> const keys = {0.0f, -0.0f, 1.0f, 0.0f, -0.0f, -1.0f};
  std::vector<int> const payload = {0, 1, 2, 3, 4, 5};
  std::vector<float> up(6), down(6);
  std::vector<int> at_up(6, -1), at_down(6, -1);
  auto& exec = setup.exec;
  // begin sort_pairs
  sort_options const falling{.direction = sort_direction::descending};
  sort_pairs(exec, input(keys), output(up), input(payload), output(at_up));
  sort_pairs(exec, input(keys), output(down), input(payload), output(at_down), falling);
  // end sort_pairs
  setup.exec.synchronize();
  REQUIRE(at_up == std::vector<int>{5, 0, 1, 3, 4, 2});
  REQUIRE(at_down == std::vector<int>{2, 0, 1, 3, 4, 5});
  REQUIRE(test::same_bits(up, test::taken(keys, at_up)));
  REQUIRE(test::same_bits(down, test::taken(keys, at_down)));
  std::vector<std::uint32_t> many;
  for (std::uint32_t i = 0; i < 1000; ++i) many.push_back(i % 3);
  for (sort_options const& options : {test::up, test::down}) expect_sorted(setup.exec, many, options);
}

TEMPLATE_LIST_TEST_CASE("T24: NaN of both signs and infinities", "[algorithm]", test::tile_cases) {
  TestType setup;
  float const inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> const x = {nan, inf, 1, -nan, -inf, -1, nan, 0, -0.0f, bit_cast<float>(0x7F800001u), 2};
  for (sort_options const& options : test::all_orders) expect_sorted(setup.exec, x, options);
  std::vector<float> y(x.size());
  heddle::sort(setup.exec, input(x), output(y), test::down);
  setup.exec.synchronize();
  REQUIRE(y[0] == inf);
  REQUIRE(y[6] == -inf);
  for (int i = 7; i < 11; ++i) REQUIRE(is_nan(y[static_cast<std::size_t>(i)]));
}

TEMPLATE_LIST_TEST_CASE("sorts of every size", "[algorithm]", test::tile_cases) {
  TestType setup;
  for (index_t n : test::sampled({0, 1, 2, 23, 24, 25, 255, 256, 257, 4095, 4096, 4097})) {
    INFO(n);
    expect_sorted(setup.exec, test::make_keys<float>(test::keys::mixed, n, 1), test::up);
    expect_sorted(setup.exec, test::make_keys<std::uint32_t>(test::keys::mixed, n, 2), test::down);
  }
}

TEMPLATE_LIST_TEST_CASE("large sorts of hostile keys", "[algorithm]", test::tile_cases) {
  TestType setup;
  index_t const n = (index_t{1} << 17) + 1;
  for (test::keys kind : test::sampled(test::all_keys)) {
    INFO(static_cast<int>(kind));
    sort_options const& options = test::all_orders[static_cast<int>(kind) % 4];
    expect_sorted(setup.exec, test::make_keys<std::uint32_t>(kind, n, 5), options);
    expect_sorted(setup.exec, test::make_keys<float>(kind, n, 6), options);
  }
}

TEMPLATE_LIST_TEST_CASE("sorts of strided and reversed vectors", "[algorithm]", test::tile_cases) {
  TestType setup;
  auto& exec = setup.exec;
  for (index_t n : {0, 1, 2, 257, 4097}) {
    INFO(n);
    std::vector<float> const x = test::make_keys<float>(test::keys::mixed, 3 * n + 1, 31);
    view<float const, 1> const third(x.data() + 1, dims<1>(n), index_t{3});
    view<float const, 1> const back(x.data() + (n > 0 ? 3 * n - 2 : 0), dims<1>(n), index_t{-3});
    std::vector<float> keys, backwards;
    for (index_t i = 0; i < n; ++i) keys.push_back(third(i));
    backwards.assign(keys.rbegin(), keys.rend());
    std::vector<std::int64_t> const order = test::stable_order(keys, test::down);
    std::vector<float> const want = test::taken(keys, order);
    std::vector<float> dense(keys.size(), -1), wide(2 * keys.size(), -1), in_place = x;
    view<float, 1> const spread(wide.data(), dims<1>(n), index_t{2});
    std::vector<int> places(keys.size()), at(2 * keys.size(), -1), indices = at;
    std::iota(places.begin(), places.end(), 0);
    view<int, 1> const spread_at(at.data(), dims<1>(n), index_t{2}),
        spread_indices(indices.data(), dims<1>(n), index_t{2});
    heddle::sort(exec, third, output(dense), test::down);
    exec.synchronize();
    REQUIRE(test::same_bits(dense, want));
    heddle::sort(exec, back, output(dense), test::down);
    exec.synchronize();
    REQUIRE(test::same_bits(dense, test::taken(backwards, test::stable_order(backwards, test::down))));
    sort_pairs(exec, third, spread, input(places), spread_at, test::down);
    argsort(exec, third, spread_indices, test::down);
    view<float, 1> const own(in_place.data() + 1, dims<1>(n), index_t{3});
    heddle::sort(exec, own, own, test::down);
    exec.synchronize();
    std::vector<float> untouched = x;
    for (index_t i = 0; i < n; ++i) {
      std::size_t const e = static_cast<std::size_t>(i);
      REQUIRE(bit_cast<std::uint32_t>(wide[2 * e]) == bit_cast<std::uint32_t>(want[e]));
      REQUIRE(wide[2 * e + 1] == -1);
      REQUIRE(at[2 * e] == order[e]);
      REQUIRE(indices[2 * e] == order[e]);
      REQUIRE(indices[2 * e + 1] == -1);
      untouched[3 * e + 1] = want[e];
    }
    REQUIRE(test::same_bits(in_place, untouched));
  }
}

namespace {
struct wide_value {
  explicit wide_value(index_t i) : at(i), rest{} {}
  index_t at;
  char rest[61];
};
}  // namespace

TEST_CASE("the same bytes for any number of threads, values of any size, memory at any address", "[algorithm]") {
  index_t const n = 200003;
  std::vector<float> const x = test::make_keys<float>(test::keys::mixed, n, 21);
  std::vector<std::int64_t> const want = test::stable_order(x, test::up);
  std::vector<wide_value> values, spare(static_cast<std::size_t>(n + 3), wide_value(0));
  std::vector<std::uint8_t> small, small_out(static_cast<std::size_t>(n + 3));
  for (index_t i = 0; i < n; ++i) values.emplace_back(i), small.push_back(static_cast<std::uint8_t>(i));
  std::vector<float> keys(static_cast<std::size_t>(n + 3));
  for (int threads : test::sampled<int>({1, 2, 3, 7})) {
    threads_executor exec(threads);
    for (int shift : {0, 1, 3}) {
      view<float, 1> const out(keys.data() + shift, dims<1>(n));
      view<wide_value, 1> const moved(spare.data() + (3 - shift), dims<1>(n));
      sort_pairs(exec, input(x), out, input(values), moved);
      for (index_t i = 0; i < n; ++i) REQUIRE(moved.data()[i].at == want[static_cast<std::size_t>(i)]);
      sort_pairs(exec, input(x), out, input(small), view<std::uint8_t, 1>(small_out.data() + shift, dims<1>(n)));
      for (index_t i = 0; i < n; ++i)
        REQUIRE(small_out[static_cast<std::size_t>(i + shift)] ==
                static_cast<std::uint8_t>(want[static_cast<std::size_t>(i)]));
    }
  }
}

TEST_CASE("operands of a sort that don't fit are refused", "[algorithm]") {
  serial_executor exec;
  std::vector<float> x(4), y(3);
  REQUIRE_THROWS_AS(heddle::sort(exec, input(x), output(y)), contract_error);
}
