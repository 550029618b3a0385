// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "files.hpp"

#include <heddle/report/chrome_trace.hpp>
#include <heddle/report/json.hpp>
#include <heddle/report/json_lines.hpp>
#include <support/catch.hpp>

#include <cstdlib>
#include <cstring>
#include <limits>

namespace report = heddle::report;
using heddle::test::folder;
using report::json_object;

namespace {
std::string json(std::string_view text) {
  std::string t;
  report::append_json(t, text);
  return t;
}
template <class T>
  requires std::is_arithmetic_v<T> std::string json(T value) {
    std::string t;
    report::append_json(t, value);
    return t;
  }
}  // namespace

TEST_CASE("texts become valid JSON strings whatever they hold", "[report]") {
  CHECK(json("plain") == "\"plain\"");
  CHECK(json("a\"b\\c/") == R"("a\"b\\c/")");
  CHECK(json(std::string_view("\n\r\t\b\0\x1f\x7f", 7)) == R"("\n\r\t\u0008\u0000\u001f\u007f")");
  CHECK(json("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80") == "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"");
  std::string const bad = "\xef\xbf\xbd";
  CHECK(json("\xff") == "\"" + bad + "\"");
  CHECK(json("a\xc3") == "\"a" + bad + "\"");
  CHECK(json("\xc0\xaf") == "\"" + bad + bad + "\"");                      // overlong
  CHECK(json("\xe0\x80\x80") == "\"" + bad + bad + bad + "\"");            // overlong
  CHECK(json("\xed\xa0\x80") == "\"" + bad + bad + bad + "\"");            // surrogate
  CHECK(json("\xf4\x90\x80\x80") == "\"" + bad + bad + bad + bad + "\"");  // beyond U+10FFFF
  CHECK(json("\xe2\x82") == "\"" + bad + bad + "\"");
}

TEST_CASE("numbers read back to the same bits", "[report]") {
  unsigned state = 1;
  for (int i = 0; i < 20000; ++i) {
    state = state * 1664525U + 1013904223U;
    float f = 0;
    std::memcpy(&f, &state, 4);
    if (f - f != 0) continue;
    float const back = std::strtof(json(f).c_str(), nullptr);
    CHECK(std::memcmp(&f, &back, 4) == 0);
    std::uint64_t const wide = state * 0x9e3779b97f4a7c15ULL;
    double d = 0;
    std::memcpy(&d, &wide, 8);
    if (d - d != 0) continue;
    double const again = std::strtod(json(d).c_str(), nullptr);
    CHECK(std::memcmp(&d, &again, 8) == 0);
  }
  CHECK(json(0.1F) == "0.1");
  CHECK(json(0.1) == "0.1");
  CHECK(json(std::numeric_limits<double>::quiet_NaN()) == "null");
  CHECK(json(-std::numeric_limits<float>::infinity()) == "null");
  CHECK(json(std::numeric_limits<std::int64_t>::min()) == "-9223372036854775808");
  CHECK(json(std::numeric_limits<std::uint64_t>::max()) == "18446744073709551615");
}

TEST_CASE("an object keeps the order of its fields", "[report]") {
  CHECK(json_object().text() == "{}");
  json_object inner;
  inner.field("b", true);
  CHECK(json_object().field("step", 3).field("loss", 2.5F).field("na\"me", "x").field("in", inner).text() ==
        R"({"step":3,"loss":2.5,"na\"me":"x","in":{"b":true}})");
}

TEST_CASE("a log grows line by line, is replaced, or goes on", "[report]") {
  folder f;
  {
    report::json_lines log(f.at("log"));
    log.write(json_object().field("a", 1));
    CHECK(f.read("log") == "{\"a\":1}\n");
    log.write(json_object().field("a", 2));
    log.flush();
  }
  CHECK(f.read("log") == "{\"a\":1}\n{\"a\":2}\n");
  // A run that was killed in the middle of a line.
  report::write_file(f.at("log"), "{\"a\":1}\n{\"a\":");
  report::json_lines(f.at("log"), report::json_lines::mode::append).write(json_object().field("a", 3));
  CHECK(f.read("log") == "{\"a\":1}\n{\"a\":3}\n");
  report::write_file(f.at("log"), "torn");
  report::json_lines(f.at("log"), report::json_lines::mode::append).write(json_object().field("a", 4));
  CHECK(f.read("log") == "{\"a\":4}\n");
  report::json_lines(f.at("log")).flush();
  CHECK(f.read("log").empty());
  CHECK_THROWS_AS(report::json_lines(f.at("no/log")), heddle::error);
}

TEST_CASE("a trace holds spans and names, exact to the nanosecond", "[report]") {
  CHECK(report::chrome_trace().text() == "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n]}\n");
  report::chrome_trace t;
  t.name_rank(1, "rank 1");
  t.name_queue(1, 2, "compute");
  t.span("F0.1", "forward", 1, 2, 9007199254740993000, 1500, json_object().field("microbatch", 1));
  t.span("B", "x", 0, 0, 0, 1000007);
  CHECK(t.text() ==
        "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"
        "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,\"tid\":0,\"args\":{\"name\":\"rank 1\"}},\n"
        "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":2,\"args\":{\"name\":\"compute\"}},\n"
        "{\"name\":\"F0.1\",\"cat\":\"forward\",\"ph\":\"X\",\"ts\":9007199254740993,\"dur\":1.500,\"pid\":1,\"tid\":2,"
        "\"args\":{\"microbatch\":1}},\n"
        "{\"name\":\"B\",\"cat\":\"x\",\"ph\":\"X\",\"ts\":0,\"dur\":1000.007,\"pid\":0,\"tid\":0}\n]}\n");
  CHECK_THROWS_AS(t.span("a", "b", 0, 0, 0, -1), heddle::contract_error);
  folder f;
  t.write(f.at("trace.json"));
  CHECK(f.read("trace.json") == t.text());
}
