// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "fuzz.hpp"

#include <heddle/checkpoint/manifest.hpp>

using namespace heddle::checkpoint;
using heddle::index_t;
using heddle::test::must;

namespace {
bool same(manifest const& a, manifest const& b) {
  if (!(a.id == b.id) || a.meta != b.meta || a.files.size() != b.files.size()) return false;
  for (std::size_t i = 0; i < a.files.size(); ++i)
    if (a.files[i].rank != b.files[i].rank || a.files[i].bytes != b.files[i].bytes ||
        a.files[i].crc32c != b.files[i].crc32c)
      return false;
  return true;
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string text(reinterpret_cast<char const*>(data), size);
  manifest m;
  bool const guarded = text.size() >= detail::manifest_head.size() + 8 &&
                       text.compare(detail::manifest_head.size(), 8, detail::manifest_checksum(text)) == 0;
  must(guarded || !parse_manifest(text, m), "what does not match its checksum is refused");
  if (text.size() >= detail::manifest_head.size() + 8)  // the checksum is no secret, so it stops nobody
    text.replace(detail::manifest_head.size(), 8, detail::manifest_checksum(text));
  report const r = parse_manifest(text, m);
  must(static_cast<bool>(r) == r.summary().empty(), "what is refused has a reason, and nothing else");
  for (fault const& f : r.faults())
    must(f.position >= -1 && f.position <= static_cast<index_t>(size) && !f.what.empty(), "a fault has a place");
  if (!r) return 0;
  std::string const written = manifest_text(m);
  manifest again;
  must(static_cast<bool>(parse_manifest(written, again)), "what is written can be read");
  must(same(m, again) && manifest_text(again) == written, "and is the same manifest");
  for (auto const& pair : m.meta) must(*m.find_meta(pair.first) == pair.second, "a text is found by its key");
  return 0;
}

#if !defined(HEDDLE_LIBFUZZER)
int main() {
  manifest m;
  m.id = {20, 3};
  m.files = {{0, 100, 7}, {1, 200, 4294967295}};
  std::string const plain = manifest_text(m);
  m.meta = {{"seed", "1"}, {"flags", "--lr=0.1 \"\\\n\xe2\x82\xac"}, {"", ""}};
  std::vector<std::string> const corpus = {manifest_text(m), plain, manifest_text(manifest()), "",
                                           "{\"crc32c\":\"00000000\"}"};
  std::vector<std::string> const words = {"\"",
                                          "\\u0000",
                                          "\\",
                                          "{",
                                          "}",
                                          "[",
                                          "]",
                                          ":",
                                          ",",
                                          "-1",
                                          "1e3",
                                          "0",
                                          "null",
                                          "9223372036854775807",
                                          "9223372036854775808",
                                          "\"rank\":0",
                                          "\"step\":",
                                          "\"seed\":\"\"",
                                          "\"version\":1",
                                          "\xff",
                                          std::string(1, '\0')};
  for (std::size_t i = 0; i < 3; ++i) must(static_cast<bool>(parse_manifest(corpus[i], m)), "what is right is read");
  return heddle::test::replay(corpus, words);
}
#endif
