// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/algorithm/reduce.hpp>
#include <heddle/algorithm/segmented.hpp>

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

// Empty, short, and around the ends of blocks, at every distance from the windows.
std::vector<index_t> offsets_of(std::vector<index_t> const& lengths) {
  std::vector<index_t> o = {0};
  for (index_t n : lengths) o.push_back(o.back() + n);
  return o;
}
std::vector<std::vector<index_t>> const all_lengths = {
    {0},          {0, 0, 0},
    {1},          {5, 0, 63, 64, 65, 0, 0, 127, 1},
    {4096, 4096}, {10, 4097, 20, 8192, 0, 8193, 4095, 4096, 1, 12289},
    {20000},      {4000, 9000, 100, 9000, 0},
};

// A sequence of digits, as its value mod 1009 and its power of ten.
struct digits {
  int value, power;
  bool operator==(digits const& o) const { return value == o.value && power == o.power; }
};
struct concatenate {
  using value_type = digits;
  static constexpr bool commutative = false, exact = true;
  digits identity() const { return {0, 1}; }
  digits combine(digits const& l, digits const& r) const {
    return {(l.value * r.power + r.value) % 1009, l.power * r.power % 1009};
  }
};

// Segment by segment with the operation on a vector.
template <class T, class M>
void expect_each(auto& exec, std::vector<T> const& x, std::vector<index_t> const& offsets, M const& m) {
  using value = typename M::value_type;
  std::size_t const count = offsets.size() - 1;
  std::vector<value> got(count), want(count), running(x.size()), shifted(x.size()), in_place, ones(x.size()),
      later(x.size());
  for (std::vector<value>* v : {&got, &running, &shifted})
    if (!v->empty()) std::memset(static_cast<void*>(v->data()), 0xFF, v->size() * sizeof(value));
  for (T const& v : x) in_place.push_back(static_cast<value>(v));
  segmented_reduce(exec, input(x), input(offsets), output(got), m);
  segmented_inclusive_scan(exec, input(x), input(offsets), output(running), m);
  segmented_exclusive_scan(exec, input(x), input(offsets), output(shifted), m);
  segmented_inclusive_scan(exec, input(in_place), input(offsets), output(in_place), m);
  exec.synchronize();
  reference_executor oracle;
  for (std::size_t s = 0; s < count; ++s) {
    view<T const, 1> const part(x.data() + offsets[s], dims<1>(offsets[s + 1] - offsets[s]));
    reduce(oracle, part, view<value, 1>(&want[s], dims<1>(1)), m);
    inclusive_scan(oracle, part, view<value, 1>(ones.data() + offsets[s], dims<1>(part.size())), m);
    exclusive_scan(oracle, part, view<value, 1>(later.data() + offsets[s], dims<1>(part.size())), m);
  }
  auto const same = [](std::vector<value> const& a, std::vector<value> const& b) {
    return a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(value)) == 0;
  };
  REQUIRE(same(got, want));
  REQUIRE(same(running, ones));
  REQUIRE(same(shifted, later));
  REQUIRE(same(in_place, ones));
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("segmented reductions and scans are those of each segment", "[algorithm]", cases) {
  TestType setup;
  for (std::vector<index_t> const& lengths : all_lengths) {
    std::vector<index_t> const offsets = offsets_of(lengths);
    std::vector<float> x = test::random_floats(offsets.back(), 21, 1);
    for (std::size_t i = 5; i < x.size(); i += 100) x[i] = -0.0f;
    expect_each(setup.exec, x, offsets, plus<float>{});
    std::vector<digits> text;
    for (index_t i = 0; i < offsets.back(); ++i) text.push_back({static_cast<int>(i * i % 10), 10});
    expect_each(setup.exec, text, offsets, concatenate{});
  }
}

TEMPLATE_LIST_TEST_CASE("segmented forms of other monoids, and a NaN", "[algorithm]", test::executor_cases) {
  TestType setup;
  std::vector<index_t> const offsets = offsets_of(all_lengths[5]);
  std::vector<float> x = test::random_floats(offsets.back(), 23, 1);
  x[3] = x[9000] = bit_cast<float>(0xFFABCDEFu);
  expect_each(setup.exec, x, offsets, plus<float>{});
  expect_each(setup.exec, x, offsets, maximum<float>{});
  std::vector<std::int32_t> whole;
  for (index_t i = 0; i < offsets.back(); ++i) whole.push_back(static_cast<std::int32_t>(i * 77 % 1001));
  expect_each(setup.exec, whole, offsets, plus<std::int64_t>{});
}

TEMPLATE_LIST_TEST_CASE("offsets that lead outside are refused when the work runs", "[algorithm]",
                        test::executor_cases) {
  std::vector<float> const x(100, 1.0f);
  std::vector<float> y(100), sums(3);
  for (std::vector<int> const& offsets :
       {std::vector<int>{1, 10, 20, 100}, {0, 20, 10, 100}, {0, 10, 20, 99}, {0, 10, 200, 100}, {0, -5, 20, 100}}) {
    TestType setup;
    auto const run = [&](auto const& submit) {
      submit();
      setup.exec.synchronize();
    };
    REQUIRE_THROWS_AS(run([&] { segmented_reduce(setup.exec, input(x), input(offsets), output(sums), plus<float>{}); }),
                      contract_error);
    REQUIRE_THROWS_AS(
        run([&] { segmented_inclusive_scan(setup.exec, input(x), input(offsets), output(y), plus<float>{}); }),
        contract_error);
  }
}

TEST_CASE("segmented forms refuse shapes that don't fit", "[algorithm]") {
  reference_executor exec;
  std::vector<float> const x(10, 1.0f);
  std::vector<float> y(9), sums(2);
  std::vector<int> const offsets = {0, 4, 7, 10}, none;
  REQUIRE_THROWS_AS(segmented_reduce(exec, input(x), input(offsets), output(sums), plus<float>{}), contract_error);
  REQUIRE_THROWS_AS(segmented_exclusive_scan(exec, input(x), input(offsets), output(y), plus<float>{}), contract_error);
  REQUIRE_THROWS_AS(segmented_reduce(exec, input(x), input(none), output(sums), plus<float>{}), contract_error);
}
