// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <heddle/checkpoint/detail/utf8.hpp>
#include <heddle/checkpoint/json.hpp>
#include <heddle/checkpoint/json_writer.hpp>
#include <heddle/model/bpe.hpp>
#include <heddle/model/detail/gpt2_pieces.hpp>

#include <support/catch.hpp>
#include <support/random.hpp>

using namespace heddle;

namespace {

std::vector<std::string> pieces(std::string const& text) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size(); at += out.back().size())
    out.push_back(text.substr(at, model::detail::gpt2_piece(std::string_view(text).substr(at))));
  return out;
}

std::string spelled(std::string const& bytes) {
  model::detail::byte_alphabet const alphabet;
  std::string out;
  for (char const c : bytes) checkpoint::detail::append_utf8(out, alphabet.code[static_cast<unsigned char>(c)]);
  return out;
}

/// All bytes as tokens 0 to 255, then these.
std::string vocabulary(std::vector<std::string> const& more) {
  checkpoint::json_writer w;
  w.begin('{');
  for (int b = 0; b < 256; ++b) w.key(spelled(std::string(1, static_cast<char>(b)))).number(b);
  for (std::size_t i = 0; i < more.size(); ++i) w.key(spelled(more[i])).number(static_cast<index_t>(256 + i));
  w.end('}');
  return w.text();
}

std::vector<std::string> const words{"he", "ll", "hell", "hello", " w", "or", " wor", "ld", " world", "aa", "aaaa"};
char const* const merges =
    "#version: 0.2\nh e\nl l\nhe ll\nhell o\n\xC4\xA0 w\no r\n\xC4\xA0w or\nl d\n\xC4\xA0wor ld\na a\naa aa\n";

model::bpe made() {
  model::bpe b;
  checkpoint::report const r = model::read_bpe(vocabulary(words), merges, b);
  INFO(r.summary());
  REQUIRE(r);
  return b;
}
std::string faults(std::string const& vocab, std::string const& merge_text) {
  model::bpe b;
  checkpoint::report const r = model::read_bpe(vocab, merge_text, b);
  CHECK(b.size() == (r ? 256 + static_cast<index_t>(words.size()) : 0));
  return r.summary(100);
}
bool names(std::string const& all, char const* what) { return all.find(what) != std::string::npos; }

}  // namespace

TEST_CASE("text is cut as GPT-2 cuts it", "[model]") {
  using list = std::vector<std::string>;
  CHECK(pieces("Hello world's  test") == list{"Hello", " world", "'s", " ", " test"});
  CHECK(pieces("\n\n x 123abc!!'s") == list{"\n\n", " x", " 123", "abc", "!!'", "s"});
  CHECK(pieces("we'll we've I'm I'd you're can't 'S") ==
        list{"we", "'ll", " we", "'ve", " I", "'m", " I", "'d", " you", "'re", " can", "'t", " '", "S"});
  CHECK(pieces("a \t b   ") == list{"a", " \t", " b", "   "});
  CHECK(pieces("\nx") == list{"\n", "x"});
  CHECK(pieces(" ") == list{" "});
  CHECK(pieces(" +=1") == list{" +=", "1"});
  CHECK(pieces("na\xC3\xAFve caf\xC3\xA9") == list{"na\xC3\xAFve", " caf\xC3\xA9"});
  CHECK(pieces("").empty());
}

TEST_CASE("bytes have the stand-ins of GPT-2", "[model]") {
  CHECK(spelled(" ") == "\xC4\xA0");   // U+0120
  CHECK(spelled("\n") == "\xC4\x8A");  // U+010A
  CHECK(spelled("A~!") == "A~!");
  CHECK(spelled("\xAD") == "\xC5\x83");  // U+0143, the last one
  CHECK(spelled("\xFF") == "\xC3\xBF");
  CHECK(spelled(std::string(1, '\0')) == "\xC4\x80");
}

TEST_CASE("pairs are merged in the order in which they were learned", "[model]") {
  model::bpe const b = made();
  CHECK(b.size() == 267);
  CHECK(b.encode("hello world") == std::vector<std::int32_t>{259, 264});
  CHECK(b.encode("hell") == std::vector<std::int32_t>{258});
  CHECK(b.encode("helo") == std::vector<std::int32_t>{256, 'l', 'o'});
  CHECK(b.encode("aaaaaaa") == std::vector<std::int32_t>{266, 265, 'a'});
  CHECK(b.encode("").empty());
  CHECK(b.decode({259, 264}) == "hello world");
  CHECK(b.bytes(260) == " w");
  CHECK(b.find(" world") == 264);
  CHECK(b.find("none") == -1);
  CHECK_THROWS_AS(b.bytes(267), contract_error);
  CHECK_THROWS_AS(b.bytes(-1), contract_error);
  // Of two pairs that share a byte the one that was learned first wins, wherever it stands.
  model::bpe late, early;
  REQUIRE(model::read_bpe(vocabulary({"bc", "ab"}), "b c\na b\n", late));
  REQUIRE(model::read_bpe(vocabulary({"bc", "ab"}), "a b\nb c\n", early));
  CHECK(late.encode("abc") == std::vector<std::int32_t>{'a', 256});
  CHECK(early.encode("abc") == std::vector<std::int32_t>{257, 'c'});
  // Both occurrences are merged before a pair that one of them makes: (ab a) comes first in the list.
  model::bpe odd;
  REQUIRE(model::read_bpe(vocabulary({"ab", "aba"}), "ab a\na b\n", odd));
  CHECK(odd.encode("abab") == std::vector<std::int32_t>{256, 256});
}

TEST_CASE("any bytes come back", "[model]") {
  model::bpe const b = made();
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    std::string text;
    index_t const n = test::random_below(seed, 0, 300);
    for (index_t i = 1; i <= n; ++i) {
      bool const plain = seed % 2 == 0;
      text += plain ? "helo wrd'st \n\ta1"[test::random_below(seed, i, 16)]
                    : static_cast<char>(test::random_below(seed, i, 256));
    }
    CHECK(b.decode(b.encode(text)) == text);
    std::string joined;
    for (std::string const& p : pieces(text)) joined += p;
    CHECK(joined == text);
  }
}

TEST_CASE("a wrong vocabulary is reported", "[model]") {
  std::string const good = vocabulary(words);
  CHECK(faults(good, merges).empty());
  CHECK(faults(good, "").empty());
  CHECK(names(faults("[1]", merges), "must be one JSON object"));
  CHECK(names(faults("{", merges), "JSON"));
  CHECK(names(faults("{\"a\":0,\"a\":1}", merges), "appears twice"));
  CHECK(names(faults("{\"a\":0,\"b\":0}", merges), "has the number of another token, 0"));
  CHECK(names(faults("{\"a\":0,\"b\":2}", merges), "\"b\" must have a number from 0 to 1"));
  CHECK(names(faults("{\"a\":0,\"b\":-1}", merges), "must have a number"));
  CHECK(names(faults("{\"a b\":0}", merges), "a character that stands for no byte"));
  CHECK(names(faults("{\"\\u0144\":0}", merges), "a character that stands for no byte"));
  CHECK(names(faults("{\"\xE2\x82\xAC\":0}", merges), "a character that stands for no byte"));
  CHECK(names(faults("{\"\":0}", merges), "is empty"));
  CHECK(names(faults("{\"a\":0}", merges), "lacks the byte 98"));
  CHECK(names(faults("", merges), "JSON"));
}

TEST_CASE("wrong merges are reported", "[model]") {
  std::string const good = vocabulary(words);
  CHECK(names(faults(good, "h e\nh\n"), "\"h\" is no merge: two tokens with one space between them (byte 4)"));
  CHECK(names(faults(good, "h e l\n"), "is no merge"));
  CHECK(names(faults(good, "h  e\n"), "is no merge"));
  CHECK(names(faults(good, "q z\n"), "merges tokens that the vocabulary lacks"));
  CHECK(names(faults(good, " e\n"), "merges tokens that the vocabulary lacks"));
  CHECK(names(faults(good, "h e\nl l\nh e\n"), "is merged twice"));
  CHECK(names(faults(good, "h e\n#version: 0.2\n"), "merges tokens that the vocabulary lacks"));
  CHECK(faults(good, "#version: 0.2\r\nh e\r\nl l").empty());
}
