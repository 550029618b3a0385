// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/checkpoint/json.hpp>

#include <support/catch.hpp>

using namespace heddle;
using namespace heddle::checkpoint;

namespace {
json good(std::string const& text) {
  json out;
  report faults;
  bool const complete = parse_json(text, out, faults);
  INFO(text << " " << faults.summary());
  CHECK((complete && faults));
  return out;
}
// The position of the fault, or -1 where there is none.
index_t bad(std::string const& text, json_limits const& limits = {}) {
  json out;
  report faults;
  bool const complete = parse_json(text, out, faults, limits);
  INFO(text);
  CHECK_FALSE(complete);
  return faults.faults().empty() ? -1 : faults.faults()[0].position;
}
}  // namespace

TEST_CASE("values of every kind", "[checkpoint]") {
  json const v = good(R"( {"a":[1,-2.5e+3,true,false,null,{}],"b":"x","c":[]} )");
  REQUIRE(v.is(json_kind::object));
  json const* a = v.find("a");
  REQUIRE((a != nullptr && a->items.size() == 6));
  index_t n = -1;
  CHECK((a->items[0].as_index(n) && n == 1));
  CHECK_FALSE(a->items[1].as_index(n));
  CHECK(a->items[1].text == "-2.5e+3");
  CHECK((a->items[2].flag && !a->items[3].flag));
  CHECK((a->items[4].is(json_kind::null) && a->items[5].is(json_kind::object)));
  CHECK(v.find("b")->text == "x");
  CHECK(v.find("zz") == nullptr);
  CHECK(v.find("a")->position == 6);
}

TEST_CASE("whole numbers up to 2^63 - 1", "[checkpoint]") {
  index_t n = 0;
  CHECK((good("9223372036854775807").as_index(n) && n == 0x7fffffffffffffffLL));
  CHECK_FALSE(good("9223372036854775808").as_index(n));
  CHECK_FALSE(good("99999999999999999999").as_index(n));
  CHECK_FALSE(good("-1").as_index(n));
  CHECK_FALSE(good("1.0").as_index(n));
  CHECK_FALSE(good("1e3").as_index(n));
  CHECK((good("0").as_index(n) && n == 0));
}

TEST_CASE("escapes become UTF-8", "[checkpoint]") {
  CHECK(good(R"("\"\\\/\b\f\n\r\t")").text == "\"\\/\b\f\n\r\t");
  CHECK(good(R"("\u0041\u00e9\u20AC\ud83d\ude00")").text == "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
  CHECK(good(R"("\u0000")").text == std::string(1, '\0'));
  CHECK(good("\"\xc3\xa9\"").text == "\xc3\xa9");
  for (char const* text : {R"("\ud83d")", R"("\ude00")", R"("\ud83dx")", R"("\ud83d\u0041")", R"("\u12g4")", R"("\x")",
                           R"("\u12)", "\"\\", "\"a\nb\"", "\"abc"})
    CHECK(bad(text) >= 0);
}

TEST_CASE("bytes that are no UTF-8 are refused", "[checkpoint]") {
  for (char const* s : {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xe2\x82", "\xed\xa0\x80", "\xf0\x80\x80\x80",
                        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xc3("})
    CHECK(bad("\"" + std::string(s) + "\"") == 1);
  CHECK(checkpoint::detail::is_utf8("\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf", 10));
}

TEST_CASE("syntax faults have a position", "[checkpoint]") {
  CHECK(bad("") == 0);
  CHECK(bad("{") == 1);
  CHECK(bad("{\"a\"}") == 4);
  CHECK(bad("{\"a\":1,}") == 7);
  CHECK(bad("{a:1}") == 1);
  CHECK(bad("[1,]") == 3);
  CHECK(bad("[1 2]") == 3);
  CHECK(bad("01") >= 0);
  for (char const* text : {"+1", "1.", ".5", "1e", "-", "tru", "nul", "NaN", "Infinity", "'a'", "[1]x", "{} {}",
                           "\x01"})
    CHECK(bad(text) >= 0);
}

TEST_CASE("depth, length and number of values are bounded", "[checkpoint]") {
  CHECK(good(std::string(64, '[') + std::string(64, ']')).is(json_kind::array));
  CHECK(bad(std::string(65, '[') + std::string(65, ']')) == 64);
  CHECK(bad(std::string(1000000, '[')) == 64);
  CHECK(bad("[1,2,3]", {.values = 3}) >= 0);
  CHECK(bad("[1,2,3]", {.bytes = 6}) >= 0);
}

TEST_CASE("every duplicate member is reported by name", "[checkpoint]") {
  json out;
  report faults;
  CHECK(parse_json(R"({"a":1,"b":{"c":1,"c":2},"a":3,"\u0061":4})", out, faults));
  REQUIRE(faults.count() == 3);
  CHECK((faults.faults()[0].entry == "c" && faults.faults()[1].entry == "a" && faults.faults()[2].entry == "a"));
  CHECK(faults.faults()[1].position == 29);
  CHECK(faults.summary(1) == "\"c\" appears twice (byte 22); and 2 more");
}
