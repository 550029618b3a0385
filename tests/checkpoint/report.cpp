// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/checkpoint/report.hpp>

#include <support/catch.hpp>

using namespace heddle;
using namespace heddle::checkpoint;

TEST_CASE("a report keeps a hundred faults and counts all", "[checkpoint]") {
  report r;
  CHECK(r);
  for (int i = 0; i < 250; ++i) r.add("e", i, "is wrong");
  CHECK_FALSE(r);
  CHECK((r.count() == 250 && r.faults().size() == 100));
  report sum;
  sum.add(r);
  CHECK((sum.count() == 250 && sum.faults().size() == 100));
  CHECK_THROWS_AS(require(r, "file"), error);
  CHECK_NOTHROW(require(report(), "file"));
}

TEST_CASE("a summary names entries, positions and what is left out", "[checkpoint]") {
  report r;
  r.add("w", 12, "is wrong");
  r.add("", -1, "is cut off");
  CHECK(r.summary() == "\"w\" is wrong (byte 12); is cut off");
  CHECK(r.summary(1) == "\"w\" is wrong (byte 12); and 1 more");
  index_t const sizes[] = {2, 3};
  CHECK(shape_text(sizes, 2) == "[2, 3]");
  CHECK(shape_text(sizes, 0) == "[]");
  CHECK_THROWS_WITH(require(r, "out/f"), Catch::Contains("out/f: \"w\" is wrong"));
}
