// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/algorithm/reduce.hpp>

#include <support/catch.hpp>
#include <support/executors.hpp>
#include <support/numbers.hpp>

#include <cmath>
#include <limits>
#include <vector>

using namespace heddle;

namespace {

constexpr float inf = std::numeric_limits<float>::infinity();

template <class T>
view<T const, 1> input(std::vector<T> const& v) {
  return view<T const, 1>(v.data(), dims<1>(static_cast<index_t>(v.size())));
}
template <class T>
view<T, 1> one(T& v) {
  return view<T, 1>(&v, dims<1>(1));
}

template <class E, class T, class M, class... Init>
typename M::value_type reduced(E& exec, std::vector<T> const& v, M const& m, Init const&... init) {
  typename M::value_type result = {};
  std::memset(static_cast<void*>(&result), 0xFF, sizeof result);
  reduce(exec, input(v), one(result), m, init...);
  exec.synchronize();
  return result;
}

// T over per-block results; inside a block 64 lanes and T(64), or a fold.
float tree(std::vector<float> v) {
  std::size_t q = 1;
  while (2 * q <= v.size()) q *= 2;
  std::vector<float> level;
  std::size_t const folded = v.size() - q;
  for (std::size_t i = 0; i < q; ++i) level.push_back(i < folded ? v[2 * i] + v[2 * i + 1] : v[i + folded]);
  for (; q > 1; q /= 2)
    for (std::size_t i = 0; i < q / 2; ++i) level[i] = level[2 * i] + level[2 * i + 1];
  return level[0];
}
float sum_of(std::vector<float> const& v) {
  std::vector<float> blocks;
  for (std::size_t first = 0; first < v.size(); first += 4096) {
    std::vector<float> lanes(64, 0.0f);
    for (std::size_t e = first; e < v.size() && e < first + 4096; ++e) lanes[e % 64] += v[e];
    blocks.push_back(tree(lanes));
  }
  return blocks.empty() ? 0 : tree(blocks);
}

struct text_like {  // concatenation of digits, as a value and its power of ten, mod 1009
  int value, power;
};
struct concatenate {
  using value_type = text_like;
  static constexpr bool commutative = false, exact = true;
  text_like identity() const { return {0, 1}; }
  text_like combine(text_like const& l, text_like const& r) const {
    return {(l.value * r.power + r.value) % 1009, l.power * r.power % 1009};
  }
};

}  // namespace

TEMPLATE_LIST_TEST_CASE("reduce follows the canonical order", "[algorithm]", test::tile_cases) {
  TestType setup;
  for (index_t n : {0, 1, 63, 64, 65, 4095, 4096, 4097, 12289, 70000}) {
    std::vector<float> const v = test::random_floats(n, 3, 1);
    INFO(n);
    REQUIRE(reduced(setup.exec, v, plus<float>{}) == sum_of(v));
    REQUIRE(reduced(setup.exec, v, plus<float>{}, 2.5f) == (n == 0 ? 2.5f : 2.5f + sum_of(v)));
    float largest = -inf, smallest = inf;
    for (float x : v) largest = std::fmax(largest, x), smallest = std::fmin(smallest, x);
    REQUIRE(reduced(setup.exec, v, maximum<float>{}) == largest);
    REQUIRE(reduced(setup.exec, v, minimum<float>{}) == smallest);
  }
}

TEMPLATE_LIST_TEST_CASE("reduce keeps the order of monoids that don't commute", "[algorithm]", test::tile_cases) {
  TestType setup;
  for (index_t n : {0, 1, 2, 4096, 4097, 9001}) {
    std::vector<text_like> v;
    text_like want = {0, 1};
    for (index_t i = 0; i < n; ++i) {
      v.push_back({static_cast<int>(i * i % 10), 10});
      want = concatenate{}.combine(want, v.back());
    }
    text_like const got = reduced(setup.exec, v, concatenate{});
    REQUIRE(got.value == want.value);
    REQUIRE(got.power == want.power);
    text_like const init = {7, 10}, with_init = concatenate{}.combine(init, want);
    text_like const from_init = reduced(setup.exec, v, concatenate{}, init);
    REQUIRE(from_init.value == with_init.value);
    REQUIRE(from_init.power == with_init.power);
    if (n > 0) REQUIRE(from_init.value != concatenate{}.combine(want, init).value);  // the other side is another text
  }
}

TEMPLATE_LIST_TEST_CASE("AL-2: reduce of int32 into int64", "[algorithm]", test::tile_cases) {
  TestType setup;
  REQUIRE(reduced(setup.exec, std::vector<std::int32_t>{2147483647, 1}, plus<std::int64_t>{}) == 2147483648);
  std::vector<std::uint8_t> const ones(10000, 1);
  REQUIRE(reduced(setup.exec, ones, plus<std::int32_t>{}) == 10000);
  REQUIRE(reduced(setup.exec, std::vector<std::int32_t>{}, maximum<std::int32_t>{}) == -2147483647 - 1);
}

TEMPLATE_LIST_TEST_CASE("reduce of bf16 sums in float", "[algorithm]", test::tile_cases) {
  TestType setup;
  std::vector<bf16> v;
  std::vector<float> wide;
  for (float x : test::random_floats(5000, 8, 1)) v.push_back(bf16(x)), wide.push_back(float(v.back()));
  REQUIRE(reduced(setup.exec, v, plus<float>{}) == sum_of(wide));
}

TEMPLATE_LIST_TEST_CASE("a NaN result is the canonical one", "[algorithm]", test::tile_cases) {
  TestType setup;
  std::vector<float> v(1000, 1.0f);
  v[500] = bit_cast<float>(0xFFABCDEFu);
  REQUIRE(bit_cast<std::uint32_t>(reduced(setup.exec, v, plus<float>{})) == 0x7FC00000u);
  REQUIRE(bit_cast<std::uint32_t>(reduced(setup.exec, v, maximum<float>{})) == 0x7FC00000u);
}

TEMPLATE_LIST_TEST_CASE("transform_reduce: a dot product, and values of the user", "[algorithm]",
                        test::tile_cases) {
  TestType setup;
  std::vector<float> const a = test::random_floats(5001, 1, 1), b = test::random_floats(5001, 2, 1);
  std::vector<float> products;
  for (std::size_t i = 0; i < a.size(); ++i) products.push_back(mul(a[i], b[i]));
  float result = -1;
  transform_reduce(setup.exec, one(result), plus<float>{}, multiplies<>{}, input(a), input(b));
  int count = -1;
  transform_reduce(
      setup.exec, one(count), plus<int>{}, [](float x) { return x > 0 ? 1 : 0; }, input(a));
  setup.exec.synchronize();
  REQUIRE(result == sum_of(products));
  int want = 0;
  for (float x : a) want += x > 0;
  REQUIRE(count == want);
  REQUIRE_THROWS_AS(reduce(setup.exec, input(a), view<float, 1>(products.data(), dims<1>(2)), plus<float>{}),
                    contract_error);
}
