// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "fuzz.hpp"

#include <heddle/checkpoint/json_writer.hpp>
#include <heddle/model/bpe.hpp>

#include <algorithm>
#include <memory>

using heddle::index_t;
using heddle::model::bpe;
using heddle::test::must;

namespace {
// The character that stands for a byte in the files, in UTF-8.
std::string character(int byte) {
  int point = byte;
  if (byte <= 32 || byte == 173 || (byte >= 127 && byte <= 160)) {
    point = 256;
    for (int b = 0; b < byte; ++b) point += b <= 32 || b == 173 || (b >= 127 && b <= 160);
  }
  if (point < 128) return std::string(1, static_cast<char>(point));
  return {static_cast<char>(0xc0 | point >> 6), static_cast<char>(0x80 | (point & 63))};
}
std::string word(std::string_view bytes) {
  std::string out;
  for (char c : bytes) out += character(static_cast<unsigned char>(c));
  return out;
}

// vocab.json of tokens given by their bytes.
template <class Bytes>
std::string vocabulary(index_t n, Bytes const& bytes) {
  heddle::checkpoint::json_writer w;
  w.begin('{');
  for (index_t t = 0; t < n; ++t) w.key(word(bytes(t))).number(t);
  return w.end('}').text();
}
std::vector<std::string> small_tokens() {
  std::vector<std::string> all;
  for (int b = 0; b < 256; ++b) all.emplace_back(1, static_cast<char>(b));
  for (char const* merged : {"th", "the", " the", "in", "er", " a", "\n\n", "  "}) all.emplace_back(merged);
  return all;
}
std::string small_vocabulary() {
  std::vector<std::string> const all = small_tokens();
  return vocabulary(static_cast<index_t>(all.size()), [&](index_t t) { return all[static_cast<std::size_t>(t)]; });
}

// Whether merges.txt, its comment aside, consists of the alphabet, spaces and ends of lines.
bool is_spelled(std::string_view merges) {
  static std::vector<std::string> const letters = [] {
    std::vector<std::string> all = {" ", "\n", "\r"};
    for (int b = 0; b < 256; ++b) all.push_back(character(b));
    return all;
  }();
  if (merges.substr(0, 8) == "#version") merges.remove_prefix(std::min(merges.find('\n'), merges.size()));
  while (!merges.empty()) {
    auto const letter = std::find_if(letters.begin(), letters.end(),
                                     [&](std::string const& l) { return merges.substr(0, l.size()) == l; });
    if (letter == letters.end()) return false;
    merges.remove_prefix(letter->size());
  }
  return true;
}

void check(bpe const& b, std::string_view merges, std::string_view sample) {
  must(is_spelled(merges), "merges are written in the alphabet");
  for (std::int32_t t = 0; t < b.size(); ++t)
    must(!b.bytes(t).empty() && b.find(b.bytes(t)) == t, "a token is found by its bytes");
  std::vector<std::int32_t> const tokens = b.encode(sample);
  must(b.decode(tokens) == sample, "what is encoded decodes to itself");
  must(tokens.size() <= sample.size(), "a token has a byte at least");
  bpe again;
  std::string const text = vocabulary(b.size(), [&](index_t t) { return b.bytes(static_cast<std::int32_t>(t)); });
  must(static_cast<bool>(read_bpe(text, merges, again)), "a vocabulary that is written can be read");
  must(again.encode(sample) == tokens, "and encodes alike");
}
}  // namespace

/// The text of merges.txt for a small vocabulary; or of vocab.json, the byte 0x1e, and merges.txt.
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static std::string const small = small_vocabulary();
  // A copy of the exact size, so that the sanitizer sees a read behind its end.
  std::unique_ptr<char[]> const copy(new char[size]);
  for (std::size_t i = 0; i < size; ++i) copy[i] = static_cast<char>(data[i]);
  std::string_view const text(copy.get(), size);
  std::size_t const cut = text.find('\x1e');
  bool const own = cut != std::string_view::npos;
  std::string_view const vocab = own ? text.substr(0, cut) : std::string_view(small);
  std::string_view const merges = own ? text.substr(cut + 1) : text;
  bpe b;
  heddle::checkpoint::report const r = read_bpe(vocab, merges, b);
  bool const accepted = static_cast<bool>(r);
  must(accepted == r.summary().empty(), "what is refused has a reason, and nothing else");
  must(accepted == (b.size() > 0), "what is refused leaves nothing behind");
  index_t const longest = static_cast<index_t>(vocab.size() > merges.size() ? vocab.size() : merges.size());
  for (heddle::checkpoint::fault const& f : r.faults())
    must(f.position >= -1 && f.position <= longest && !f.what.empty(), "a fault has a place and says what is wrong");
  if (accepted) check(b, merges, merges.substr(0, 300));
  return 0;
}

#if !defined(HEDDLE_LIBFUZZER)
int main() {
  std::string const merges = "#version: 0.2\nt h\nth e\n" + word(" ") + " the\ni n\r\ne r\n" +
                             word("\n\n").substr(0, 2) + " " + word("\n") + "\n";
  std::vector<std::string> const corpus = {merges,
                                           "",
                                           "t h",
                                           "i n\nthe quick er in the \xf0\x9f\x98\x80",
                                           small_vocabulary() + "\x1e" + merges,
                                           "{\"a\":0}\x1et h",
                                           "[]\x1e"};
  std::vector<std::string> const words = {
      " ",   "\n", "\r\n", "#version", word(" "), word("\n"), word("\xff"), "the",     "th",   "\"th\":256",
      "\"",  ":",  ",",    "{",        "}",       "264",      "-1",         "\\u0120", "\xc4", std::string(1, '\0'),
      "\x1e"};
  bpe b;
  for (std::size_t i = 0; i < 3; ++i)
    must(static_cast<bool>(read_bpe(small_vocabulary(), corpus[i], b)), "what is right is read");
  return heddle::test::replay(corpus, words);
}
#endif
