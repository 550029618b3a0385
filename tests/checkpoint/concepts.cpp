// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/checkpoint/dtype.hpp>

#include <support/catch.hpp>

using namespace heddle;
using checkpoint::storable;

namespace {
struct pair {
  float a, b;
};
}  // namespace

TEST_CASE("a file holds numbers and nothing else", "[checkpoint]") {
  STATIC_REQUIRE((storable<float> && storable<double> && storable<bf16> && storable<fp16> && storable<std::int64_t>));
  STATIC_REQUIRE((storable<std::uint8_t> && !storable<float*> && !storable<pair> && !storable<long double>));
}
