// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/checkpoint/json.hpp>
#include <heddle/checkpoint/json_writer.hpp>

#include <support/catch.hpp>

#include <cstdlib>
#include <cstring>
#include <limits>

using namespace heddle;
using namespace heddle::checkpoint;

namespace {
std::string text_of(std::string_view text) {
  std::string t;
  append_json(t, text);
  return t;
}
template <class T>
  requires(std::is_arithmetic_v<T>)
std::string text_of(T value) {
  std::string t;
  append_json(t, value);
  return t;
}
}  // namespace

TEST_CASE("texts become valid JSON strings whatever they hold", "[checkpoint]") {
  CHECK(text_of("plain") == "\"plain\"");
  CHECK(text_of("a\"b\\c/") == R"("a\"b\\c/")");
  CHECK(text_of(std::string_view("\n\r\t\b\0\x1f\x7f", 7)) == R"("\n\r\t\u0008\u0000\u001f\u007f")");
  CHECK(text_of("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80") == "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"");
  std::string const bad = "\xef\xbf\xbd";
  CHECK(text_of("\xff") == "\"" + bad + "\"");
  CHECK(text_of("a\xc3") == "\"a" + bad + "\"");
  CHECK(text_of("\xc0\xaf") == "\"" + bad + bad + "\"");                      // overlong
  CHECK(text_of("\xe0\x80\x80") == "\"" + bad + bad + bad + "\"");            // overlong
  CHECK(text_of("\xed\xa0\x80") == "\"" + bad + bad + bad + "\"");            // surrogate
  CHECK(text_of("\xf4\x90\x80\x80") == "\"" + bad + bad + bad + bad + "\"");  // beyond U+10FFFF
  CHECK(text_of("\xe2\x82") == "\"" + bad + bad + "\"");
}

TEST_CASE("numbers read back to the same bits", "[checkpoint]") {
  unsigned state = 1;
  for (int i = 0; i < 20000; ++i) {
    state = state * 1664525U + 1013904223U;
    float f = 0;
    std::memcpy(&f, &state, 4);
    if (f - f != 0) continue;
    float const back = std::strtof(text_of(f).c_str(), nullptr);
    CHECK(std::memcmp(&f, &back, 4) == 0);
    std::uint64_t const wide = state * 0x9e3779b97f4a7c15ULL;
    double d = 0;
    std::memcpy(&d, &wide, 8);
    if (d - d != 0) continue;
    double const again = std::strtod(text_of(d).c_str(), nullptr);
    CHECK(std::memcmp(&d, &again, 8) == 0);
  }
  CHECK(text_of(0.1F) == "0.1");
  CHECK(text_of(0.1) == "0.1");
  CHECK(text_of(std::numeric_limits<double>::quiet_NaN()) == "null");
  CHECK(text_of(-std::numeric_limits<float>::infinity()) == "null");
  CHECK(text_of(std::numeric_limits<std::int64_t>::min()) == "-9223372036854775808");
  CHECK(text_of(std::numeric_limits<std::uint64_t>::max()) == "18446744073709551615");
}

TEST_CASE("what the writer writes is read back", "[checkpoint]") {
  json_writer w;
  index_t const sizes[] = {2, 0};
  std::string const odd = "\"\\\n\x01 \xe2\x82\xac";
  w.begin('{').key(odd).string(odd).key("n").numbers(sizes, 2).key("e").begin('[').end(']').end('}');
  std::string const quoted = "\"\\\"\\\\\\n\\u0001 \xe2\x82\xac\"";
  CHECK(w.text() == "{" + quoted + ":" + quoted + ",\"n\":[2,0],\"e\":[]}");
  json v;
  checkpoint::report faults;
  REQUIRE((parse_json(w.text(), v, faults) && faults));
  CHECK((v.keys[0] == odd && v.items[0].text == odd));
  CHECK(v.find("n")->items.size() == 2);
  CHECK_THROWS_AS(w.string("\xff"), contract_error);
}
