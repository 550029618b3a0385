// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "fuzz.hpp"

#include <heddle/checkpoint/json.hpp>
#include <heddle/checkpoint/json_writer.hpp>

#include <memory>

using namespace heddle::checkpoint;
using heddle::test::must;

namespace {
void write(json const& v, json_writer& w) {
  switch (v.kind) {
    case json_kind::string: w.string(v.text); return;
    case json_kind::array:
      w.begin('[');
      for (json const& item : v.items) write(item, w);
      w.end(']');
      return;
    case json_kind::object:
      w.begin('{');
      for (std::size_t i = 0; i < v.keys.size(); ++i) {
        w.key(v.keys[i]);
        write(v.items[i], w);
      }
      w.end('}');
      return;
    default: {
      heddle::index_t n = 0;
      w.number(v.as_index(n) ? n : 0);
    }
  }
}

void check(json const& v, heddle::index_t size, int depth) {
  must(v.position >= 0 && v.position < size, "a value lies inside the text");
  must(depth <= 64, "the depth is bounded");
  must(v.keys.empty() || v.keys.size() == v.items.size(), "every name has a value");
  for (json const& item : v.items) check(item, size, depth + 1);
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  // A copy of the exact size, so that the sanitizer sees a read behind its end.
  std::unique_ptr<char[]> const copy(new char[size]);
  for (std::size_t i = 0; i < size; ++i) copy[i] = static_cast<char>(data[i]);
  json value;
  report faults;
  bool const complete = parse_json({copy.get(), size}, value, faults);
  must(complete || !faults, "what is refused has a reason");
  for (fault const& f : faults.faults())
    must(f.position >= 0 && f.position <= static_cast<heddle::index_t>(size), "a fault lies inside the text");
  if (!complete) return 0;
  check(value, static_cast<heddle::index_t>(size), 1);
  json_writer first, second;
  write(value, first);
  json again;
  report none;
  must(parse_json(first.text(), again, none), "what is written can be read");
  write(again, second);
  must(first.text() == second.text(), "reading and writing come to rest");
  return 0;
}

#if !defined(HEDDLE_LIBFUZZER)
int main() {
  std::vector<std::string> const corpus = {
      "", "{}", "[]", "null", "[1,2.5,-3e+7,true,false,null,\"x\"]",
      R"({"a":{"b":[{"c":"\u00e9\ud83d\ude00"}]},"a":1})",
      R"({"__metadata__":{"format":"pt"},"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})",
      "  {\"k\" : [ 9223372036854775807 , 0 ] }\n", std::string(70, '['), "\"\xe2\x82\xac\xf0\x9f\x98\x80\""};
  std::vector<std::string> const words = {"\"", "\\u", "\\", "{", "}", "[", "]", ":", ",", "1e999", "-0", "\xff",
                                          "\xed\xa0\x80", "\\ud83d", "99999999999999999999", "[[[[[[[[[[[[[[[[",
                                          "\"a\":", std::string(1, '\0')};
  return heddle::test::replay(corpus, words);
}
#endif
