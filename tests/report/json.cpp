// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "files.hpp"

#include <heddle/report/chrome_trace.hpp>
#include <heddle/report/json.hpp>
#include <heddle/report/json_lines.hpp>
#include <support/catch.hpp>

namespace checkpoint = heddle::checkpoint;
namespace report = heddle::report;
using heddle::test::folder;
using report::json_object;

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
  checkpoint::write_file(f.at("log"), "{\"a\":1}\n{\"a\":");
  report::json_lines(f.at("log"), report::json_lines::mode::append).write(json_object().field("a", 3));
  CHECK(f.read("log") == "{\"a\":1}\n{\"a\":3}\n");
  checkpoint::write_file(f.at("log"), "torn");
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
