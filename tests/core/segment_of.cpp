// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/core/segment_of.hpp>

#include "support/catch.hpp"

using namespace heddle;

TEST_CASE("an item lies in the last segment that begins at or before it", "[core]") {
  index_t const offsets[] = {0, 0, 2, 2, 2, 7, 9, 9};  // seven segments, four of them empty
  auto const begin = [&](index_t s) { return offsets[s]; };
  index_t const right[] = {1, 1, 4, 4, 4, 4, 4, 5, 5, 6, 6};
  for (index_t item = 0; item < 11; ++item) CHECK(segment_of(7, item, begin) == right[item]);
  CHECK(segment_of(1, 5, begin) == 0);
}

TEST_CASE("finding a segment takes as many steps as its number has digits", "[core]") {
  index_t calls = 0;
  auto const begin = [&](index_t s) { return ++calls, 3 * s; };
  for (index_t item : {0, 1, 29999, 1500000, 3145727}) {
    calls = 0;
    CHECK(segment_of(index_t{1} << 20, item, begin) == item / 3);
    CHECK(calls == 20);
  }
}
