// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/algorithm/sparse.hpp>
#include <heddle/backend/cpu/sparse.hpp>

#include <support/catch.hpp>
#include <support/executors.hpp>
#include <support/numbers.hpp>
#include <support/random.hpp>

#include <cmath>
#include <limits>
#include <vector>

using namespace heddle;

namespace {

template <class T, class I>
struct csr {
  std::vector<I> offsets, columns;
  std::vector<T> values;
  index_t column_count;

  csr(std::vector<index_t> const& lengths, index_t n) : offsets{0}, columns(), values(), column_count(n) {
    for (index_t l : lengths) offsets.push_back(static_cast<I>(offsets.back() + l));
    for (index_t e = 0; e < static_cast<index_t>(offsets.back()); ++e) {
      columns.push_back(static_cast<I>(test::random_below(5, e, n)));
      values.push_back(static_cast<T>(test::random_value(6, e)));
    }
  }
  csr_view<T, I> view() const {
    return {heddle::view<I const, 1>(offsets.data(), dims<1>(size(offsets))),
            heddle::view<I const, 1>(columns.data(), dims<1>(size(columns))),
            heddle::view<T const, 1>(values.data(), dims<1>(size(values))), column_count};
  }
  template <class V>
  static index_t size(V const& v) {
    return static_cast<index_t>(v.size());
  }
};

template <class T>
view<T, 1> on(std::vector<T>& v) {
  return view<T, 1>(v.data(), dims<1>(static_cast<index_t>(v.size())));
}

std::vector<std::vector<index_t>> shapes() {
  std::vector<index_t> mixed;
  for (index_t i = 0; i < 200; ++i) mixed.push_back(i % 40 == 3 ? 300 : test::random_below(3, i, 20));
  return {{},
          {0},
          {1},
          {0, 0, 0},
          {7, 8, 9, 15, 16, 17},
          mixed,
          {4096, 4097, 1, 0, 8193},
          {3, 0, 20000, 0, 1, 4095, 12288}};
}

// The order of spmv, from its definition.
template <class T, class I>
T row_by_definition(csr<T, I> const& a, std::vector<T> const& x, std::size_t row) {
  std::vector<T> blocks;
  for (index_t first = a.offsets[row]; first < a.offsets[row + 1] || blocks.empty(); first += 4096) {
    index_t const end = std::min<index_t>(first + 4096, a.offsets[row + 1]);
    T lane[8] = {};
    for (index_t e = first; e < (end - first + 7) / 8 * 8 + first; ++e) {
      std::size_t const at = static_cast<std::size_t>(e);
      T const v = e < end ? a.values[at] : T(0), u = e < end ? x[static_cast<std::size_t>(a.columns[at])] : T(0);
      lane[(e - first) % 8] = std::fma(v, u, lane[(e - first) % 8]);
    }
    blocks.push_back(((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7])));
  }
  // T(n): as many pairs at the front as make the rest a power of two.
  std::size_t q = 1;
  while (2 * q <= blocks.size()) q *= 2;
  std::size_t const folded = blocks.size() - q;
  std::vector<T> level;
  for (std::size_t i = 0; i < blocks.size(); ++i)
    if (i < 2 * folded)
      level.push_back(blocks[i] + blocks[i + 1]), ++i;
    else
      level.push_back(blocks[i]);
  for (; level.size() > 1;) {
    std::vector<T> next;
    for (std::size_t i = 0; i < level.size(); i += 2) next.push_back(level[i] + level[i + 1]);
    level = next;
  }
  return level[0];
}

template <class T, class I, class E>
void expect_spmv(E& exec) {
  index_t const n = 97;
  std::vector<T> x(n);
  for (index_t i = 0; i < n; ++i) x[static_cast<std::size_t>(i)] = static_cast<T>(test::random_value(9, i));
  for (auto const& lengths : shapes()) {
    csr<T, I> const a(lengths, n);
    REQUIRE(check(a.view()));
    std::vector<T> y(lengths.size(), std::numeric_limits<T>::quiet_NaN()), want(lengths.size());
    spmv(exec, a.view(), on(x), on(y));
    exec.synchronize();
    for (std::size_t r = 0; r < want.size(); ++r) want[r] = row_by_definition(a, x, r);
    REQUIRE(test::same_bits(y, want));
  }
}

template <class T, class I, class E>
void expect_spmm(E& exec, index_t width, bool turned) {
  index_t const n = 37;
  for (auto const& lengths : shapes()) {
    csr<T, I> const a(lengths, n);
    index_t const rows = static_cast<index_t>(lengths.size());
    std::vector<T> b(static_cast<std::size_t>(n * width)), c(static_cast<std::size_t>(rows * width), T(NAN));
    view<T, 2> const B =
        turned ? view<T, 2>(b.data(), dims<2>(n, width), 1, n) : view<T, 2>(b.data(), dims<2>(n, width));
    test::fill_random(B, 4);
    view<T, 2> const C(c.data(), dims<2>(rows, width));
    spmm(exec, a.view(), B, C);
    exec.synchronize();
    int wrong = 0;
    for (index_t r = 0; r < rows; ++r)
      for (index_t j = 0; j < width; ++j)
        wrong += C(r, j) != detail::spmm_element(detail::spmm_work<T, I>{a.view(), canonical_input(B), C, 1}, r, j);
    REQUIRE(wrong == 0);
    // The definition itself against a sum in double, which has roundings of its own.
    for (index_t r = 0; r < rows && width > 0; ++r) {
      double sum = 0, size = 0;
      for (I e = a.offsets[static_cast<std::size_t>(r)]; e < a.offsets[static_cast<std::size_t>(r) + 1]; ++e) {
        std::size_t const at = static_cast<std::size_t>(e);
        double const p = static_cast<double>(a.values[at]) * static_cast<double>(B(a.columns[at], 0));
        sum += p, size += std::abs(p);
      }
      double const nu = static_cast<double>(lengths[static_cast<std::size_t>(r)] + 1) *
                        (unit_roundoff<T> + unit_roundoff<double>);
      REQUIRE(std::abs(static_cast<double>(C(r, 0)) - sum) <= nu / (1 - nu) * size);
    }
  }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("spmv adds in the order of its definition", "[algorithm]", test::tile_cases) {
  TestType setup;
  expect_spmv<float, std::int32_t>(setup.exec);
  expect_spmv<double, std::int64_t>(setup.exec);
}
TEST_CASE("spmv with other indices", "[algorithm]") {
  test::threads_case<2> setup;
  expect_spmv<float, std::int64_t>(setup.exec);
  expect_spmv<double, std::int32_t>(setup.exec);
}
TEST_CASE("spmv: the same bits for 7 workers", "[algorithm]") {
  test::threads_case<7> setup;
  expect_spmv<float, std::int32_t>(setup.exec);
}

TEMPLATE_LIST_TEST_CASE("spmm adds in the order of its definition", "[algorithm]", test::tile_cases) {
  TestType setup;
  expect_spmm<float, std::int32_t>(setup.exec, 3, false);
  expect_spmm<double, std::int64_t>(setup.exec, 5, true);
}
TEST_CASE("spmm of many widths", "[algorithm]") {
  test::threads_case<3> setup;
  for (index_t width : {0, 1, 16, 63, 64, 65, 131}) expect_spmm<float, std::int32_t>(setup.exec, width, false);
  expect_spmm<double, std::int32_t>(setup.exec, 70, false);
}

TEST_CASE("spmv of strided views, and NaN", "[algorithm]") {
  test::threads_case<2> setup;
  csr<float, std::int32_t> a({3, 9, 0}, 5);
  std::vector<float> x(5, 1.0f), y(3, 0), gaps(15, 2.0f), wide(9, 7.0f);
  for (std::size_t i = 0; i < 5; ++i) gaps[3 * i] = 1.0f;
  spmv(setup.exec, a.view(), on(x), on(y));
  spmv(setup.exec, a.view(), view<float const, 1>(gaps.data(), dims<1>(5), 3),
       view<float, 1>(wide.data(), dims<1>(3), 3));
  setup.exec.synchronize();
  for (std::size_t r = 0; r < 3; ++r) REQUIRE(wide[3 * r] == y[r]);
  REQUIRE(wide[1] == 7.0f);
  for (float& v : x) v = -std::numeric_limits<float>::quiet_NaN();
  spmv(setup.exec, a.view(), on(x), on(y));
  setup.exec.synchronize();
  REQUIRE(bit_cast<std::uint32_t>(y[0]) == 0x7FC00000u);
  REQUIRE(y[2] == 0);
}

TEMPLATE_LIST_TEST_CASE("sparse products refuse what doesn't fit", "[algorithm]", test::executor_cases) {
  TestType setup;
  auto& exec = setup.exec;
  csr<float, std::int32_t> a({2, 3}, 4);
  std::vector<float> x(4, 1), y(2, 1), z(3, 1);
  REQUIRE_THROWS_AS(spmv(exec, a.view(), on(y), on(y)), contract_error);
  REQUIRE_THROWS_AS(spmv(exec, a.view(), on(x), on(z)), contract_error);
  REQUIRE_THROWS_AS(
      spmm(exec, a.view(), view<float, 2>(x.data(), dims<2>(4, 1)), view<float, 2>(y.data(), dims<2>(1, 2))),
      contract_error);
  a.offsets[2] = 6;
  auto const submit = [&] {
    spmv(exec, a.view(), on(x), on(y));
    exec.synchronize();
  };
  REQUIRE_THROWS_AS(submit(), contract_error);
}

TEST_CASE("a matrix of three rows", "[algorithm]") {
  threads_executor exec(2);
  // begin spmv
  std::vector<std::int32_t> const offsets = {0, 2, 2, 3}, columns = {0, 3, 1};
  std::vector<float> const values = {2, 1, -1}, x = {1, 10, 100, 1000};
  std::vector<float> y(3);
  csr_view<float, std::int32_t> const a{view<std::int32_t const, 1>(offsets.data(), dims<1>(4)),
                                        view<std::int32_t const, 1>(columns.data(), dims<1>(3)),
                                        view<float const, 1>(values.data(), dims<1>(3)), 4};
  if (!check(a)) throw error(errc::format, check(a).summary());
  spmv(exec, a, view<float const, 1>(x.data(), dims<1>(4)), view<float, 1>(y.data(), dims<1>(3)));  // 1002, 0, -10
  // end spmv
  REQUIRE(y == std::vector<float>{1002, 0, -10});
}
