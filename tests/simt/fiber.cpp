// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/simt/fiber.hpp>

#include <support/catch.hpp>

#include <memory>
#include <stdexcept>
#include <vector>

using namespace heddle;

namespace {

struct counting {
  simt::fiber run;
  int steps = 0;
  double sum = 0;
  bool ended = false;
  static void body(void* argument) {
    counting& self = *static_cast<counting*>(argument);
    for (int i = 0; i < 3; ++i) {
      self.sum += 0.5 * i;
      ++self.steps;
      self.run.suspend();
    }
    self.ended = true;
  }
};

struct throwing {
  simt::fiber run;
  int number = 0, caught = -1;
  bool ended = false;
  static void body(void* argument) {
    throwing& self = *static_cast<throwing*>(argument);
    try {
      throw self.number;
    } catch (int first) {
      // Another fiber throws and catches while this one stands inside its handler.
      self.run.suspend();
      try {
        throw;
      } catch (int again) {
        self.caught = first == again ? again : -2;
      }
    }
    self.ended = true;
  }
};

}  // namespace

TEST_CASE("fibers stop and go on", "[simt]") {
  counting a, b;
  for (int round = 0; round < 2; ++round) {
    a.run.start(&counting::body, &a);
    b.run.start(&counting::body, &b);
    a.steps = b.steps = 0;
    a.sum = b.sum = 0;
    a.ended = b.ended = false;
    for (int i = 0; i < 3; ++i) {
      a.run.resume();
      REQUIRE(a.steps == i + 1);
      REQUIRE(b.steps == i);
      b.run.resume();
      REQUIRE(b.steps == i + 1);
    }
    a.run.resume();
    b.run.resume();
    REQUIRE((a.ended && b.ended));
    REQUIRE(a.sum == 1.5);
  }
}

TEST_CASE("every fiber has its own exceptions in flight", "[simt]") {
  std::vector<std::unique_ptr<throwing>> all;
  for (int i = 0; i < 8; ++i) {
    all.push_back(std::make_unique<throwing>());
    all.back()->number = i;
    all.back()->run.start(&throwing::body, all.back().get());
  }
  for (auto& t : all) t->run.resume();
  for (auto& t : all) t->run.resume();
  for (int i = 0; i < 8; ++i) {
    REQUIRE(all[i]->ended);
    REQUIRE(all[i]->caught == i);
  }
  REQUIRE(std::current_exception() == nullptr);
}
