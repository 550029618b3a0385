// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/algorithm/copy.hpp>
#include <heddle/algorithm/for_each.hpp>
#include <heddle/algorithm/transform.hpp>

#include <support/catch.hpp>
#include <support/executors.hpp>
#include <support/numbers.hpp>

#include <cmath>
#include <limits>
#include <vector>

using namespace heddle;

namespace {
constexpr float poison = std::numeric_limits<float>::quiet_NaN();

view<float const, 1> input(std::vector<float> const& v) {
  return view<float const, 1>(v.data(), dims<1>(static_cast<index_t>(v.size())));
}
view<float, 1> output(std::vector<float>& v) {
  return view<float, 1>(v.data(), dims<1>(static_cast<index_t>(v.size())));
}
}  // namespace

TEMPLATE_LIST_TEST_CASE("transform of one and two vectors", "[algorithm]", test::tile_cases) {
  TestType setup;
  for (index_t n : {0, 1, 17, 4096, 16384, 16385, 20001}) {
    std::vector<float> const a = test::random_floats(n, 1, 1), b = test::random_floats(n, 2, 1);
    std::vector<float> sums(n, poison), halves(n, poison), in_place = a;
    transform(
        setup.exec, output(sums), [](auto const& x, auto const& y) HEDDLE_LAMBDA { return fma(x, y, x); }, input(a),
        input(b));
    transform(
        setup.exec, output(halves), [](float x) { return x < 0 ? 0.0f : x / 2; }, input(a));
    transform(
        setup.exec, output(in_place), [](auto const& x) HEDDLE_LAMBDA { return -x; }, input(in_place));
    setup.exec.synchronize();
    int wrong = 0;
    for (index_t i = 0; i < n; ++i)
      wrong += sums[i] != fma(a[i], b[i], a[i]) || halves[i] != (a[i] < 0 ? 0.0f : a[i] / 2) || in_place[i] != -a[i];
    REQUIRE(wrong == 0);
  }
}

TEMPLATE_LIST_TEST_CASE("copy: contiguous, with gaps, turned, converting", "[algorithm]", test::tile_cases) {
  TestType setup;
  index_t const rows = 9, columns = 70;
  std::vector<float> const x = test::random_floats(rows * columns, 5, 1);
  view<float const, 2> const in(x.data(), dims<2>(rows, columns));
  std::vector<float> same(rows * columns, poison), gaps(rows * 80, poison), turned(rows * columns, poison);
  std::vector<bf16> narrow(rows * columns);
  copy(setup.exec, in, view<float, 2>(same.data(), dims<2>(rows, columns)));
  copy(setup.exec, in, view<float, 2>(gaps.data(), dims<2>(rows, columns), 80, 1));
  copy(setup.exec, in, transpose(view<float, 2>(turned.data(), dims<2>(columns, rows))));
  copy(setup.exec, in, view<bf16, 2>(narrow.data(), dims<2>(rows, columns)));
  setup.exec.synchronize();
  REQUIRE(test::same_bits(same, x));
  for (index_t r = 0; r < rows; ++r) {
    for (index_t c = 0; c < columns; ++c) {
      REQUIRE(gaps[r * 80 + c] == x[r * columns + c]);
      REQUIRE(turned[c * rows + r] == x[r * columns + c]);
      REQUIRE(narrow[r * columns + c].bits == bf16(x[r * columns + c]).bits);
    }
    for (index_t c = columns; c < 80; ++c) REQUIRE(std::isnan(gaps[r * 80 + c]));
  }
  REQUIRE_THROWS_AS(copy(setup.exec, in, view<float, 2>(same.data(), dims<2>(columns, rows))), contract_error);
  REQUIRE_THROWS_AS(copy(setup.exec, in, view<float, 2>(same.data(), dims<2>(rows, columns), 0, 1)), contract_error);
}

TEMPLATE_LIST_TEST_CASE("for_each calls every index once", "[algorithm]", test::tile_cases) {
  TestType setup;
  for (index_t n : {0, 1, 4095, 4096, 10000}) {
    std::vector<int> calls(n, 0);
    for_each(setup.exec, n, [to = calls.data()](index_t i) { ++to[i]; });
    setup.exec.synchronize();
    REQUIRE(calls == std::vector<int>(n, 1));
  }
  for (index_t grain : {1, 7, 1000, 20000}) {
    std::vector<int> calls(1001, 0);
    for_each(setup.exec, 1001, [to = calls.data()](index_t i) { ++to[i]; }, grain);
    setup.exec.synchronize();
    REQUIRE(calls == std::vector<int>(1001, 1));
  }
  REQUIRE_THROWS_AS(for_each(setup.exec, -1, [](index_t) {}), contract_error);
  REQUIRE_THROWS_AS(for_each(setup.exec, 1, [](index_t) {}, 0), contract_error);
}

TEMPLATE_LIST_TEST_CASE("for_each of the elements of a view, and of a lazy one", "[algorithm]", test::executor_cases) {
  TestType setup;
  std::vector<int> v(100, 1), squares(100, -1);
  for_each(setup.exec, view<int, 1>(v.data(), dims<1>(50), 2), [](int& x) { x += 5; });
  for_each(setup.exec, views::iota(100, 0), [to = squares.data()](int i) { to[i] = i * i; });
  setup.exec.synchronize();
  for (int i = 0; i < 100; ++i) {
    REQUIRE(v[i] == (i % 2 == 0 ? 6 : 1));
    REQUIRE(squares[i] == i * i);
  }
}
