// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/core/contracts.hpp>
#include <heddle/core/error.hpp>

#include "support/catch.hpp"

#include <cstring>
#include <limits>
#include <string>

namespace {
int calls = 0;
void counting(heddle::text const&) { ++calls; }
}  // namespace

TEST_CASE("a broken precondition names expression, values and place", "[core]") {
  int const wanted = 3, got = 5;
  std::string message;
  try {
    HEDDLE_EXPECTS(wanted == got, "sizes must agree", wanted, got);
  } catch (heddle::contract_error const& e) {
    message = e.what();
  }
  REQUIRE(message.find("contracts.cpp:") != std::string::npos);
  REQUIRE(message.find("sizes must agree (wanted == got) with values 3 5") != std::string::npos);
  REQUIRE_NOTHROW([&] { HEDDLE_EXPECTS(wanted == 3, "fine"); }());
}

TEST_CASE("the handler is called before the throw", "[core]") {
  auto const before = heddle::set_contract_handler(counting);
  calls = 0;
  REQUIRE_THROWS_AS([] { HEDDLE_EXPECTS(1 > 2, "never"); }(), heddle::contract_error);
  REQUIRE(calls == 1);
  REQUIRE(heddle::set_contract_handler(before) == counting);
}

TEST_CASE("an error carries its code, rank and text", "[core]") {
  heddle::error const e(heddle::errc::file, "no such file", 3);
  REQUIRE(e.code() == heddle::errc::file);
  REQUIRE(e.rank() == 3);
  REQUIRE(std::strcmp(e.what(), "file: no such file") == 0);
  heddle::error copy(heddle::errc::timeout, "late");
  REQUIRE(copy.rank() == -1);
  copy = e;
  REQUIRE(std::strcmp(copy.what(), e.what()) == 0);
  REQUIRE(std::strcmp(heddle::name(heddle::errc::backend), "backend") == 0);
  REQUIRE(std::strcmp(heddle::name(static_cast<heddle::errc>(99)), "unknown") == 0);
}

TEST_CASE("text is bounded and says when it is cut", "[core]") {
  heddle::text t = heddle::make_text("n=", -7, ' ', true, ' ', 0.5, ' ', std::numeric_limits<long>::min());
  REQUIRE(std::strcmp(t.c_str(), "n=-7 true 0.5 -9223372036854775808") == 0);
  heddle::text full;
  for (int i = 0; i < 1000; ++i) full.append('x');
  REQUIRE(full.size() == heddle::text::capacity);
  REQUIRE(std::strcmp(full.c_str() + heddle::text::capacity - 4, "x...") == 0);
  REQUIRE(heddle::text(nullptr).size() == 0);
}
