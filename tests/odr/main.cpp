// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "unit.hpp"

#include <cstdio>
#include <cstring>

namespace {

int failures = 0;

void check(bool ok, char const* what) {
  if (ok) return;
  ++failures;
  std::printf("FAILED: %s\n", what);
}
void step(char const* trouble, char const* where) {
  if (trouble == nullptr) return;
  ++failures;
  std::printf("FAILED in %s: %s\n", where, trouble);
}

void trade(odr::unit const& maker, odr::unit const& user) {
  odr::exchange x;
  step(maker.make(x), "make");
  step(user.use(x), "use");
  step(user.fail(x), "fail");
  bool caught = false;
  try {
    x.work->synchronize();
  } catch (heddle::contract_error const& e) {
    caught = std::strstr(e.what(), "made to fail") != nullptr;
  }
  check(caught, "an exception of one unit is caught by type in another");
  step(maker.use(x), "use after a failure");
  step(user.free(x), "free");
}

}  // namespace

int main() {
  odr::unit const& a = *odr_first();
  odr::unit const& b = *odr_second();
  std::printf("first  %-10s code %p\nsecond %-10s code %p\n", a.tag, a.code, b.tag, b.code);
  check(std::strcmp(a.tag, b.tag) != 0, "the two files are compiled with different tags");
  check(a.code != b.code, "each file has functions of its own");
  check(a.state == b.state, "process state exists once");
  for (odr::unit const* u : {&a, &b})
    check(u->checks_indices() == (u->contracts >= 2), "a file runs its own contract level");
  trade(a, b);
  trade(b, a);
  check(*static_cast<int const*>(a.state) == 1, "all threads are gone");
  std::printf("%s\n", failures == 0 ? "passed" : "failed");
  return failures != 0;
}
