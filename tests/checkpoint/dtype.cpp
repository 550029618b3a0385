// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/checkpoint/dtype.hpp>

#include <support/catch.hpp>

using namespace heddle;
using namespace heddle::checkpoint;

TEST_CASE("every dtype is found by its own name and by no other", "[checkpoint]") {
  for (int i = 0; i <= static_cast<int>(dtype::c64); ++i) {
    dtype const t = static_cast<dtype>(i);
    dtype found = t == dtype::f32 ? dtype::u8 : dtype::f32;
    CHECK((find_dtype(name(t), found) && found == t));
  }
  dtype found = dtype::f32;
  for (char const* text : {"", "f32", "F3", "F321", "F99"}) CHECK_FALSE(find_dtype(text, found));
}

TEST_CASE("bits of an element, also below a byte", "[checkpoint]") {
  CHECK((bits(dtype::f64) == 64 && bits(dtype::bf16) == 16 && bits(dtype::boolean) == 8));
  CHECK((bits(dtype::f4) == 4 && bits(dtype::f6_e2m3) == 6 && bits(dtype::c64) == 64));
}

TEST_CASE("types of the library and what they are stored as", "[checkpoint]") {
  STATIC_REQUIRE(dtype_of<float>::value == dtype::f32);
  STATIC_REQUIRE(dtype_of<bf16>::value == dtype::bf16);
  STATIC_REQUIRE(dtype_of<fp8_e4m3>::value == dtype::f8_e4m3);
  STATIC_REQUIRE((storable<double> && storable<fp16> && storable<index_t> && storable<bool>));
  STATIC_REQUIRE_FALSE(storable<char>);
  STATIC_REQUIRE_FALSE(storable<void*>);
}
