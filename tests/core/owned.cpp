// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/core/owned.hpp>

#include <support/catch.hpp>

#include <type_traits>

using heddle::make_owned;
using heddle::owned;

namespace {
struct counted {
  int* live;
  int value;
  counted(int& l, int v) : live(&l), value(v) { ++*live; }
  counted(counted const&) = delete;
  ~counted() { --*live; }
};
}  // namespace

TEST_CASE("an owned object ends with its last owner", "[core]") {
  int live = 0;
  {
    owned<counted> a = make_owned<counted>(live, 3);
    CHECK((live == 1 && a->value == 3 && (*a).value == 3));
    owned<counted> b(std::move(a));
    CHECK((!a && b && live == 1));
    a = make_owned<counted>(live, 4);
    CHECK(live == 2);
    b = std::move(a);
    CHECK((live == 1 && b->value == 4 && a.get() == nullptr));
    owned<counted>& same = b;
    b = std::move(same);
    CHECK((live == 1 && b->value == 4));
    b.reset();
    CHECK((live == 0 && !b));
    b = make_owned<counted>(live, 5);
  }
  CHECK(live == 0);
  STATIC_REQUIRE(!std::is_copy_constructible_v<owned<counted>>);
}
