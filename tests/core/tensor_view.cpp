// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/core/tensor_view.hpp>

#include "support/catch.hpp"

#include <limits>
#include <numeric>
#include <vector>

using heddle::dims;
using heddle::dynamic;
using heddle::extents;
using heddle::index_t;
template <class T, std::size_t R>
using hview = heddle::view<T, R>;

namespace {
std::vector<int> numbers(std::size_t n) {
  std::vector<int> v(n);
  std::iota(v.begin(), v.end(), 0);
  return v;
}

// Elements in row-major order of the view.
template <class V>
std::vector<int> elements(V const& v) {
  std::vector<int> r;
  std::vector<index_t> at(V::rank() + 1, 0);
  for (index_t n = v.size(); n > 0; --n) {
    index_t offset = 0;
    for (std::size_t d = 0; d < V::rank(); ++d) offset += at[d] * v.stride(d);
    r.push_back(v.data()[offset]);
    for (std::size_t d = V::rank(); d-- > 0;) {
      if (++at[d] < v.extent(d)) break;
      at[d] = 0;
    }
  }
  return r;
}
}  // namespace

TEST_CASE("a view is row-major and shallow", "[core]") {
  auto data = numbers(24);
  hview<int, 3> const v(data.data(), dims<3>(2, 3, 4));
  REQUIRE(v.size() == 24);
  REQUIRE(v(1, 2, 3) == 23);
  REQUIRE(v(1, 0, 2) == 14);
  REQUIRE(v.stride(0) == 12);
  REQUIRE(v.is_contiguous());
  v(0, 0, 0) = 99;
  REQUIRE(data[0] == 99);
  hview<int const, 3> const input = v;
  REQUIRE(input(0, 0, 0) == 99);
  STATIC_REQUIRE(std::is_trivially_copyable_v<hview<int, 3>>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<hview<int, 3>, hview<int const, 3>>);
  STATIC_REQUIRE(heddle::matrix_view<hview<int, 2>>);
  STATIC_REQUIRE_FALSE(heddle::writable_view<hview<int const, 2>>);
}

TEST_CASE("static and dynamic extents", "[core]") {
  auto data = numbers(12);
  heddle::tensor_view<int, extents<3, dynamic>> const v(data.data(), extents<3, dynamic>(3, 4));
  STATIC_REQUIRE(extents<3, dynamic>::static_extent(0) == 3);
  hview<int const, 2> const forgot = heddle::canonical_input(v);
  REQUIRE(forgot(2, 3) == 11);
  REQUIRE_THROWS_AS((extents<3, dynamic>(4, 4)), heddle::contract_error);
  REQUIRE_THROWS_AS(dims<1>(-1), heddle::contract_error);
  REQUIRE(extents<3, 4>(3, 4) == dims<2>(3, 4));
  REQUIRE_FALSE(extents<3, 4>(3, 4) == dims<2>(4, 3));
  REQUIRE(dims<0>().size() == 1);
  REQUIRE(dims<2>(5, 0).size() == 0);
}

TEST_CASE("products and sums for estimates end at the largest number", "[core]") {
  using heddle::saturating_product;
  using heddle::saturating_sum;
  heddle::index_t const most = 0x7fffffffffffffff, big = heddle::index_t{1} << 42;
  CHECK(saturating_product(3, 5) == 15);
  CHECK(saturating_product(0, most) == 0);
  CHECK(saturating_product(big, big) == most);
  CHECK(saturating_product(most, 1) == most);
  CHECK(saturating_sum(3, 5) == 8);
  CHECK(saturating_sum(most - 1, 1) == most);
  CHECK(saturating_sum(most, most) == most);
}

TEST_CASE("slice, select and transpose", "[core]") {
  auto data = numbers(24);
  hview<int, 3> const v(data.data(), dims<3>(2, 3, 4));
  auto const s = heddle::slice(v, 1, 1, 3);
  REQUIRE(elements(s) == std::vector<int>{4, 5, 6, 7, 8, 9, 10, 11, 16, 17, 18, 19, 20, 21, 22, 23});
  REQUIRE(elements(heddle::select(v, 2, 1)) == std::vector<int>{1, 5, 9, 13, 17, 21});
  REQUIRE(elements(heddle::transpose(heddle::select(v, 0, 0))) ==
          std::vector<int>{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11});
  REQUIRE(heddle::slice(v, 0, 2, 2).empty());
  REQUIRE(heddle::slice(v, 0, 2, 2).data() == data.data());
  REQUIRE_THROWS_AS(heddle::slice(v, 1, 2, 4), heddle::contract_error);
  REQUIRE_THROWS_AS(heddle::slice(v, 3, 0, 1), heddle::contract_error);
  REQUIRE_THROWS_AS(heddle::select(v, 0, 2), heddle::contract_error);
}

TEST_CASE("a reversed view runs backwards along one dimension", "[core]") {
  auto data = numbers(6);
  hview<int, 2> const v(data.data(), dims<2>(2, 3));
  REQUIRE(elements(heddle::reverse(v)) == std::vector<int>{3, 4, 5, 0, 1, 2});
  REQUIRE(elements(heddle::reverse(v, 1)) == std::vector<int>{2, 1, 0, 5, 4, 3});
  REQUIRE(elements(heddle::reverse(heddle::reverse(v, 1), 1)) == data);
  auto const none = heddle::reverse(heddle::slice(v, 1, 1, 1), 1);
  REQUIRE(none.empty());
  REQUIRE(none.data() == data.data());
  REQUIRE_THROWS_AS(heddle::reverse(v, 2), heddle::contract_error);
}

TEST_CASE("reshape keeps the row-major order", "[core]") {
  auto data = numbers(24);
  hview<int, 3> const v(data.data(), dims<3>(2, 3, 4));
  REQUIRE(elements(heddle::reshape(v, dims<1>(24))) == data);
  REQUIRE(elements(heddle::reshape(v, dims<4>(4, 1, 3, 2))) == data);
  REQUIRE(elements(heddle::reshape(v, dims<5>(1, 2, 12, 1, 1))) == data);
  REQUIRE(elements(heddle::reshape(v, extents<6, 4>(6, 4))) == data);
  auto const rows = heddle::slice(v, 2, 0, 2);  // strides 12, 4, 1 over 2, 3, 2
  REQUIRE(elements(heddle::reshape(rows, dims<2>(6, 2))) == elements(rows));
  REQUIRE(elements(heddle::reshape(rows, dims<4>(2, 3, 1, 2))) == elements(rows));
  auto const report = heddle::can_reshape(rows, dims<2>(3, 4));
  REQUIRE_FALSE(report);
  REQUIRE(report.why == heddle::reshape_report::fault::strides);
  REQUIRE(report.dim == 1);
  REQUIRE(heddle::can_reshape(v, dims<1>(23)).why == heddle::reshape_report::fault::size);
  REQUIRE_THROWS_AS(heddle::reshape(v, dims<1>(23)), heddle::contract_error);
  REQUIRE_THROWS_AS(heddle::reshape(rows, dims<1>(12)), heddle::contract_error);
}

TEST_CASE("dimensions of size one carry no stride", "[core]") {
  auto data = numbers(12);
  // The strides of the ones are nonsense, and must not matter.
  hview<int, 4> const v(data.data(), dims<4>(3, 1, 4, 1), 4, 777, 1, -5);
  REQUIRE(v.is_contiguous());
  REQUIRE(elements(heddle::reshape(v, dims<1>(12))) == data);
  REQUIRE(elements(heddle::reshape(v, dims<3>(1, 2, 6))) == data);
  hview<int, 3> const column(data.data(), dims<3>(1, 4, 1), 100, 3, 9);
  REQUIRE(elements(heddle::reshape(column, dims<2>(2, 2))) == std::vector<int>{0, 3, 6, 9});
  hview<int, 2> const one(data.data() + 7, dims<2>(1, 1), 50, 60);
  REQUIRE(elements(heddle::reshape(one, dims<0>())) == std::vector<int>{7});
  REQUIRE(elements(heddle::reshape(heddle::reshape(one, dims<0>()), dims<3>(1, 1, 1))) == std::vector<int>{7});
}

TEST_CASE("reshape of transposed, broadcast, reversed and empty views", "[core]") {
  auto data = numbers(24);
  hview<int, 3> const v(data.data(), dims<3>(2, 3, 4));
  auto const t = heddle::transpose(v, 0, 2);  // 4, 3, 2 with strides 1, 4, 12: 3 and 2 do not merge, 4 and 3 neither
  REQUIRE_FALSE(heddle::can_reshape(t, dims<2>(12, 2)));
  REQUIRE_FALSE(heddle::can_reshape(t, dims<2>(4, 6)));
  REQUIRE(elements(heddle::reshape(t, dims<5>(2, 2, 3, 1, 2))) == elements(t));
  hview<int, 2> const broadcast(data.data() + 5, dims<2>(4, 6), 0, 0);
  REQUIRE(elements(heddle::reshape(broadcast, dims<3>(3, 4, 2))) == std::vector<int>(24, 5));
  hview<int, 2> const reversed(data.data() + 23, dims<2>(4, 6), -6, -1);
  REQUIRE(elements(heddle::reshape(reversed, dims<2>(8, 3))) == elements(reversed));
  hview<int, 2> const empty(data.data(), dims<2>(0, 5), 1, 1);
  REQUIRE(heddle::reshape(empty, dims<3>(2, 0, 7)).empty());
  REQUIRE_FALSE(heddle::can_reshape(empty, dims<1>(5)));
}

TEST_CASE("sizes whose product wraps are refused", "[core]") {
  using heddle::dims;
  using heddle::index_t;
  index_t const most = std::numeric_limits<index_t>::max(), third = 6148914691236517207;  // 3 third = 2^64 + 5
  CHECK_THROWS_AS(dims<2>(3, third), heddle::contract_error);
  CHECK_THROWS_AS(dims<2>(2, index_t{1} << 62), heddle::contract_error);
  CHECK_THROWS_AS(dims<3>(index_t{1} << 32, 0, index_t{1} << 32), heddle::contract_error);  // a stride would wrap
  CHECK_THROWS_AS((heddle::extents<3, heddle::dynamic>(3, third)), heddle::contract_error);
  CHECK(dims<3>(1, most, 1).size() == most);
  CHECK(dims<2>(0, most).size() == 0);
  CHECK(dims<2>(3037000499, 3037000499).size() == 9223372030926249001);
  CHECK_THROWS_AS(dims<2>(3037000500, 3037000500), heddle::contract_error);
  CHECK(heddle::checked_product(7, most / 7) == most / 7 * 7);
  CHECK_THROWS_AS(heddle::checked_product(8, most / 7), heddle::contract_error);
  CHECK_THROWS_AS(heddle::checked_product(-1, 2), heddle::contract_error);
  CHECK(heddle::product_fits(0, most, 0));
  CHECK(heddle::product_fits(most, 0, 0));
  CHECK(heddle::product_fits(2, 4, 8));
  CHECK_FALSE(heddle::product_fits(3, 4, 11));
  CHECK_FALSE(heddle::product_fits(index_t{1} << 62, 4, 8));
  // Nothing is reshaped to what can't exist.
  heddle::view<float, 2> const none(nullptr, dims<2>(0, 5));
  CHECK_THROWS_AS(heddle::reshape(none, dims<3>(index_t{1} << 40, 0, index_t{1} << 40)), heddle::contract_error);
  CHECK(heddle::reshape(none, dims<2>(most, 0)).empty());
}

TEST_CASE("views whose elements stand twice are told", "[core]") {
  float x[64] = {};
  auto const distinct = [&](heddle::index_t n, heddle::index_t m, heddle::index_t s, heddle::index_t t) {
    return heddle::view<float, 2>(x + 30, heddle::dims<2>(n, m), s, t).has_distinct_elements();
  };
  // Against all pairs of indices.
  for (int n = 0; n < 5; ++n)
    for (int m = 0; m < 5; ++m)
      for (int s = -4; s < 5; ++s)
        for (int t = -4; t < 5; ++t) {
          bool twice = false;
          for (int i = 0; i < n * m; ++i)
            for (int j = 0; j < i; ++j) twice = twice || i / m * s + i % m * t == j / m * s + j % m * t;
          INFO(n << ' ' << m << ' ' << s << ' ' << t);
          REQUIRE(distinct(n, m, s, t) == !twice);
        }
  CHECK_FALSE(heddle::view<float, 1>(x, heddle::dims<1>(3), 0).has_distinct_elements());
  CHECK(heddle::view<float, 1>(x, heddle::dims<1>(1), 0).has_distinct_elements());
  CHECK(heddle::view<float, 0>(x, heddle::dims<0>()).has_distinct_elements());
  CHECK_FALSE(heddle::view<float, 3>(x, heddle::dims<3>(2, 2, 2), 0, 2, 1).has_distinct_elements());
  CHECK(heddle::view<float, 3>(x, heddle::dims<3>(2, 1, 2), 2, 0, 1).has_distinct_elements());
}
