// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/algorithm/sort.hpp>

#include <support/catch.hpp>
#include <support/executors.hpp>
#include "orders.hpp"

using namespace heddle;
using test::input;
using test::output;

TEMPLATE_TEST_CASE("sorts of every type of keys", "[algorithm]", std::int8_t, std::uint16_t, std::int32_t, std::int64_t,
                   std::uint64_t, double, bf16, fp16, fp8_e4m3, fp8_e5m2) {
  threads_executor exec(3);
  test::watch_scratch(exec);
  for (index_t n : test::sampled({700, 40000, 150001}))
    for (test::keys kind : test::sampled(test::all_keys))
      for (sort_options const& options : test::sampled(test::all_orders)) {
        INFO(n << " " << static_cast<int>(kind));
        std::vector<TestType> const x = test::make_keys<TestType>(kind, n, 11);
        std::vector<std::int64_t> const want = test::stable_order(x, options);
        std::vector<std::int64_t> at(x.size());
        std::iota(at.begin(), at.end(), 0);
        std::vector<TestType> y(x.size()), z = x;
        heddle::sort(exec, input(x), output(y), options);
        sort_pairs(exec, output(z), output(z), output(at), output(at), options);
        REQUIRE(at == want);
        REQUIRE(test::same_bits(y, test::taken(x, want)));
        REQUIRE(test::same_bits(z, y));
      }
  test::check_scratch(exec);
}
