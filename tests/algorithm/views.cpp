// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/algorithm/compact.hpp>
#include <heddle/algorithm/copy.hpp>
#include <heddle/algorithm/reduce.hpp>
#include <heddle/algorithm/scan.hpp>
#include <heddle/algorithm/scatter.hpp>
#include <heddle/algorithm/views.hpp>

#include <support/catch.hpp>
#include <support/executors.hpp>
#include <support/numbers.hpp>

#include <limits>
#include <vector>

using namespace heddle;

namespace {

constexpr float poison = std::numeric_limits<float>::quiet_NaN();

template <class T>
view<T const, 1> input(std::vector<T> const& v) {
  return view<T const, 1>(v.data(), dims<1>(static_cast<index_t>(v.size())));
}
template <class T>
view<T, 1> output(std::vector<T>& v) {
  return view<T, 1>(v.data(), dims<1>(static_cast<index_t>(v.size())));
}

struct product_fn {
  HEDDLE_DEVICE_PASS_QUIET
  template <class V>
  HEDDLE_TILE V operator()(V const& a, V const& b) const {
    return mul(a, b);
  }
};

}  // namespace

TEST_CASE("lazy views are inputs, and know whether they can be read in vectors", "[algorithm]") {
  view<float const, 1> const f;
  view<double const, 1> const d;
  view<bf16 const, 1> const h;
  auto const products = views::map(product_fn{}, f, h);
  STATIC_REQUIRE(lazy_view<decltype(products)>);
  STATIC_REQUIRE((input_vector<decltype(products)> && !any_view<decltype(products)>));
  STATIC_REQUIRE(decltype(products)::in_lanes);
  STATIC_REQUIRE(decltype(views::map(product_fn{}, products, views::gather(f, views::iota(0))))::in_lanes);
  STATIC_REQUIRE_FALSE(decltype(views::map([](float x) { return x; }, f))::in_lanes);
  STATIC_REQUIRE_FALSE(decltype(views::map([](auto const& x) { return convert<float>(x); }, d))::in_lanes);
  STATIC_REQUIRE_FALSE(decltype(views::zip(f, d))::in_lanes);
  STATIC_REQUIRE_FALSE(writable_view<decltype(products)>);
  REQUIRE_THROWS_AS(views::iota(-1), contract_error);
  std::vector<float> const two(2), three(3);
  REQUIRE_THROWS_AS(views::map(product_fn{}, input(two), input(three)), contract_error);
  REQUIRE_THROWS_AS(views::zip(input(two), input(three)), contract_error);
}

TEMPLATE_LIST_TEST_CASE("lazy views give transform, copy, reduce and scan what memory would", "[algorithm]",
                        test::tile_cases) {
  TestType setup;
  for (index_t n : {0, 1, 17, 4097, 20001}) {
    std::vector<float> const a = test::random_floats(n, 1, 1), b = test::random_floats(n, 2, 1);
    std::vector<bf16> half;
    std::vector<int> turned;
    std::vector<float> products, gathered;
    for (index_t i = 0; i < n; ++i) half.push_back(bf16(b[i])), turned.push_back(static_cast<int>(n - 1 - i * 7 % n));
    for (index_t i = 0; i < n; ++i) products.push_back(mul(a[i], float(half[i])));
    for (index_t i = 0; i < n; ++i) gathered.push_back(products[turned[i]]);
    auto const lazy = views::gather(views::map(product_fn{}, input(a), input(half)), input(turned));
    std::vector<float> got(n, poison), sums(n, poison), want_sums(n, poison), pairs(n, poison), running(n, poison),
        want_running(n, poison);
    float total = poison, want_total = poison, dot = poison, want_dot = poison;
    auto const one = [](float& x) { return view<float, 1>(&x, dims<1>(1)); };
    copy(setup.exec, lazy, output(got));
    transform(setup.exec, output(sums), plus<>{}, lazy, input(b));
    transform(
        setup.exec, output(pairs), [](auto const& p) { return p.first - p.second; }, views::zip(input(b), lazy));
    reduce(setup.exec, lazy, one(total), plus<float>{});
    transform_reduce(setup.exec, one(dot), plus<float>{}, product_fn{}, lazy, input(b));
    inclusive_scan(setup.exec, lazy, output(running), plus<float>{});
    setup.exec.synchronize();
    reference_executor oracle;
    transform(oracle, output(want_sums), plus<>{}, input(gathered), input(b));
    reduce(oracle, input(gathered), one(want_total), plus<float>{});
    transform_reduce(oracle, one(want_dot), plus<float>{}, product_fn{}, input(gathered), input(b));
    inclusive_scan(oracle, input(gathered), output(want_running), plus<float>{});
    INFO(n);
    REQUIRE(test::same_bits(got, gathered));
    REQUIRE(test::same_bits(sums, want_sums));
    REQUIRE(test::same_bits(running, want_running));
    REQUIRE(total == want_total);
    REQUIRE(dot == want_dot);
    for (index_t i = 0; i < n; ++i) REQUIRE(pairs[i] == b[i] - gathered[i]);
  }
}

TEMPLATE_LIST_TEST_CASE("iota, lazy views of strided memory and of other sizes of numbers", "[algorithm]",
                        test::tile_cases) {
  TestType setup;
  std::vector<int> count(100, -1), odd(50, -1);
  std::vector<double> halves(100, -1);
  copy(setup.exec, views::iota(100, -3), output(count));
  copy(setup.exec, views::map(plus<>{}, view<int const, 1>(count.data() + 1, dims<1>(50), 2), views::iota(50, 0)),
       output(odd));
  copy(setup.exec, views::map([](int i) { return i / 2.0; }, input(count)), output(halves));
  std::int64_t sum = -1;
  reduce(setup.exec, views::iota(10001), view<std::int64_t, 1>(&sum, dims<1>(1)), plus<std::int64_t>{});
  setup.exec.synchronize();
  REQUIRE(sum == 50005000);
  for (int i = 0; i < 100; ++i) REQUIRE(count[i] == i - 3);
  for (int i = 0; i < 50; ++i) REQUIRE(odd[i] == 2 * i + 1 - 3 + i);
  for (int i = 0; i < 100; ++i) REQUIRE(halves[i] == (i - 3) / 2.0);
}

TEMPLATE_LIST_TEST_CASE("scatter puts elements where their indices say", "[algorithm]", test::tile_cases) {
  TestType setup;
  for (index_t n : {0, 1, 4097, 9001}) {
    std::vector<std::int32_t> indices, out(n + 2, -7), want(n + 2, -7);
    for (index_t i = 0; i < n; ++i) {
      indices.push_back(i % 5 == 3 ? -1 : static_cast<std::int32_t>((i * 2 + 1) % (n + 2)));
      if (n % 2 == 0) indices.back() = i % 5 == 3 ? -1 : static_cast<std::int32_t>(n - i);
      if (indices.back() >= 0) want[indices.back()] = static_cast<std::int32_t>(i);
    }
    scatter_elements(setup.exec, views::iota(n, 0), input(indices), output(out));
    setup.exec.synchronize();
    REQUIRE(out == want);
  }
}

TEMPLATE_LIST_TEST_CASE("scatter refuses indices outside when it runs", "[algorithm]", test::executor_cases) {
  for (int wrong : {-2, 8}) {
    TestType setup;
    std::vector<int> const indices = {0, 1, wrong};
    std::vector<int> out(8, 0);
    auto const run = [&] {
      scatter_elements(setup.exec, views::iota(3), input(indices), output(out));
      setup.exec.synchronize();
    };
    REQUIRE_THROWS_AS(run(), contract_error);
  }
}
