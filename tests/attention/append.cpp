// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/attention/append.hpp>

#include "paged.hpp"

using namespace heddle;
using namespace heddle::test;
namespace at = heddle::attention;

TEMPLATE_LIST_TEST_CASE("new rows go behind the used ones and nowhere else", "[attention]", executor_cases) {
  TestType setup;
  for (index_t page : {1, 3, 16}) {
    paged_rows_case c({7, 0, 20, 3}, page, 2, 3, 2);
    array<float> k(12, 2, 3), v(12, 2, 2);
    k.fill(1);
    v.fill(2);
    std::int32_t const cu[] = {0, 2, 2, 10, 11}, used[] = {7, 0, 20, 3};  // row 11 is slack
    at::append(setup.exec, k.rows(), v.rows(), c.cache(), view<std::int32_t const, 1>(cu, dims<1>(5)));
    setup.exec.synchronize();
    index_t written = 0;
    for (float x : c.k.data) written += !std::isnan(x);
    REQUIRE(written == 11 * 2 * 3);
    for (index_t s = 0; s < 4; ++s)
      for (index_t t = cu[s]; t < cu[s + 1]; ++t) {
        index_t const j = used[s] - cu[s + 1] + t;
        index_t const row = c.table[static_cast<std::size_t>(s * c.most + j / page)] * page + j % page;
        for (index_t h = 0; h < 2; ++h) {
          REQUIRE(c.k(row, h, 2) == k(t, h, 2));
          REQUIRE(c.v(row, h, 1) == v(t, h, 1));
        }
      }
  }
}

TEST_CASE("an append that doesn't fit is refused", "[attention]") {
  serial_executor exec;
  paged_rows_case c({4, 4}, 2, 1, 2, 2);
  array<float> k(4, 1, 2), v(4, 1, 2), other(4, 1, 3), ten(10, 1, 2);
  REQUIRE_NOTHROW(at::append(exec, k.rows(), v.rows(), c.cache()));
  REQUIRE_THROWS_AS(at::append(exec, other.rows(), v.rows(), c.cache()), contract_error);
  REQUIRE_THROWS_AS(at::append(exec, ten.rows(), ten.rows(), c.cache()), contract_error);
  std::int32_t const starts[] = {0};
  at::integer_list const none = view<std::int32_t const, 1>(starts, dims<1>(1));
  paged_rows_case no_sequences({}, 2, 1, 2, 2);
  REQUIRE_THROWS_AS(at::append(exec, k.rows(), v.rows(), no_sequences.cache()), contract_error);  // four tokens of none
  array<float> nothing(0, 1, 2);
  REQUIRE_NOTHROW(at::append(exec, nothing.rows(), nothing.rows(), no_sequences.cache()));
  REQUIRE_NOTHROW(at::append(exec, k.rows(), v.rows(), no_sequences.cache(), none));  // slack alone
  c.table[1] = 4;  // of four pages
  REQUIRE_THROWS_AS(at::append(exec, k.rows(), v.rows(), c.cache()), contract_error);
}
