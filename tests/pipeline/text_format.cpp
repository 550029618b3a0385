// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/pipeline/generate.hpp>
#include <heddle/pipeline/text_format.hpp>
#include <heddle/pipeline/verify.hpp>
#include <support/catch.hpp>

namespace pl = heddle::pipeline;

namespace {
char const* const small =
    "heddle-schedule version=1 P=2 S=2 M=1 placement=0,1 pass=training provenance=\"by hand\"\n"
    "0: F0.0 {>a0.0 <g1.0} BW0.0 O0\n"
    "1: <a0.0 F1.0 BW1.0 >g1.0 O1\n";

std::string replaced(std::string text, std::string const& from, std::string const& to) {
  std::size_t const at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

void refuses(std::string const& text, int line, int column, std::string const& token) {
  pl::parse_report const r = pl::parse(text);
  INFO(text << r.message());
  REQUIRE(r.faults.size() >= 1);
  CHECK(r.faults[0].line == line);
  CHECK(r.faults[0].column == column);
  CHECK(r.faults[0].token == token);
  CHECK(!r.faults[0].text.empty());
}
}  // namespace

TEST_CASE("a schedule is written and read back", "[pipeline]") {
  for (int p = 1; p <= 4; ++p)
    for (int m = 1; m <= 6; ++m)
      for (auto form : {pl::backward_form::fused, pl::backward_form::split, pl::backward_form::deferred})
        for (auto const& s : {pl::gpipe(p, m, form), pl::forward_only(pl::one_forward_one_backward(p, m, form))}) {
          pl::parse_report const r = pl::parse(pl::format(s));
          INFO(r.message());
          REQUIRE(r.ok());
          CHECK(r.value == s);
          CHECK(r.value.provenance == s.provenance);
        }
}

TEST_CASE("the text of a schedule is fixed to the byte", "[pipeline]") {
  CHECK(pl::format(pl::one_forward_one_backward(2, 2)) ==
        "heddle-schedule version=1 P=2 S=2 M=2 placement=0,1 pass=training provenance=\"1f1b(2,2,fused)\"\n"
        "0: F0.0 F0.1 BW0.0 BW0.1\n"
        "1: F1.0 BW1.0 F1.1 BW1.1\n");
}

TEST_CASE("messages, groups and the optimizer have tokens", "[pipeline]") {
  pl::parse_report const r = pl::parse(small);
  INFO(r.message());
  REQUIRE(r.ok());
  CHECK(pl::format(r.value) == small);
  auto const& list = r.value.on(0);
  REQUIRE(list.size() == 5);
  CHECK(list[1] == pl::operation{pl::op_kind::send_activation, 0, 0, 1});
  CHECK(list[2] == pl::operation{pl::op_kind::receive_gradient, 1, 0, 1});
  CHECK(list[4] == pl::operation{pl::op_kind::optimizer, 0, 0, 0});
  CHECK(pl::parse(replaced(small, "BW0.0 O0\n", "BW0.0 O0\r\n")).ok());
  CHECK(pl::parse(std::string(small).substr(0, std::string(small).size() - 1)).ok());
}

TEST_CASE("the parser names line, column and token of what it can't read", "[pipeline]") {
  refuses("", 1, 1, "");
  refuses("schedule version=1\n", 1, 1, "schedule");
  refuses(replaced(small, "version=1", "version=2"), 1, 17, "2");
  refuses(replaced(small, "S=2 ", ""), 1, 31, "M=1");
  refuses(replaced(small, "P=2", "P=0"), 1, 27, "0");
  refuses(replaced(small, "M=1", "M=2147483648"), 1, 35, "2147483648");
  refuses(replaced(small, "M=1", "M=-1"), 1, 35, "-1");
  refuses(replaced(small, "placement=0,1", "placement=0,"), 1, 39, "0,");
  refuses(replaced(small, "placement=0,1", "placement=0"), 1, 1, "");
  refuses(replaced(small, "training", "both"), 1, 53, "both");
  refuses(replaced(small, "\"by hand\"", "hand"), 1, 67, "hand");
  refuses(replaced(small, "\"by hand\"", "\"by hand\" x"), 1, 88, "x");
  refuses(replaced(small, "F0.0", "F0.0x"), 2, 4, "F0.0x");
  refuses(replaced(small, "F0.0", "F0"), 2, 4, "F0");
  refuses(replaced(small, "F0.0", "F00.0"), 2, 4, "F00.0");
  refuses(replaced(small, "F0.0", "X0.0"), 2, 4, "X0.0");
  refuses(replaced(small, "O0", "O0.0"), 2, 29, "O0.0");
  refuses(replaced(small, "1: ", "2: "), 3, 1, "2:");
  refuses(replaced(small, "<g1.0}", "<g1.0"), 2, 30, "");
  refuses(replaced(small, "<g1.0}", "{<g1.0}"), 2, 16, "{<g1.0}");
  refuses(replaced(small, "{>a0.0", ">a0.0"), 2, 15, "<g1.0}");
  refuses(std::string(small) + "2: F0.0\n", 5, 1, "");
  refuses(std::string(small) + "\n", 4, 1, "");
}

TEST_CASE("the parser goes on behind a fault, and stops at its limit", "[pipeline]") {
  pl::parse_report const two = pl::parse(replaced(replaced(small, "F0.0", "?"), ">g1.0", "!"));
  REQUIRE(two.faults.size() == 2);
  CHECK(two.faults[1].line == 3);
  std::string many = "heddle-schedule version=1 P=1 S=1 M=1 placement=0 pass=training provenance=\"\"\n0:";
  for (int i = 0; i < 5000; ++i) many += " ?";
  CHECK(pl::parse(many).faults.size() == pl::parse_report::most);
}

TEST_CASE("broken texts and schedules are reported, whatever they hold", "[pipeline]") {
  char const alphabet[] = "0123456789.,:=<>{}\" \nFBWOagPSM-\0\xff";
  unsigned state = 12345;
  auto random = [&state](std::size_t below) {
    state = state * 1664525U + 1013904223U;
    return static_cast<std::size_t>(state >> 8) % below;
  };
  int read = 0, right = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = small;
    for (std::size_t edits = 1 + random(4); edits > 0 && !text.empty(); --edits) {
      std::size_t const at = random(text.size());
      if (random(3) == 0)
        text.erase(at, 1 + random(8));
      else if (random(2) == 0)
        text.insert(at, 1, alphabet[random(sizeof alphabet - 1)]);
      else
        text[at] = alphabet[random(sizeof alphabet - 1)];
    }
    pl::parse_report const r = pl::parse(text);
    if (!r.ok()) {
      CHECK(!r.message().empty());
      continue;
    }
    ++read;
    CHECK(pl::parse(pl::format(r.value)).value == r.value);
    pl::transport const link{static_cast<pl::matching>(random(3)), static_cast<int>(random(4)) - 1};
    pl::verify_report const v = pl::verify(r.value, link);
    right += v.ok() ? 1 : 0;
    CHECK((v.message().substr(0, 4) == "note") == v.ok());
  }
  CHECK(read > 100);
  CHECK(right > 10);
}
