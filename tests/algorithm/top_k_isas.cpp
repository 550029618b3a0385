// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/algorithm/top_k.hpp>
#include <heddle/backend/cpu/top_k.hpp>
#include <heddle/exec/reference_executor.hpp>
#include <heddle/exec/serial_executor.hpp>

#include "orders.hpp"

#include <support/catch.hpp>

using namespace heddle;

TEST_CASE("top-k finds the same with every instruction set", "[algorithm]") {
  index_t const m = 33, n = 301;
  for (test::keys kind : test::all_keys)
    for (index_t k : {1, 7, 16}) {
      std::vector<float> const x = test::make_keys<float>(kind, m * n, 41);
      std::size_t const size = static_cast<std::size_t>(m * k);
      std::vector<float> values(size), want_values(size);
      std::vector<std::int32_t> indices(size), want(size);
      auto const best_of = [&](auto& exec, std::vector<float>& v, std::vector<std::int32_t>& at) {
        top_k(exec, view<float const, 2>(x.data(), dims<2>(m, n)), view<float, 2>(v.data(), dims<2>(m, k)),
              view<std::int32_t, 2>(at.data(), dims<2>(m, k)));
      };
      reference_executor reference;
      best_of(reference, want_values, want);
      test::for_each_isa([&](isa set) {
        INFO(name(set) << " " << static_cast<int>(kind) << " " << k);
        serial_executor exec;
        indices.assign(size, -1);
        best_of(exec, values, indices);
        REQUIRE(indices == want);
        REQUIRE(test::same_bits(values, want_values));
      });
    }
}
